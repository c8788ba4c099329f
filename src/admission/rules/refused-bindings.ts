import { REFUSED_BUILTINS } from '../builtins.ts';
import type { Rule } from './rule.ts';

/** Bindings that leave a field on a class and no name that code could call. */
const FIELD_KINDS = new Set(['declare', 'assign', 'def']);

export const refusedBindings: Rule = {
  id: 'name',
  title: 'Names that are taken',
  reason:
    'A refused builtin may not be bound either: a binding on some path only would let the builtin through. ' +
    'A field of a class may have such a name (open: float).',
  hint: 'Use another name, such as open_price for open or mapping for vars.',
  on: ['identifier'],
  visit(node, judged, refuse) {
    const binding = judged.binding(node);
    if (binding === null) return;
    const refused = REFUSED_BUILTINS.has(binding.name) || binding.name === 'super';
    if (!refused || (binding.scope.kind === 'class' && FIELD_KINDS.has(binding.kind))) return;
    refuse(node, binding.name, `The name ${binding.name} may not be bound.`);
  },
};
