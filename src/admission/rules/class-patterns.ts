import { partsOf } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

/** `Name.attr`, and no further. */
const MAX_PARTS = 2;

export const classPatterns: Rule = {
  id: 'attribute',
  title: 'Names in patterns',
  reason: 'A pattern such as case a.b.c reads attributes without an attribute expression.',
  hint: 'Use a name, Name.attr, a literal, or compare in a guard: case x if x == value.',
  on: ['dotted_name'],
  visit(node, _judged, refuse) {
    if (node.parent?.type.includes('import') === true) return;
    if (partsOf(node).length > MAX_PARTS) {
      refuse(node, node.text, 'A pattern may name at most Name.attr.');
    }
  },
};
