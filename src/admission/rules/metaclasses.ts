import { partsOf } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

export const metaclasses: Rule = {
  id: 'syntax',
  title: 'Metaclasses and class keywords',
  reason:
    'A metaclass makes classes out of a dictionary whose keys are strings, so it defines any special method out ' +
    'of sight. The bases type and typing.Type make one without the keyword.',
  hint: 'Use plain base classes only.',
  on: ['class_definition'],
  visit(node, judged, refuse) {
    const list = node.children.find((child) => child.field === 'superclasses');
    for (const base of list ? partsOf(list) : []) {
      if (base.type === 'keyword_argument') {
        const keyword = partsOf(base)[0]?.text ?? '';
        refuse(
          base,
          `class keyword ${keyword}`,
          'A class may not have keyword arguments.',
          'Remove the keyword.',
        );
      } else if (judged.isBuiltin(base, 'type') || judged.mayBe(base, 'typing', ['Type'])) {
        refuse(base, 'metaclass', 'A class may not derive from type.', 'Remove the base class.');
      }
    }
  },
};
