/** `00-<trace id>-<parent id>-<flags>`; an id of zeros alone is none (W3C Trace Context, section 3.2.2). */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The parts of a `traceparent`. */
export interface TraceContext {
  readonly traceId: string;
  readonly parentId: string;
  readonly flags: number;
}

/** A header's value if it is a valid `traceparent` of version 00, else null: nothing else of it is passed on. */
export function validTraceparent(value: unknown): string | null {
  return typeof value === 'string' && TRACEPARENT.test(value) ? value : null;
}

/** The parts of a `traceparent`; null where it is not valid. */
export function traceContext(traceparent: string | null): TraceContext | null {
  const [, traceId, parentId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  return traceId === undefined || parentId === undefined || flags === undefined
    ? null
    : { traceId, parentId, flags: Number.parseInt(flags, 16) };
}
