import { isDeepStrictEqual } from 'node:util';
import { runSoak } from '../fakes/soak-findings.ts';

/** `npm run soak [-- steps]`: 2,000 mixed steps on real containers; ends with 1 if anything does not add up. */
const steps = Number(process.argv[2] ?? 2000);
const WARM_UP = 200;
const MIB = 1024 * 1024;

const found = await runSoak(steps, WARM_UP);
const { tally, usage, warm, end } = found;
const runs = Object.values(tally.counted).reduce((sum, count) => sum + count, 0);
const exported = found.exported.tenants[0];
const checks: [string, boolean][] = [
  ['every step came to what it must', tally.surprises.length === 0],
  [
    'the ledger has each outcome as often as it was answered',
    isDeepStrictEqual(usage.outcomes, sorted(tally.counted)),
  ],
  ['runs: ledger', usage.compute_runs.used === runs],
  ['runs: metrics', Object.values(found.runsByState).reduce((sum, count) => sum + count, 0) === runs],
  ['seconds: metrics and ledger', found.seconds === usage.compute_seconds.used],
  ['steps by outcome: metrics', isDeepStrictEqual(sorted(found.stepsByOutcome), sorted(tally.outcomes))],
  [
    'export: runs and seconds',
    exported?.compute_runs === runs && exported?.compute_seconds === found.seconds,
  ],
  ['no permit is open', usage.open_permits === 0],
  ['the totals equal the journal', found.mismatches.length === 0],
  ['no container is left', found.containersLeft.length === 0],
  ['descriptors are flat', end.descriptors - warm.descriptors < 25],
  ['resident memory is flat', end.rssBytes - warm.rssBytes < 100 * MIB],
];
for (const [name, ok] of checks) console.log(`${ok ? 'ok  ' : 'FAIL'}  ${name}`);
for (const surprise of tally.surprises.slice(0, 10)) console.log(`      ${surprise}`);
console.log(`
${steps} steps after ${WARM_UP} to warm up, in ${(found.elapsedMs / 1000).toFixed(0)} s (${((steps * 1000) / found.elapsedMs).toFixed(1)} a second)
counted ${JSON.stringify(tally.counted)}
resident ${mib(warm.rssBytes)} -> ${mib(end.rssBytes)} MiB, descriptors ${warm.descriptors} -> ${end.descriptors}`);
process.exitCode = checks.every(([, ok]) => ok) ? 0 : 1;

function sorted(counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(0);
}
