import { inAnnotation } from '../annotations.ts';
import { wrapped } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

export const annotationOnly: Rule = {
  id: 'name',
  title: 'typing.Type',
  reason: 'typing.Type holds type itself and calls it once a flag of it is set.',
  hint: 'Use Type[...] in annotations only, or leave the annotation out.',
  on: ['identifier', 'attribute', 'dotted_name'],
  visit(node, judged, refuse) {
    if (!judged.mayBe(node, 'typing', ['Type'])) return;
    if (node.type !== 'dotted_name' && inAnnotation(wrapped(node), judged)) return;
    refuse(node, 'Type', 'typing.Type may only stand in an annotation.');
  },
};
