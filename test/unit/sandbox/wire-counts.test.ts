import { describe, expect, test } from 'vitest';
import type { PoolCounts } from '../../../src/sandbox/pool-counts.ts';
import { COUNTS_MAX_BYTES, decodeCounts, encodeCounts } from '../../../src/sandbox/wire-counts.ts';

const SUM_MAX = 2 ** 40;
const COUNTS: PoolCounts = {
  instance: '6d8ab3ce-9b5c-4f1c-8d3a-0b1a6cc2c9ff',
  containers: { starting: 1, ready: 4, running: 2, removing: 0 },
  queueDepth: 3,
  running: 2,
  starts: { ok: SUM_MAX, failed: 5, timeout: 6, cancelled: 7 },
  removalFailures: 8,
};
const onWire = (more: object = {}): Buffer =>
  Buffer.from(JSON.stringify({ ...(JSON.parse(encodeCounts(COUNTS).toString()) as object), ...more }));

describe('counts on the wire', () => {
  test('come out as they went in, and fit', () => {
    expect(decodeCounts(encodeCounts(COUNTS))).toEqual(COUNTS);
    const most = { ...COUNTS, instance: 'x'.repeat(64), removalFailures: SUM_MAX };
    expect(encodeCounts(most).byteLength).toBeLessThan(COUNTS_MAX_BYTES);
  });

  test('leave behind what a later version may add', () => {
    const more = onWire({ colour: 'blue', starts: { ...COUNTS.starts, later: 1 } });
    expect(decodeCounts(more)).toEqual(COUNTS);
  });

  test.each<[string, Buffer]>([
    ['no JSON', Buffer.from('{')],
    ['no object', Buffer.from('[]')],
    ['another protocol', onWire({ protocol: 2 })],
    ['no instance', onWire({ instance: undefined })],
    ['an instance of another form', onWire({ instance: 'a b' })],
    ['an instance that is too long', onWire({ instance: 'x'.repeat(65) })],
    ['no containers', onWire({ containers: null })],
    ['a phase that is missing', onWire({ containers: { starting: 1, ready: 1, running: 1 } })],
    ['a negative level', onWire({ containers: { ...COUNTS.containers, ready: -1 } })],
    ['a level past its bound', onWire({ containers: { ...COUNTS.containers, ready: 1_000_001 } })],
    ['a queue as text', onWire({ queue_depth: '3' })],
    ['a queue past its bound', onWire({ queue_depth: 1_000_001 })],
    ['half a run', onWire({ running: 0.5 })],
    ['an outcome that is missing', onWire({ starts: { ok: 1, failed: 1, timeout: 1 } })],
    ['a sum past its bound', onWire({ starts: { ...COUNTS.starts, ok: SUM_MAX + 1 } })],
    ['failures past their bound', onWire({ removal_failures: SUM_MAX + 1 })],
    ['no failures', onWire({ removal_failures: null })],
  ])('are none with %s', (_what, payload) => {
    expect(decodeCounts(payload)).toBeNull();
  });
});
