import { expect, it } from 'vitest';
import { runSoak } from '../fakes/soak-findings.ts';

const MIB = 1024 * 1024;

it('counts 200 mixed steps alike in answers, metrics, ledger and export, and holds nothing on to', async () => {
  const found = await runSoak(150, 50);
  const { tally, usage } = found;
  expect(tally.surprises).toEqual([]);
  // Each kind by its share, over the two parts.
  expect(Object.values(tally.outcomes).reduce((sum, steps) => sum + steps, 0)).toBe(200);

  expect(usage).toMatchObject({ outcomes: tally.counted, open_permits: 0 });
  const runs = Object.values(tally.counted).reduce((sum, count) => sum + count, 0);
  expect(usage.compute_runs.used).toBe(runs);
  expect(found.stepsByOutcome).toEqual(tally.outcomes);
  expect(found.runsByState).toEqual({
    succeeded: tally.counted.succeeded,
    failed: runs - (tally.counted.succeeded ?? 0),
  });
  expect(found.seconds).toBe(usage.compute_seconds.used);
  expect(found.exported).toMatchObject({
    closed: false,
    tenants: [
      {
        tenant: 'acme',
        compute_runs: runs,
        compute_seconds: usage.compute_seconds.used,
        open_permits: 0,
        outcomes: tally.counted,
      },
    ],
  });
  expect(found.mismatches).toEqual([]);

  expect(found.containersLeft).toEqual([]);
  // Generous: a leak of a descriptor a step would be 150, and of half a megabyte a step 75 MB.
  expect(found.end.descriptors - found.warm.descriptors).toBeLessThan(25);
  expect(found.end.rssBytes - found.warm.rssBytes).toBeLessThan(75 * MIB);
}, 300_000);
