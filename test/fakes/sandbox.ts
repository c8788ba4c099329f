import type { AdmittedFunction } from '../../src/admission/admit.ts';
import type { CheckState } from '../../src/contract/readiness.ts';
import type { Permit } from '../../src/metering/permit.ts';
import type { SandboxData } from '../../src/sandbox/data.ts';
import type { RunLimits, RunReport, RunUsage, Sandbox } from '../../src/sandbox/port.ts';

/** One run as the fake sandbox was asked for it. */
export interface FakeRun {
  readonly text: string;
  readonly data: string;
  readonly limits: RunLimits;
}

export interface FakeSandbox extends Sandbox {
  readonly runs: readonly FakeRun[];
  /** What the next runs report; the default returns 42. */
  answer: (run: FakeRun, signal: AbortSignal) => RunReport | Promise<RunReport>;
  ready: readonly CheckState[];
}

export const FAKE_USAGE: RunUsage = {
  wallNs: 12_000_000n,
  cpuSeconds: 0.01,
  peakMemoryBytes: 11_534_336,
  peakMemorySource: 'self',
  exitCode: 0,
  outputBytes: 2,
  image: 'sha256:fake',
};

/** A report of a function that returned this JSON text. */
export function returned(text: string, printed: string | null = null): RunReport {
  return { kind: 'returned', result: Buffer.from(text), printed, usage: FAKE_USAGE };
}

/**
 * A sandbox without containers, for what an engine does not do on demand. It keeps the order of the real one:
 * a container is taken, *started* is written, then the function runs.
 */
export function fakeSandbox(): FakeSandbox {
  const runs: FakeRun[] = [];
  const fake: FakeSandbox = {
    runs,
    answer: () => returned('42'),
    ready: (['engine', 'image', 'self_test'] as const).map((check) => ({ check, ok: true, detail: 'fake' })),
    readiness: async () => fake.ready,
    close: async () => {},
    run: async (
      fn: AdmittedFunction,
      data: SandboxData,
      permit: Permit,
      limits: RunLimits,
      signal: AbortSignal,
      events,
    ) => {
      const run = { text: fn.text, data: Buffer.concat(data.chunks).toString(), limits };
      events?.taken?.();
      const planned = fake.answer(run, signal);
      const early = planned instanceof Promise ? null : planned;
      if (early?.kind === 'notStarted') {
        return early;
      }
      if (!(await permit.started(fn.sha256))) {
        return { kind: 'notStarted', reason: 'ledger_unavailable', detail: 'fake' };
      }
      runs.push(run);
      return planned;
    },
  };
  return fake;
}
