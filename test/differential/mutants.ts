/** A small seeded generator (mulberry32): the same seed gives the same mutants on every machine. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Pieces of text at which parsers have differed. */
const SPLICES = [
  '\r',
  '\f',
  '\v',
  '\t',
  '\0',
  '\u00a0',
  '\u2028',
  '\ufeff',
  '\u200b',
  '\\\n',
  '\n',
  '\n    ',
  ';',
  '#',
  '# x\r',
  '"',
  "'",
  '"""',
  "'''",
  'f"',
  "rb'",
  '{',
  '}',
  '{{',
  '(',
  ')',
  '[',
  ']',
  ',',
  ':',
  ':=',
  '=',
  '==',
  '->',
  '*',
  '**',
  '@',
  '.',
  '...',
  '!',
  '|',
  '<>',
  '`',
  '$',
  '?',
  '~',
  '-',
  '+',
  '%',
  '/',
  '//',
  '>>',
  '0x1',
  '0o7',
  '1_0',
  '1e5',
  '1j',
  '0777',
  '10L',
  'if ',
  'else ',
  'for ',
  'in ',
  'not ',
  'is ',
  'and ',
  'or ',
  'lambda ',
  'lambda: ',
  'def ',
  'class ',
  'return ',
  'yield ',
  'yield from ',
  'await ',
  'async ',
  'import os',
  'from os import path',
  'from . import x',
  'global ',
  'nonlocal ',
  'del ',
  'pass',
  'raise ',
  'try:',
  'except:',
  'except* ',
  'finally:',
  'with ',
  'as ',
  'match ',
  'case ',
  'case _:',
  'type ',
  'print ',
  'exec ',
  'eval',
  '__class__',
  '.__class__',
  'open',
  'é',
  'ｅ',
  'ﬁ',
  '😀',
  '\\x41',
  '\\N{DIGIT ONE}',
  '{x!r}',
  '{x:>{y}}',
  '{0.a}',
];

/** The sources that mutants are made of; honest ones come first, since their mutants are admitted more often. */
export interface Seeds {
  readonly honest: readonly string[];
  readonly attacks: readonly string[];
}

/** One mutant: one to three edits (insert, delete, copy, swap, splice of another source) of a source. */
export function mutant({ honest, attacks }: Seeds, random: () => number): string {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  let text = pick(random() < 0.75 ? honest : attacks);
  const edits = random() < 0.7 ? 1 : 2 + Math.floor(random() * 2);
  for (let edit = 0; edit < edits; edit += 1) {
    const at = Math.floor(random() * (text.length + 1));
    const length = 1 + Math.floor(random() * 12);
    const kind = random();
    if (kind < 0.4) text = text.slice(0, at) + pick(SPLICES) + text.slice(at);
    else if (kind < 0.55) text = text.slice(0, at) + text.slice(at + length);
    else if (kind < 0.65) text = text.slice(0, at) + text.slice(at, at + length) + text.slice(at);
    else if (kind < 0.85) text = replacedToken(text, at, pick(SPLICES));
    else {
      const other = pick(random() < 0.5 ? honest : attacks);
      const from = Math.floor(random() * other.length);
      text = text.slice(0, at) + other.slice(from, from + length * 4) + text.slice(at);
    }
  }
  return text;
}

/** Replaces the word or sign at an offset. */
function replacedToken(text: string, at: number, by: string): string {
  const isWord = (index: number) => /\w/.test(text[index] ?? '');
  let start = at;
  let end = at + 1;
  if (isWord(at)) {
    while (start > 0 && isWord(start - 1)) start -= 1;
    while (end < text.length && isWord(end)) end += 1;
  }
  return text.slice(0, start) + by + text.slice(end);
}
