import { type FencedBlock, fencedBlocks } from './fences.ts';
import { DEF_COMPUTE, isProse, looksLikePython, pythonCodeEnd } from './python-text.ts';
import { withoutReasoning } from './reasoning.ts';

declare const draftBrand: unique symbol;

/**
 * A function as a model or a caller wrote it: LF line ends, one newline at the end, no fence around it.
 * Not admitted yet. Only `readReply` and `draftOf` make one.
 */
export interface Draft {
  readonly source: string;
  readonly [draftBrand]: true;
}

/** A reply without a function in it: an expected outcome, not an error. */
export interface NoFunction {
  readonly kind: 'no_function';
  /** Each is a reason of `model_failed` too. */
  readonly reason: 'empty_answer' | 'no_function' | 'answer_too_large';
}

/**
 * Replies longer than this (UTF-16 units) hold no function anyone would admit (sources end at 64 KiB); the
 * rest is room for reasoning and prose.
 */
const REPLY_MAX_CHARS = 512 * 1024;

/**
 * Code that a caller hands in, as a Draft: CRLF becomes LF, one fence around the whole of it is removed, the
 * text ends in one newline. Nothing else changes: what a caller sends is judged as it stands.
 */
export function draftOf(code: string): Draft {
  const text = code.replaceAll('\r\n', '\n');
  const [block] = fencedBlocks(text);
  const whole =
    block?.closed === true && text.slice(0, block.start).trim() === '' && text.slice(block.end).trim() === '';
  return draft(whole ? block.code : text);
}

/**
 * The function out of a model's reply: bare, in a fence (backticks, tildes, indented, unclosed) with prose
 * around it, in a JSON object's `code`, behind reasoning tags. Of several fences the one with `def compute`
 * counts, the last of them if there are more. Code without `def compute` is a Draft too, for admission to
 * refuse with a hint; a reply that holds none is a NoFunction.
 */
export function readReply(reply: string): Draft | NoFunction {
  if (reply.length > REPLY_MAX_CHARS) return { kind: 'no_function', reason: 'answer_too_large' };
  const text = codeMember(withoutReasoning(reply.replaceAll('\r\n', '\n')));
  if (text.trim() === '') return { kind: 'no_function', reason: 'empty_answer' };

  // Bare code first: a fence inside its docstring is not a fence around it.
  const bare = looksLikePython(firstLine(text).trimStart()) ? bareCode(text) : null;
  if (bare !== null && DEF_COMPUTE.test(bare)) return draft(bare);

  const blocks = fencedBlocks(text);
  const block = chosen(blocks);
  if (block !== null && DEF_COMPUTE.test(block.code)) return draft(unindented(block.code));

  // No `def compute` in a fence: before the first one, or nowhere.
  const before = bareCode(block === null ? text : text.slice(0, block.start));
  if (DEF_COMPUTE.test(before)) return draft(before);
  const other = block === null ? before : unindented(block.code);
  return startsAsPython(other) ? draft(other) : { kind: 'no_function', reason: 'no_function' };
}

function draft(source: string): Draft {
  let end = source.length;
  while (source.charAt(end - 1) === '\n') end -= 1;
  return { source: `${source.slice(0, end)}\n` } as Draft;
}

/** The last closed block with `def compute`, else the one that is cut off, else the first block. */
function chosen(blocks: readonly FencedBlock[]): FencedBlock | null {
  const fitting = blocks.filter(({ code }) => DEF_COMPUTE.test(code));
  return fitting.filter(({ closed }) => closed).at(-1) ?? fitting[0] ?? blocks[0] ?? null;
}

/** Some models wrap the function in JSON unasked; a JSON object is never a Python function. */
function codeMember(text: string): string {
  if (!/^\s*\{/.test(text)) return text;
  try {
    const code: unknown = (JSON.parse(text) as { code?: unknown }).code;
    return typeof code === 'string' ? code.replaceAll('\r\n', '\n') : text;
  } catch {
    return text;
  }
}

/**
 * Code that stands in no fence: up to the first fence outside its strings, without lines of prose before and
 * after. Untouched if there is nothing to take off.
 */
function bareCode(text: string): string {
  const lines = text.split('\n');
  let first = 0;
  while (first < lines.length && !looksLikePython((lines[first] ?? '').trimStart())) {
    const line = lines[first] ?? '';
    // Something that is neither prose nor known as code: keep all of it, admission must see it.
    if (line.trim() !== '' && !isProse(line)) return unindented(text);
    first += 1;
  }
  const skipped = lines.slice(0, first).join('\n').trim() === '' ? 0 : first;
  const code = lines.slice(skipped).join('\n');
  const { end, closed } = pythonCodeEnd(code, 0);
  const kept = code.slice(0, end).split('\n');
  let last = kept.length;
  let prose = false;
  while (last > 0) {
    const line = kept[last - 1] ?? '';
    if (line.trim() !== '' && !isProse(line)) break;
    prose ||= line.trim() !== '';
    last -= 1;
  }
  return unindented(skipped === 0 && !closed && !prose ? text : kept.slice(0, last).join('\n'));
}

/** Whether the first line that is no comment (or Markdown heading) is a line of Python. */
function startsAsPython(text: string): boolean {
  for (const line of text.split('\n')) {
    const start = line.trim();
    if (start !== '' && !start.startsWith('#')) return looksLikePython(start);
  }
  return false;
}

function firstLine(text: string): string {
  return /^[^\S\n]*\S.*$/m.exec(text)?.[0] ?? '';
}

/** Takes off an indentation that every line has, as when a model indents its whole answer. */
function unindented(code: string): string {
  const indent = /^[ \t]*/.exec(firstLine(code))?.[0] ?? '';
  const lines = code.split('\n');
  if (indent === '' || !lines.every((line) => line.startsWith(indent) || line.trim() === '')) return code;
  return lines.map((line) => line.slice(indent.length)).join('\n');
}
