import type { Rule } from './rule.ts';
import { evaluatesStrings } from './string-evaluators.ts';

const HINTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    attrgetter: 'Use lambda row: row.name.',
    methodcaller: 'Use lambda text: text.method().',
    load: 'Use json.loads on a text.',
    dump: 'Use json.dumps and return the text.',
  }),
);

export const moduleMembers: Rule = {
  id: 'attribute',
  title: 'Members of modules',
  reason:
    'Innocent modules hold sys, os, enum, codecs and builtins as public attributes, so the table of the prompt ' +
    'pack lists what may be used of each.',
  hint: 'Use a member that the module is admitted for.',
  on: ['attribute', 'dotted_name', 'member_type'],
  visit(node, judged, refuse) {
    if (node.parent?.type.includes('import') === true) return;
    for (const { module, name } of judged.membersOf(node)) {
      if (judged.modules.admits(module, name) || judged.modules.has(`${module}.${name}`)) continue;
      if (evaluatesStrings(module, name)) continue;
      refuse(node, `${module}.${name}`, `This member of ${module} is not admitted.`, HINTS.get(name));
      return;
    }
  },
};
