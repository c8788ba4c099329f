import type { Rule } from './rule.ts';

const DIGITS = '[0-9](?:_?[0-9])*';
const INTEGER =
  /^(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?0)*|[1-9](?:_?[0-9])*)$/;
const FLOAT = new RegExp(
  `^(?:(?:${DIGITS})?\\.${DIGITS}(?:[eE][+-]?${DIGITS})?|${DIGITS}\\.(?:[eE][+-]?${DIGITS})?|${DIGITS}[eE][+-]?${DIGITS})$`,
);
const IMAGINARY_INTEGER = new RegExp(`^${DIGITS}$`);
const STRING_START = /^(?:[rRuUbBfF]|[bB][rR]|[rR][bB]|[fF][rR]|[rR][fF])?(?:'''|"""|'|")$/;

function isNumber(text: string): boolean {
  if (/[jJ]$/.test(text)) {
    const body = text.slice(0, -1);
    return FLOAT.test(body) || IMAGINARY_INTEGER.test(body);
  }
  return INTEGER.test(text) || FLOAT.test(text);
}

export const literals: Rule = {
  id: 'syntax',
  title: 'Literals',
  reason: 'The parser also reads the numbers and string prefixes of Python 2 and of later versions.',
  hint: 'Write numbers as in Python 3, such as 10, 0o17 or 1_000, and strings with the prefixes r, b, f or none.',
  on: ['integer', 'float', 'string_start', 'string_content', 'type_conversion'],
  visit(node, _judged, refuse) {
    if (node.type === 'string_content') {
      const quotes = node.parent?.children[0]?.text ?? '';
      const broken = !/('''|""")$/.test(quotes) && /(?<!\\)(?:\\\\)*\n/.test(node.text);
      if (broken)
        refuse(node, 'line break', 'A text ends at the end of its line.', 'Use \\n or three quotes.');
    } else if (node.type === 'string_start') {
      if (!STRING_START.test(node.text)) refuse(node, 'string prefix', 'This string prefix is not admitted.');
    } else if (node.type === 'type_conversion') {
      if (!/^![rsa]$/.test(node.text)) {
        refuse(node, 'conversion', 'This conversion is not known.', 'Use !r, !s or !a.');
      }
    } else if (!isNumber(node.text)) refuse(node, 'number', 'This number is not valid in Python 3.');
  },
};
