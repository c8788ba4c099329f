import { BUILTIN_BASES } from '../builtins.ts';
import type { JudgedSource } from '../judged-source.ts';
import type { Binding } from '../scope.ts';
import { childOf, partsOf, type SyntaxNode } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

/** Calls that make a class which may be derived from. */
const CLASS_MAKERS = { collections: ['namedtuple'], typing: ['NamedTuple', 'TypedDict'] };

/** Whether a binding surely gives a class: a class of the source, an imported member, a named tuple. */
function givesClass(binding: Binding, judged: JudgedSource): boolean {
  if (binding.kind === 'class') return true;
  if (binding.kind === 'import') return binding.imported?.name !== null;
  if (binding.kind !== 'assign' || binding.value?.type !== 'call') return false;
  const callee = childOf(binding.value, 'function');
  return callee !== null && judged.isSurely(callee, CLASS_MAKERS);
}

function isClass(base: SyntaxNode, judged: JudgedSource): boolean {
  if (base.type === 'attribute') {
    const object = partsOf(base)[0];
    return object !== undefined && judged.modulesOf(object).length > 0;
  }
  if (base.type !== 'identifier') return false;
  const { names, builtin } = judged.candidates(base);
  if (names.length === 0) return builtin && BUILTIN_BASES.has(base.text);
  return names.every((name) =>
    judged.once('gives class', name, () => name.bindings.every((binding) => givesClass(binding, judged))),
  );
}

export const classBases: Rule = {
  id: 'structure',
  title: 'Base classes',
  reason:
    'A base that is computed can be a metaclass: class M(type(int)). So a base is a builtin class, a class of the ' +
    'source, a named tuple of the source or module.name.',
  hint: 'Name the base class directly, or leave it out.',
  on: ['class_definition'],
  visit(node, judged, refuse) {
    const list = node.children.find((child) => child.field === 'superclasses');
    for (const base of list ? partsOf(list) : []) {
      if (base.type === 'keyword_argument' || isClass(base, judged)) continue;
      const name = base.type === 'identifier' ? base.text : base.type.replaceAll('_', ' ');
      refuse(base, `base ${name}`, 'A base class must be the plain name of a class.');
    }
  },
};
