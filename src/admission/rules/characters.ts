import type { TextRule } from './rule.ts';

/** First and last code point of each refused range. */
const REFUSED_RANGES: readonly (readonly [number, number])[] = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0x61c, 0x61c],
  [0x200b, 0x200f],
  [0x2028, 0x2029],
  [0x202a, 0x202e],
  [0x2060, 0x2069],
  [0xd800, 0xdfff],
  [0xfeff, 0xfeff],
];

/** Every rule's refusals are bounded; a binary file would have thousands. */
const MAX_REPORTED = 20;

export const characters: TextRule = {
  id: 'syntax',
  title: 'Refused characters',
  reason:
    'A lone carriage return ends a line for CPython but not for the parser that judges the source, so a comment ' +
    'could hide an import; controls, bidirectional and zero-width characters make code read as what it is not ' +
    '(CVE-2021-42574).',
  hint: 'Remove the character, or write it as an escape such as "\\u200b" inside a string.',
  check(text, refuse) {
    let reported = 0;
    for (let at = 0; at < text.length && reported < MAX_REPORTED; at += 1) {
      const code = text.codePointAt(at) ?? 0;
      if (code === 9 || code === 10 || (code >= 0x20 && code < 0x7f)) continue;
      if (code > 0xffff) at += 1;
      else if (REFUSED_RANGES.some(([first, last]) => code >= first && code <= last)) {
        const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
        refuse(at, name, `The character ${name} may not stand in a function.`);
        reported += 1;
      }
    }
  },
};
