import type { TextRule } from './rule.ts';

/** The most bytes a function may have in UTF-8. */
export const MAX_SOURCE_BYTES = 64 * 1024;

/** A run of continued lines costs the parser quadratic time; no person or model writes so many. */
const MAX_LINE_CONTINUATIONS = 200;

export const sourceSize: TextRule = {
  id: 'syntax',
  title: 'Size of the source',
  reason: 'A bound on the source bounds the time and memory of everything after it.',
  hint: 'Write a shorter function: read tables and constants from data instead of writing them out.',
  check(text, refuse) {
    const bytes = Buffer.byteLength(text, 'utf8');
    if (bytes > MAX_SOURCE_BYTES) {
      refuse(0, 'size', `The function is larger than ${MAX_SOURCE_BYTES} bytes.`);
      return;
    }
    let count = 0;
    for (let at = text.indexOf('\\\n'); at !== -1; at = text.indexOf('\\\n', at + 1)) {
      count += 1;
      if (count <= MAX_LINE_CONTINUATIONS) continue;
      refuse(
        at,
        'line continuations',
        `The function has more than ${MAX_LINE_CONTINUATIONS} continued lines.`,
        'Use parentheses around an expression that goes over several lines.',
      );
      return;
    }
  },
};
