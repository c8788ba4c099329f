import { argumentsOf, childOf, wrapped } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

const REFUSED_KEYWORDS = new Set(['file', 'flush']);

export const printCalls: Rule = {
  id: 'name',
  title: 'print',
  reason: 'print writes to any object that it is given as a file. What it prints is never the result.',
  hint: 'Call print(…) plainly, or remove it: only the value that compute returns counts.',
  on: ['identifier'],
  visit(node, judged, refuse) {
    if (!judged.isBuiltin(node, 'print')) return;
    const at = wrapped(node);
    if (at.field !== 'function' || at.parent?.type !== 'call') {
      refuse(node, 'print', 'print may only be called.');
      return;
    }
    for (const argument of argumentsOf(at.parent)) {
      const keyword = argument.type === 'keyword_argument' ? childOf(argument, 'name')?.text : undefined;
      if (argument.type === 'dictionary_splat' || (keyword !== undefined && REFUSED_KEYWORDS.has(keyword))) {
        refuse(argument, `print ${keyword ?? '**'}`, 'print may not be given a file, flush or **.');
      }
    }
  },
};
