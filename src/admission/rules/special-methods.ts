import type { JudgedSource } from '../judged-source.ts';
import { decodedString } from '../python-string.ts';
import { childOf, partsOf, type SyntaxNode } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

const BINARY = 'add sub mul truediv floordiv mod divmod pow lshift rshift and xor or'.split(' ');

/** The special methods that a class may define, without their underscores. */
const METHODS: ReadonlySet<string> = new Set([
  ...'init post_init repr str eq ne lt le gt ge hash bool len iter next contains getitem setitem'.split(' '),
  ...'int float call enter exit neg pos abs invert round'.split(' '),
  ...BINARY,
  ...BINARY.map((name) => `r${name}`),
  ...BINARY.filter((name) => name !== 'divmod').map((name) => `i${name}`),
]);

/** A text, or a tuple or list of texts, none of which is a special name. */
function arePlainSlots(value: SyntaxNode | null, source: string): boolean {
  if (value === null) return false;
  const items = ['tuple', 'list', 'expression_list'].includes(value.type) ? partsOf(value) : [value];
  return items.every((item) => {
    const text = decodedString(item, source);
    return text !== null && !text.startsWith('__');
  });
}

const isAdmittedMethod = (name: string) => METHODS.has(/^__(\w+)__$/.exec(name)?.[1] ?? '');

/** Whether an assignment in a class body gives an admitted method a second admitted name: `__radd__ = __add__`. */
export function isMethodAlias(assignment: SyntaxNode | null, judged: JudgedSource): boolean {
  if (assignment?.type !== 'assignment' || assignment.parent?.type !== 'expression_statement') return false;
  const [left, right, more] = partsOf(assignment);
  if (left?.type !== 'identifier' || right?.type !== 'identifier' || more !== undefined) return false;
  const [own] = judged.candidates(right).names;
  const isMethod = own?.scope.kind === 'class' && own.bindings.every(({ kind }) => kind === 'def');
  return isMethod && isAdmittedMethod(left.text) && isAdmittedMethod(right.text);
}

export const specialMethods: Rule = {
  id: 'attribute',
  title: 'Special methods',
  reason:
    'Some special methods run where no call is seen, or hand the interpreter a value to trust: __getattr__, ' +
    '__reduce__, __set_name__, __init_subclass__, __class_getitem__, __del__, __format__.',
  hint: 'Define only arithmetic, comparison, container, conversion, call and with methods; name others plainly.',
  on: ['identifier'],
  visit(node, judged, refuse) {
    const binding = judged.binding(node);
    if (binding?.scope.kind !== 'class' || !binding.name.startsWith('__')) return;
    if (binding.name === '__slots__') {
      const assignment = binding.node.parent;
      const value = assignment?.type === 'assignment' ? childOf(assignment, 'right') : null;
      if (arePlainSlots(value, judged.source.text)) return;
      refuse(node, '__slots__', '__slots__ must be written out as texts.', 'Write __slots__ = ("a", "b").');
    } else if (binding.kind === 'def') {
      if (isAdmittedMethod(binding.name)) return;
      refuse(node, binding.name, 'This special method may not be defined.');
    }
  },
};
