import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A page for people: its path from the root, and its text. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

/** README.md, CONTRIBUTING.md, docs/*.md and every README.md below examples/. Those of deploy/ have a test of their own. */
export function documentedPages(): readonly Page[] {
  const below = (folder: string, pick: (path: string) => boolean) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.includes('node_modules') && pick(path))
      .map((path) => join(folder, path));
  return [
    'README.md',
    'CONTRIBUTING.md',
    ...below('docs', (path) => path.endsWith('.md') && !path.includes('/')),
    ...below('examples', (path) => path.endsWith('README.md')),
  ]
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

/** The fenced blocks of a language, in order. */
export function blocksOf({ text }: Page, language: string): readonly string[] {
  return [...text.matchAll(/^```(\w+)[^\n]*\n(.*?)^```$/gms)]
    .filter(([, name]) => name === language)
    .map(([, , code]) => code ?? '');
}

/** The commands of a page's shell blocks, each whole, with its continuation lines and without its comment. */
export function commandsOf(page: Page): readonly string[] {
  return ['sh', 'bash', 'shell', 'console']
    .flatMap((language) => blocksOf(page, language))
    .flatMap(commandsIn);
}

function commandsIn(block: string): readonly string[] {
  const commands: string[] = [];
  let open = '';
  for (const line of block.split('\n')) {
    open = open === '' ? line : `${open}\n${line}`;
    if (open.trim() === '' || /^\s*#/.test(open)) open = '';
    else if (isWhole(open)) {
      commands.push(open.replace(/\s+#[^'"]*$/, '').trim());
      open = '';
    }
  }
  if (open !== '') throw new Error(`a command does not end: ${open}`);
  return commands;
}

/** Whether a shell would run it, or wait for more. */
function isWhole(text: string): boolean {
  return !text.endsWith('\\') && spawnSync('bash', ['-n', '-c', text], { stdio: 'ignore' }).status === 0;
}

/** Links of a page that lead to no file of the project, or to no heading of it. */
export function brokenLinks(page: Page, pages: ReadonlyMap<string, string>): readonly string[] {
  const links = [...page.text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? '');
  return links.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? join(ROOT, page.path) : join(ROOT, dirname(page.path), path);
    if (!existsSync(file)) return true;
    if (anchor === undefined || statSync(file).isDirectory()) return false;
    const text = pages.get(relative(ROOT, file)) ?? readFileSync(file, 'utf8');
    return !headingsOf(text).includes(anchor);
  });
}

/** Anchors as GitHub makes them of headings. */
function headingsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#{1,6} +(.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
