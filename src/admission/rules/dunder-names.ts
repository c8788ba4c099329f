import { BUILTIN_HINTS } from '../builtins.ts';
import type { Rule } from './rule.ts';
import { isMethodAlias } from './special-methods.ts';

export const dunderNames: Rule = {
  id: 'name',
  title: 'Names with two leading underscores',
  reason:
    'Such names reach the interpreter, and as parameters and imports they have been forgotten before ' +
    '(CVE-2026-55830). Special methods of a class have a rule of their own.',
  hint: 'Use a name without two leading underscores; __name__ may be read.',
  on: ['identifier'],
  visit(node, judged, refuse) {
    if (!node.text.startsWith('__')) return;
    const load = judged.load(node);
    const binding = judged.binding(node);
    if (isMethodAlias(node.parent, judged)) return;
    if (load !== null && load.name !== '__name__') {
      const hint = BUILTIN_HINTS.get(load.name);
      refuse(node, load.name, 'A name with two leading underscores may not be read.', hint);
    } else if (binding !== null) {
      // Methods and __slots__ of a class: see the rule on special methods.
      const inClass = binding.scope.kind === 'class';
      if (inClass && (binding.kind === 'def' || binding.name === '__slots__')) return;
      refuse(node, binding.name, 'A name with two leading underscores may not be bound.');
    }
  },
};
