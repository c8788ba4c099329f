import { pythonCodeEnd } from './python-text.ts';

/** What stood in one code fence. */
export interface FencedBlock {
  readonly code: string;
  /** Whether a closing fence was there. */
  readonly closed: boolean;
  /** Indices in the text: of the opening fence, and past the closing one. */
  readonly start: number;
  readonly end: number;
}

/** Blocks looked at in one reply; later ones are not found. */
const MAX_BLOCKS = 200;

const MARKDOWN = /^\{?\.?(?:markdown|md)\b/i;
const OTHER_LANGUAGE =
  /^\{?\.?(?:json|jsonc|bash|sh|shell|console|text|txt|plaintext|output|yaml|sql|html|xml)\b/i;
/** Code on the opening line itself, after the language or at once. */
const CODE_ON_OPENING = /^\s*(?:python3?\s+|py\s+)?((?:from|import|def|class|async|@)\b.*)$/;

/**
 * The fenced blocks of a reply, in order: backticks or tildes, indented, with or without a language, unclosed
 * at the end of the text. Inside Python the fence that closes is the first one outside of strings and comments;
 * where the quotes are broken, the last line that is a fence and nothing else.
 */
export function fencedBlocks(text: string): readonly FencedBlock[] {
  const blocks: FencedBlock[] = [];
  let at = 0;
  while (at < text.length && blocks.length < MAX_BLOCKS) {
    const lineEnd = endOfLine(text, at);
    const line = text.slice(at, lineEnd);
    if (!line.includes('```') && !line.includes('~~~')) {
      at = lineEnd + 1;
      continue;
    }
    const opening = openingFence(line.trimEnd());
    const oneLine = opening === null ? singleLineBlock(line, at) : null;
    if (oneLine !== null) blocks.push(oneLine);
    const info = opening?.info.trim() ?? '';
    if (opening === null || MARKDOWN.test(info)) {
      // A fence of Markdown holds a whole reply: what counts is fenced inside it.
      at = lineEnd + 1;
      continue;
    }
    const start = at + opening.index;
    const inline = CODE_ON_OPENING.exec(info)?.[1];
    const from =
      inline === undefined ? Math.min(lineEnd + 1, text.length) : at + line.trimEnd().length - inline.length;
    const found = OTHER_LANGUAGE.test(info) ? firstFenceLine(text, from) : pythonCodeEnd(text, from);
    const close = found.inString ? lastFenceLine(text, from) : found;
    const code = text.slice(from, close.closed ? lineStartBefore(text, close.end) : close.end);
    blocks.push({
      code: unindent(code, /^[ \t]*/.exec(line)?.[0] ?? ''),
      closed: close.closed,
      start,
      end: close.closed ? afterFence(text, close.end) : text.length,
    });
    at = blocks.at(-1)?.end ?? text.length;
  }
  return blocks;
}

/**
 * The opening fence of a line without trailing spaces: tildes at its start, or a run of backticks anywhere with
 * none after it ("Sure! ```python"). Runs that pair up on the line are inline code. Written without a regular
 * expression, which would be quadratic in the length of a run.
 */
function openingFence(line: string): { readonly index: number; readonly info: string } | null {
  const tildes = /^([ \t]*)~{3,}/.exec(line);
  if (tildes !== null) return { index: tildes[1]?.length ?? 0, info: line.slice(tildes[0].length) };
  const last = line.lastIndexOf('`');
  const index = runStart(line, last);
  if (last - index < 2 || line.split(/`{3,}/).length % 2 === 1) return null;
  return { index, info: line.slice(last + 1) };
}

/** A block that opens and closes in one line, such as ```def compute(data): return 1```. */
function singleLineBlock(line: string, at: number): FencedBlock | null {
  const text = line.trimEnd();
  const close = runStart(text, text.length - 1);
  const open = text.lastIndexOf('`', close - 1);
  if (text.length - close < 3 || close === 0 || open === -1) return null;
  const start = runStart(text, open);
  const code = CODE_ON_OPENING.exec(text.slice(open + 1, close))?.[1];
  return open - start < 2 || code === undefined
    ? null
    : { code: code.trimEnd(), closed: true, start: at + start, end: at + line.length };
}

/** Index of the first backtick of the run that ends at `end`; past `end` if there is none. */
function runStart(line: string, end: number): number {
  let start = end + 1;
  while (start > 0 && line.charAt(start - 1) === '`') start -= 1;
  return start;
}

function endOfLine(text: string, at: number): number {
  const newline = text.indexOf('\n', at);
  return newline === -1 ? text.length : newline;
}

/** Past a closing fence: its line's end if nothing follows there, else (a new opening, prose) where that begins. */
function afterFence(text: string, at: number): number {
  let end = at;
  const char = text.charAt(at);
  while (text.charAt(end) === char) end += 1;
  const rest = text.slice(end, endOfLine(text, end));
  if (rest.trim() === '') return end + rest.length;
  // "```python" straight after code whose own closing fence is missing opens the next block.
  return /^[A-Za-z0-9_+.-]+[ \t]*$/.test(rest) && isLineStart(text, at) ? at : end;
}

/** Where the line of a fence begins if only its indentation stands before it, else the fence itself. */
function lineStartBefore(text: string, at: number): number {
  return isLineStart(text, at) ? text.lastIndexOf('\n', at - 1) + 1 : at;
}

function isLineStart(text: string, at: number): boolean {
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, at).trim() === '';
}

const FENCE_LINE = /^[ \t]*(?:`{3,}|~{3,})[ \t]*$/gm;

function firstFenceLine(text: string, from: number) {
  for (const match of text.slice(from).matchAll(FENCE_LINE)) return closedAt(from, match);
  return { end: text.length, closed: false, inString: false };
}

function lastFenceLine(text: string, from: number) {
  const match = [...text.slice(from).matchAll(FENCE_LINE)].at(-1);
  return match === undefined ? { end: text.length, closed: false, inString: false } : closedAt(from, match);
}

function closedAt(from: number, match: RegExpExecArray) {
  const indent = match[0].length - match[0].trimStart().length;
  return { end: from + match.index + indent, closed: true, inString: false };
}

/** Takes the fence's own indentation off every line, as far as the line has it, if the code has it at all. */
function unindent(code: string, indent: string): string {
  const first = /^[^\S\n]*\S/m.exec(code)?.[0] ?? '';
  if (indent === '' || !first.startsWith(indent)) return code;
  return code
    .split('\n')
    .map((line) => {
      let taken = 0;
      while (taken < indent.length && line.charAt(taken) === indent.charAt(taken)) taken += 1;
      return line.slice(taken);
    })
    .join('\n');
}
