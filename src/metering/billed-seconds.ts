const NS_PER_SECOND = 1_000_000_000n;

/**
 * The seconds a run of `wallNs` nanoseconds is charged: rounded up, at least 1. Integer arithmetic, because a
 * sum of doubles would charge 1.000000 s as 2 now and then.
 */
export function billedSeconds(wallNs: bigint): number {
  const seconds = (wallNs + NS_PER_SECOND - 1n) / NS_PER_SECOND;
  return seconds < 1n ? 1 : Number(seconds);
}
