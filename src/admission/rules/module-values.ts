import type { SyntaxNode } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

/** Whether a node is followed by `.name`, also in a pattern. */
function isDotted(node: SyntaxNode): boolean {
  const parent = node.parent;
  if (parent?.type === 'attribute') return node.field === 'object';
  return parent?.type === 'dotted_name' && parent.children[0] === node && parent.children.length > 1;
}

export const moduleValues: Rule = {
  id: 'attribute',
  title: 'Modules as values',
  reason:
    'A module that is assigned, passed, stored or matched can be walked under another name. So it may only stand ' +
    'to the left of a dot, and its name is bound by imports only.',
  hint: 'Write module.name where the member is used, or import the member: from module import name.',
  on: ['identifier', 'attribute'],
  visit(node, judged, refuse) {
    const binding = node.type === 'identifier' ? judged.binding(node) : null;
    if (binding !== null) {
      const owner = binding.scope.nonlocals.has(binding.name)
        ? binding.scope.nonlocalOwner(binding.name)
        : binding.scope;
      const name = owner?.names.get(binding.name);
      if (name === undefined || judged.summary(name).isConstantModule) return;
      refuse(node, binding.name, 'The name of a module is bound to something else as well.');
      return;
    }
    const [module] = judged.modulesOf(node);
    if (module !== undefined && !isDotted(node)) {
      refuse(node, module, 'A module may not be used as a value.');
    }
  },
};
