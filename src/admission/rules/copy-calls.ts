import { argumentsOf, partsOf, type SyntaxNode, wrapped } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

const isPlain = (argument: SyntaxNode) => !/^(?:keyword_argument|.*_splat)$/.test(argument.type);

export const copyCalls: Rule = {
  id: 'attribute',
  title: 'copy and deepcopy',
  reason:
    'deepcopy asks its second argument, the memo, for the copies: one of the source answers with a class and a ' +
    'state of its own, and so sets any attribute of any object.',
  hint: 'Write copy.deepcopy(value) with one argument, in a comprehension for several values.',
  on: ['identifier', 'attribute'],
  visit(node, judged, refuse) {
    if (!judged.mayBe(node, 'copy', ['copy', 'deepcopy'])) return;
    const at = wrapped(node);
    const parent = at.parent;
    if (parent?.type === 'call' && at.field === 'function') {
      const [value, second] = argumentsOf(parent);
      if (value !== undefined && second === undefined && isPlain(value)) return;
    } else if (parent?.type === 'argument_list' && parent.parent !== null) {
      // map(deepcopy, rows) passes one value at a time.
      const [callee] = partsOf(parent.parent);
      const [first, rows, more] = argumentsOf(parent.parent);
      const isMap = callee !== undefined && judged.isSurelyBuiltin(callee, 'map');
      if (isMap && first === at && rows !== undefined && isPlain(rows) && more === undefined) return;
    }
    refuse(node, node.text, 'copy and deepcopy may only be called with one argument.');
  },
};
