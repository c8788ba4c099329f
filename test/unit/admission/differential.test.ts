import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { createAdmission } from '../../../src/admission/admit.ts';
import { createNamesSeen } from '../../../src/admission/names-seen.ts';
import { compare, pythonCommand, pythonScript, startPython } from '../../differential/compare.ts';
import { attacks, honest, packModules } from './corpus.ts';

/** Mutants of one run; the deadline ends it earlier on a slow machine. */
const MUTANTS = 50_000;
const DEADLINE_MS = 60_000;
/** Fewer would say little: the run then fails instead of passing on nothing. */
const LEAST_MUTANTS = 2_000;

const python = pythonCommand();

it.skipIf(python === null)(
  'every name, attribute and import that CPython sees in an admitted mutant was seen by admission, in the same role',
  async () => {
    const process = startPython(python ?? []);
    const seeds = { honest: honest().map(({ code }) => code), attacks: attacks().map(({ code }) => code) };
    const result = await compare(
      seeds,
      await createAdmission(packModules()),
      await createNamesSeen(),
      process,
      {
        seed: 20_261_130,
        count: MUTANTS,
        deadlineAt: Date.now() + DEADLINE_MS,
      },
    );
    process.stdin?.end();
    expect(result.holes).toEqual([]);
    expect(result.mutants).toBeGreaterThan(LEAST_MUTANTS);
    expect(result.admitted).toBeGreaterThan(result.mutants / 100);
    // CPython refuses to compile these; they fail in the sandbox and run nothing. They are few.
    expect(result.admittedNotCompiled.length).toBeLessThan(result.mutants / 100);
  },
  DEADLINE_MS * 2,
);

it.skipIf(python === null)('the comparison finds what a parser that misses names would miss', async () => {
  const process = startPython(python ?? []);
  const seeds = { honest: honest().map(({ code }) => code), attacks: ['import os\n'] };
  const blind = () => ({
    identifiers: new Set<string>(),
    attributes: new Set<string>(),
    modules: new Set<string>(),
    roles: [],
  });
  const result = await compare(seeds, await createAdmission(packModules()), blind, process, {
    seed: 1,
    count: 200,
    deadlineAt: Date.now() + DEADLINE_MS,
  });
  process.stdin?.end();
  expect(result.holes.length).toBeGreaterThan(0);
  expect(result.holes[0]?.unseen.length).toBeGreaterThan(0);
});

it.skipIf(python === null)('CPython is asked with its own grammar', () => {
  const [program = 'python3', ...args] = python ?? [];
  const input = `${JSON.stringify('import a.b as c\nd.e\nmatch f:\n  case G(h=i): pass\n')}\n"x = ("\n"return 1"\n`;
  const lines = execFileSync(program, [...args, '-c', pythonScript()], { input, encoding: 'utf8' })
    .trim()
    .split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      names: ['G', 'c', 'd', 'f', 'i'],
      attributes: ['e', 'h'],
      modules: ['a.b'],
      roles: ['bind c', 'bind i', 'd.e', 'load G', 'load d', 'load f'],
    },
    null,
    null,
  ]);
});
