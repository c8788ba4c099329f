/** The closed set of things that must be fine before a step is taken; also the label of the `ready` gauge. */
export const READINESS_CHECKS = ['engine', 'image', 'self_test', 'pack', 'ledger'] as const;
export type ReadinessCheck = (typeof READINESS_CHECKS)[number];

/** One check's state. `detail` is for logs and `doctor`; `/readyz` shows the name only. */
export interface CheckState {
  readonly check: ReadinessCheck;
  readonly ok: boolean;
  readonly detail: string;
}
