import { createAdmission } from '../../src/admission/admit.ts';
import { createNamesSeen } from '../../src/admission/names-seen.ts';
import { attacks, honest, packModules } from '../unit/admission/corpus.ts';
import { compare, pythonCommand, startPython } from './compare.ts';

/**
 * Runs the comparison of the two parsers for longer: `tsx test/differential/fuzz-admission.ts [mutants] [seed]
 * [python command …]`. Ends with 1 if admission admitted a source in which CPython sees a name that it did not.
 */
const [count = '500000', seed = String(Date.now() % 1_000_000), ...command] = process.argv.slice(2);
const seeds = { honest: honest().map(({ code }) => code), attacks: attacks().map(({ code }) => code) };
const python = startPython(command.length > 0 ? command : (pythonCommand() ?? ['python3']));
const result = await compare(seeds, await createAdmission(packModules()), await createNamesSeen(), python, {
  seed: Number(seed),
  count: Number(count),
  deadlineAt: Number.POSITIVE_INFINITY,
});
python.stdin?.end();
const { holes, admittedNotCompiled, ...counts } = result;
process.stdout.write(
  `${JSON.stringify({ seed: Number(seed), ...counts, notCompiled: admittedNotCompiled.length })}\n`,
);
for (const source of admittedNotCompiled.slice(0, 20))
  process.stdout.write(`not compiled: ${JSON.stringify(source)}\n`);
for (const hole of holes) process.stdout.write(`HOLE ${JSON.stringify(hole)}\n`);
process.exitCode = holes.length > 0 ? 1 : 0;
