import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { seededRandom } from '../differential/mutants.ts';
import { mutationsOf } from './mutations.ts';

/**
 * Mutates src/admission in a copy of the project and asks the quick checks of admission (see judge.ts) whether they
 * notice: `tsx test/mutation/mutate.ts [sample] [file part]`. Prints the score and every survivor. Not part of the
 * tests: it takes minutes.
 */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const [sample = '0', part = ''] = process.argv.slice(2);

const copy = mkdtempSync(join(tmpdir(), 'mutate-admission-'));
for (const name of ['src', 'test', 'package.json', 'tsconfig.json']) {
  cpSync(join(ROOT, name), join(copy, name), { recursive: true });
}
symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));

const folder = join(copy, 'src/admission');
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && name !== 'names-seen.ts' && name.includes(part))
  .map((name) => join(folder, name));
const jobs = files.flatMap((file) => {
  const text = readFileSync(file, 'utf8');
  return mutationsOf(text).map((mutation) => ({ file, text, mutation }));
});
const random = seededRandom(1);
const chosen = Number(sample) > 0 ? jobs.filter(() => random() < Number(sample) / jobs.length) : jobs;

const survivors: string[] = [];
for (const { file, text, mutation } of chosen) {
  writeFileSync(file, text.slice(0, mutation.at) + mutation.by + text.slice(mutation.at + mutation.length));
  // A mutant that loops counts as noticed, like one that throws.
  const run = spawnSync('node', ['--import', 'tsx', join(copy, 'test/mutation/judge.ts')], {
    cwd: copy,
    timeout: 120_000,
    stdio: 'ignore',
  });
  writeFileSync(file, text);
  if (run.status !== 0) continue;
  const line = text.slice(0, mutation.at).split('\n').length;
  survivors.push(`${relative(folder, file)}:${line} ${mutation.what}: ${text.split('\n')[line - 1]?.trim()}`);
}
rmSync(copy, { recursive: true, force: true });

const killed = chosen.length - survivors.length;
process.stdout.write(`${survivors.join('\n')}\n`);
process.stdout.write(
  `${killed} of ${chosen.length} mutants noticed (${((100 * killed) / chosen.length).toFixed(1)} %)\n`,
);
