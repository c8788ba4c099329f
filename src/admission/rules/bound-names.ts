import { ADMITTED_BUILTINS, BUILTIN_HINTS, REFUSED_BUILTINS } from '../builtins.ts';
import type { Rule } from './rule.ts';

export const boundNames: Rule = {
  id: 'name',
  title: 'Names that are read',
  reason:
    'A name that is read must be bound in the source or be an admitted builtin. A refused builtin stays refused ' +
    'wherever a binding may be missing at run time.',
  hint: 'Define the name before it is used, import it from an admitted module, or use another builtin.',
  on: ['identifier'],
  visit(node, judged, refuse) {
    const load = judged.load(node);
    // Names with two underscores have a rule of their own.
    if (load === null || load.name.startsWith('__')) return;
    if (REFUSED_BUILTINS.has(load.name)) {
      refuse(node, load.name, `The builtin ${load.name} is not admitted.`, BUILTIN_HINTS.get(load.name));
      return;
    }
    if (judged.candidates(node).names.length > 0 || ADMITTED_BUILTINS.has(load.name)) return;
    const hint = BUILTIN_HINTS.get(load.name);
    refuse(node, load.name, 'This name is neither defined in the function nor an admitted builtin.', hint);
  },
};
