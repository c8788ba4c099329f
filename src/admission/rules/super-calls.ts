import { argumentsOf, childOf, type SyntaxNode } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

/** Whether an identifier is the `super` of `super().__init__(…)`. */
export function isSuperInit(node: SyntaxNode): boolean {
  const call = node.parent;
  const attribute = call?.parent;
  if (node.field !== 'function' || call?.type !== 'call' || attribute?.type !== 'attribute') return false;
  if (argumentsOf(call).length > 0 || call.field !== 'object') return false;
  if (childOf(attribute, 'attribute')?.text !== '__init__') return false;
  return attribute.field === 'function' && attribute.parent?.type === 'call';
}

export const superCalls: Rule = {
  id: 'name',
  title: 'super',
  reason: 'super() reaches methods of every base, the special ones included.',
  hint: 'Use super().__init__(…), or call a helper function instead of the method of the base class.',
  on: ['identifier'],
  visit(node, judged, refuse) {
    if (!judged.isBuiltin(node, 'super') || isSuperInit(node)) return;
    refuse(node, 'super', 'super may only be used as super().__init__(…).');
  },
};
