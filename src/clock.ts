/**
 * Time as a port: `now` is wall time (for months and timestamps, may be set back), `monotonicNs` is for
 * durations (integer nanoseconds, never goes back). Nothing else in the service reads a clock.
 */
export interface Clock {
  now(): Date;
  monotonicNs(): bigint;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicNs: () => process.hrtime.bigint(),
};

/** Milliseconds, with fractions, since `startNs` of the same clock. */
export function elapsedMs(clock: Clock, startNs: bigint): number {
  return Number(clock.monotonicNs() - startNs) / 1e6;
}
