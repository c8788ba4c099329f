import type { TextRule } from './rule.ts';

/** PEP 263 reads a cookie on the first two lines only. */
const COOKIE_LINES = 2;

export const codingCookie: TextRule = {
  id: 'syntax',
  title: 'Encoding declarations',
  reason:
    'PEP 263: CPython decodes a source by the encoding that its first lines name. In UTF-7 a comment can hold an ' +
    'import that no reader of the text sees.',
  hint: 'Remove the comment: a function is always UTF-8.',
  check(text, refuse) {
    let start = 0;
    for (let line = 0; line < COOKIE_LINES; line += 1) {
      const end = text.indexOf('\n', start);
      if (end === -1) return;
      const hash = text.indexOf('#', start);
      if (hash !== -1 && hash < end && /coding[:=]/.test(text.slice(hash, end))) {
        refuse(hash, 'coding', 'The encoding of the source is declared in a comment.');
      }
      start = end + 1;
    }
  },
};
