import type { Rule } from './rule.ts';

const EVALUATORS: ReadonlySet<string> = new Set([
  'string.Formatter',
  'string.Template',
  'typing.get_type_hints',
  'typing.ForwardRef',
]);

/** Whether a member walks attributes or runs code that stands in a string. */
export function evaluatesStrings(module: string, name: string): boolean {
  return EVALUATORS.has(`${module}.${name}`);
}

export const stringEvaluators: Rule = {
  id: 'string',
  title: 'Members that evaluate strings',
  reason:
    'string.Formatter walks attributes named in a string (CVE-2026-76825); typing.get_type_hints runs annotations ' +
    'that are strings.',
  hint: 'Use an f-string with the values written out.',
  on: ['attribute', 'dotted_name'],
  visit(node, judged, refuse) {
    if (node.parent?.type.includes('import') === true) return;
    for (const { module, name } of judged.membersOf(node)) {
      if (!evaluatesStrings(module, name) || judged.modules.admits(module, name)) continue;
      refuse(node, `${module}.${name}`, `This member of ${module} evaluates strings.`);
      return;
    }
  },
};
