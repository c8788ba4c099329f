import type { Rule } from './rule.ts';
import { evaluatesStrings } from './string-evaluators.ts';

/** What serves in place of members that honest code reaches for. */
export const MEMBER_HINTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    wraps: 'Leave the decorator out: call the function in the body.',
    cached_property: 'Use property, or compute the value in __init__.',
    singledispatch: 'Use isinstance or match in one function.',
    runtime_checkable: 'Leave it out, and the isinstance test with it.',
    overload: 'Leave it out: write one annotated function.',
    fields: 'Name the fields, or use dataclasses.asdict(x).',
    replace: 'Call the class with the new values.',
    make_dataclass: 'Write a class with @dataclass.',
    UserDict: 'Derive from dict.',
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
      const hint =
        MEMBER_HINTS.get(name) ?? judged.modules.offer(module) ?? 'Remove it together with its import.';
      refuse(node, `${module}.${name}`, `This member of ${module} is not admitted.`, hint);
      return;
    }
  },
};
