import type { Rule } from './rule.ts';

const KEYWORDS = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from ' +
    'global if import in is lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

export const identifiers: Rule = {
  id: 'syntax',
  title: 'Spelling of names',
  reason:
    'CPython folds names to their NFKC form: full-width letters spelling "open" are open. A name must be written ' +
    'as it is read. Strings are never folded.',
  hint: 'Write the name in its plain form.',
  on: ['identifier'],
  visit(node, _judged, refuse) {
    if (node.text !== node.text.normalize('NFKC')) {
      refuse(node, node.text.normalize('NFKC'), 'CPython reads this name as another one (NFKC).');
    } else if (KEYWORDS.has(node.text)) {
      refuse(node, node.text, 'A keyword stands here as a name.', 'Use another name.');
    }
  },
};
