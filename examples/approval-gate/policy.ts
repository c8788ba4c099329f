import { createInterface } from 'node:readline/promises';
import type { Policy } from './gate.ts';

const MAX_LINES = 60;
/** Modules that need no second look; admission has seen to it that no others than the pack's are there. */
const USUAL_MODULES = new Set([
  'collections',
  'datetime',
  'decimal',
  'itertools',
  'math',
  're',
  'statistics',
]);

/** Rules of the house, on top of admission: short functions, and only modules that everybody knows. */
export const houseRules: Policy = async ({ code }) => {
  const lines = code.trimEnd().split('\n');
  if (lines.length > MAX_LINES) {
    return `${lines.length} lines; at most ${MAX_LINES} are read at a glance`;
  }
  const modules = lines.flatMap(
    (line) => /^\s*(?:from|import)\s+([\w, .]+)/.exec(line)?.[1]?.split(',') ?? [],
  );
  const unusual = modules
    .map((name) => name.trim().split(/[ .]/)[0] ?? '')
    .filter((name) => !USUAL_MODULES.has(name));
  return unusual.length > 0 ? `it imports ${unusual.join(', ')}` : null;
};

/** Shows the function on the terminal and asks for a yes. Input that ends without one is a no. */
export const askAPerson: Policy = async (draft, { step }) => {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // A question on an input that has ended is never answered, so its end is waited for too.
  const gone = new Promise<null>((resolve) => {
    terminal.once('close', () => resolve(null));
  });
  console.log(`\n${step}\n\n${draft.code}\nSHA-256 ${draft.code_sha256}`);
  const said = await Promise.race([terminal.question('Run this function over the data? [y/N] '), gone]);
  terminal.close();
  if (said === null) {
    return 'there was nobody to ask (standard input ended); --yes asks nobody';
  }
  return /^y(es)?$/i.test(said.trim()) ? null : 'a person said no';
};

/** Every policy must agree; the first that does not is heard. */
export function all(...policies: readonly Policy[]): Policy {
  return async (draft, step) => {
    for (const policy of policies) {
      const why = await policy(draft, step);
      if (why !== null) {
        return why;
      }
    }
    return null;
  };
}
