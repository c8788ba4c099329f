import { CONTAINER_PHASES, START_OUTCOMES } from './observer.ts';
import type { PoolCounts } from './pool-counts.ts';
import { isObject, jsonObject, PROTOCOL, wholeNumber } from './wire.ts';

/** Largest payload of a COUNTS frame: fifteen numbers and an id, the rest is room for fields of later versions. */
export const COUNTS_MAX_BYTES = 4 * 1024;

const INSTANCE = /^[0-9A-Za-z-]{1,64}$/;
/** Far above what a daemon comes to, and sums of many of them are still exact. */
const SUM_MAX = 2 ** 40;
const LEVEL_MAX = 1_000_000;

/** Payload of a COUNTS frame. */
export function encodeCounts(counts: PoolCounts): Buffer {
  const { instance, containers, queueDepth, running, starts, removalFailures } = counts;
  return Buffer.from(
    JSON.stringify({
      protocol: PROTOCOL,
      instance,
      containers,
      queue_depth: queueDepth,
      running,
      starts,
      removal_failures: removalFailures,
    }),
  );
}

/** Reads a COUNTS payload: every field by its name and range; others are dropped. Null if one is missing or wrong. */
export function decodeCounts(payload: Buffer): PoolCounts | null {
  const counts = jsonObject(payload);
  if (counts === null || counts.protocol !== PROTOCOL) {
    return null;
  }
  const { instance } = counts;
  const containers = numbers(counts.containers, CONTAINER_PHASES, LEVEL_MAX);
  const queueDepth = wholeNumber(counts.queue_depth, 0, LEVEL_MAX);
  const running = wholeNumber(counts.running, 0, LEVEL_MAX);
  const starts = numbers(counts.starts, START_OUTCOMES, SUM_MAX);
  const removalFailures = wholeNumber(counts.removal_failures, 0, SUM_MAX);
  return typeof instance !== 'string' ||
    !INSTANCE.test(instance) ||
    containers === null ||
    queueDepth === null ||
    running === null ||
    starts === null ||
    removalFailures === null
    ? null
    : { instance, containers, queueDepth, running, starts, removalFailures };
}

/** One whole number up to `max` a name, or null. */
function numbers<Name extends string>(
  value: unknown,
  names: readonly Name[],
  max: number,
): Readonly<Record<Name, number>> | null {
  if (!isObject(value)) {
    return null;
  }
  const read: Partial<Record<Name, number>> = {};
  for (const name of names) {
    const number = wholeNumber(value[name], 0, max);
    if (number === null) {
      return null;
    }
    read[name] = number;
  }
  return read as Record<Name, number>;
}
