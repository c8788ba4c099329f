import { honestCases, killingProfile, runHonestly } from '../fakes/sandbox-corpus.ts';

/**
 * `npx tsx test/bench/corpus-rounds.ts [rounds] [at once]`: every honest function of the corpora in a container of
 * its own, 20 times, under a profile that kills at the first call it does not list. Ends with 1 if one is lost.
 */
const rounds = Number(process.argv[2] ?? 20);
const atOnce = Number(process.argv[3] ?? 4);

const cases = honestCases();
const profile = killingProfile();
const startedAt = performance.now();
let lost = 0;
for (let round = 1; round <= rounds; round += 1) {
  for (const fault of await runHonestly(cases, profile, atOnce)) {
    lost += 1;
    console.log(`round ${round}  ${fault}`);
  }
}
const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
console.log(
  `${cases.length} functions, ${rounds} rounds, ${cases.length * rounds} containers in ${seconds} s: ${lost} lost`,
);
process.exitCode = lost === 0 ? 0 : 1;
