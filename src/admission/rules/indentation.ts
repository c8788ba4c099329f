import type { Rule } from './rule.ts';

export const indentation: Rule = {
  id: 'syntax',
  title: 'Tabs after spaces in an indent',
  reason:
    'CPython rounds a tab up to the next multiple of eight, the parser adds eight: after spaces the two can see ' +
    'different blocks. Tabs alone, spaces alone, and tabs before spaces are fine.',
  hint: 'Indent with four spaces.',
  on: ['*'],
  visit(node, judged, refuse) {
    if (node.children.length > 0 || node.type === 'string_content' || node.type === 'string_end') return;
    const { text } = judged.source;
    let at = node.start;
    while (at > 0 && (text[at - 1] === ' ' || text[at - 1] === '\t')) at -= 1;
    if (at > 0 && text[at - 1] !== '\n') return;
    if (/ \t/.test(text.slice(at, node.start)))
      refuse(node, 'tabs', 'A tab stands after a space in the indent.');
  },
};
