import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { type Admission, isRefusal } from '../../src/admission/admit.ts';
import type { NamesSeen } from '../../src/admission/names-seen.ts';
import { draftOf } from '../../src/model/reply.ts';
import { mutant, type Seeds, seededRandom } from './mutants.ts';

/** What CPython saw in a source; null if it refuses to compile it. */
interface CPythonSees {
  readonly names: readonly string[];
  readonly attributes: readonly string[];
  readonly modules: readonly string[];
  readonly roles: readonly string[];
}

export interface Comparison {
  readonly mutants: number;
  readonly admitted: number;
  /** Both parsers read it; admission may still have refused it. */
  readonly readByBoth: number;
  /** Admitted, but CPython refuses to compile it: ends as a failed run, not as unseen code. */
  readonly admittedNotCompiled: readonly string[];
  /** Admitted, and CPython sees a name, or a use of one, that admission did not: must be empty. */
  readonly holes: readonly { readonly source: string; readonly unseen: readonly string[] }[];
  /** As `holes`, before any rule: what the parsers alone disagree on. */
  readonly parserGaps: number;
}

/** Sources in flight between the two processes. */
const BATCH = 200;

/**
 * A Python that reads sources and answers what it sees, one line each. The script goes by `-c`, so that the Python
 * may be one inside a container.
 */
export function startPython(command: readonly string[]): ChildProcess {
  const [program = 'python3', ...args] = command;
  return spawn(program, [...args, '-c', pythonScript()], { stdio: ['pipe', 'pipe', 'inherit'] });
}

/** The text of names.py. */
export function pythonScript(): string {
  return readFileSync(new URL('./names.py', import.meta.url), 'utf8');
}

/**
 * The Python to compare with: that of the sandbox's image where the engine has one, as it is what runs functions;
 * else python3.13 or python3 of the machine; null if there is none.
 */
export function pythonCommand(): string[] | null {
  const answer = (program: string, ...args: string[]) => {
    const { status, stdout } = spawnSync(program, args, { encoding: 'utf8', timeout: 20_000 });
    return status === 0 ? stdout.trim() : null;
  };
  const image = answer('docker', 'images', '--quiet', 'compute-step-sandbox')?.split('\n')[0];
  const run = ['run', '--interactive', '--rm', '--network', 'none', '--entrypoint', 'python3', image ?? ''];
  if (image && answer('docker', ...run, '-S', '-c', 'import ast, json') !== null)
    return ['docker', ...run, '-S'];
  for (const program of ['python3.13', 'python3'])
    if (answer(program, '--version') !== null) return [program];
  return null;
}

/** Compares what the two parsers see in seeded mutants of the sources, until `count` or the deadline. */
export async function compare(
  seeds: Seeds,
  admission: Admission,
  namesSeen: (source: string) => NamesSeen | null,
  python: ChildProcess,
  options: { readonly seed: number; readonly count: number; readonly deadlineAt: number },
): Promise<Comparison> {
  const { stdin, stdout } = python;
  if (stdin === null || stdout === null) throw new Error('The Python process needs pipes.');
  const answers = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const random = seededRandom(options.seed);
  const admittedNotCompiled: string[] = [];
  const holes: { source: string; unseen: string[] }[] = [];
  // The honest sources themselves come first, unchanged.
  const unchanged = [...seeds.honest];
  let mutants = 0;
  let admitted = 0;
  let readByBoth = 0;
  let parserGaps = 0;
  while (mutants < options.count && Date.now() < options.deadlineAt) {
    const batch = Array.from(
      { length: Math.min(BATCH, options.count - mutants) },
      () => unchanged.pop() ?? mutant(seeds, random),
    );
    // JSON escapes lone surrogates; Python gets them as such and refuses them.
    if (!stdin.write(batch.map((source) => `${JSON.stringify(draftOf(source).source)}\n`).join(''))) {
      await once(stdin, 'drain');
    }
    for (const source of batch) {
      const verdict = admission.admit(draftOf(source));
      const line = await answers.next();
      if (line.done === true) throw new Error('The Python process ended.');
      const expected = JSON.parse(line.value) as CPythonSees | null;
      const isAdmitted = !isRefusal(verdict);
      mutants += 1;
      if (isAdmitted) admitted += 1;
      if (expected === null) {
        if (isAdmitted) admittedNotCompiled.push(source);
        continue;
      }
      const seen = namesSeen(draftOf(source).source);
      if (seen === null) {
        if (isAdmitted) holes.push({ source, unseen: ['no tree'] });
        continue;
      }
      readByBoth += 1;
      const unseen = missing(expected, seen);
      if (unseen.length > 0) parserGaps += 1;
      if (!isAdmitted) continue;
      if (unseen.length > 0) holes.push({ source, unseen });
      else if (expected.roles.join() !== seen.roles.join())
        holes.push({ source, unseen: difference(expected, seen) });
    }
  }
  return { mutants, admitted, readByBoth, admittedNotCompiled, holes, parserGaps };
}

/** The uses of names in which the two parsers differ: CPython has those with +, admission those with -. */
function difference(expected: CPythonSees, seen: NamesSeen): string[] {
  const count = new Map<string, number>();
  for (const role of expected.roles) count.set(role, (count.get(role) ?? 0) + 1);
  for (const role of seen.roles) count.set(role, (count.get(role) ?? 0) - 1);
  return [...count]
    .filter(([, times]) => times !== 0)
    .map(([role, times]) => `${times > 0 ? '+' : '-'}${role}`);
}

function missing(expected: CPythonSees, seen: NamesSeen): string[] {
  return [
    ...expected.names.filter((name) => name !== '*' && !seen.identifiers.has(name)),
    ...expected.attributes.filter((name) => !seen.attributes.has(name)).map((name) => `.${name}`),
    ...expected.modules.filter((name) => !seen.modules.has(name)).map((name) => `import ${name}`),
  ];
}
