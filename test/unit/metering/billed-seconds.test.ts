import { expect, it } from 'vitest';
import { billedSeconds } from '../../../src/metering/billed-seconds.ts';

it.each([
  [0n, 1],
  [-5n, 1],
  [1n, 1],
  [999_999_999n, 1],
  [1_000_000_000n, 1],
  [1_000_000_001n, 2],
  [1_000_001_000n, 2],
  [2_000_000_000n, 2],
  [10_000_000_001n, 11],
  // A double cannot tell this from a whole number of seconds.
  [9_007_199_254_000_000_001n, 9_007_199_255],
])('a run of %s ns is charged %s s', (wallNs, seconds) => {
  expect(billedSeconds(wallNs)).toBe(seconds);
});
