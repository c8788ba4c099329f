import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The shell blocks below a heading of deploy/README.md, in order. Throws where there is none: the test is stale then. */
export function readmeCommands(heading: string): readonly string[] {
  const text = readFileSync(join(ROOT, 'deploy/README.md'), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  const blocks = [...(section ?? '').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
  if (blocks.length === 0) throw new Error(`deploy/README.md has no commands below "${heading}"`);
  return blocks;
}

/** The block below a heading that holds a text. */
export function readmeCommand(heading: string, holding: string): string {
  const block = readmeCommands(heading).find((text) => text.includes(holding));
  if (block === undefined)
    throw new Error(`no command below "${heading}" in deploy/README.md has ${holding}`);
  return block;
}
