import { BUILTIN_CLASSES } from '../builtins.ts';
import type { JudgedSource } from '../judged-source.ts';
import { argumentsOf, childOf, partsOf, type SyntaxNode, wrapped } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

/** Builtins that take a type and do not hand it on. */
const CONSUMERS = ['str', 'repr', 'print', 'isinstance', 'issubclass', 'hash', 'callable'];

/** Whether an expression is a class for sure, so that its type is `type` itself. */
function isClass(argument: SyntaxNode, judged: JudgedSource): boolean {
  if (argument.type === 'call') {
    const callee = childOf(argument, 'function');
    return callee !== null && judged.isBuiltin(callee, 'type');
  }
  if (judged.membersOf(argument).length > 0 || judged.classOf(argument) !== null) return true;
  return BUILTIN_CLASSES.has(argument.text) && judged.isBuiltin(argument, argument.text);
}

/** Whether the value at a node is used up where it stands: named, compared, printed or looked up by. */
function isUsedUp(node: SyntaxNode, judged: JudgedSource): boolean {
  const at = wrapped(node);
  const parent = at.parent;
  if (parent === null) return false;
  switch (parent.type) {
    case 'attribute':
      return at.field === 'object' && childOf(parent, 'attribute')?.text === '__name__';
    case 'comparison_operator':
    case 'interpolation':
      return true;
    case 'subscript':
      return at.field === 'subscript' && judged.inLoad(parent);
    case 'argument_list': {
      const callee = parent.parent ? childOf(parent.parent, 'function') : null;
      if (callee === null) return false;
      if (callee.type === 'attribute') return childOf(callee, 'attribute')?.text === 'get';
      return CONSUMERS.some((name) => judged.isBuiltin(callee, name));
    }
    default:
      return false;
  }
}

/** `kind = type(x)`, where every use of `kind` uses it up. */
function isUsedUpName(call: SyntaxNode, judged: JudgedSource): boolean {
  const at = wrapped(call);
  const left = at.field === 'right' && at.parent?.type === 'assignment' ? childOf(at.parent, 'left') : null;
  const binding = left === null ? null : judged.binding(left);
  const name = binding?.scope.names.get(binding.name);
  if (name === undefined || at.parent?.parent?.type !== 'expression_statement') return false;
  return judged.once('type used up', name, () =>
    judged.loadsOf(name).every((load) => isUsedUp(load.node, judged)),
  );
}

export const typeCalls: Rule = {
  id: 'name',
  title: 'type',
  reason:
    'type with three arguments makes a class out of strings, and type(type(x)) and type(int) are type itself. So ' +
    'only type(x) is admitted, and only where the type is named, compared or looked up by.',
  hint: 'Use isinstance(x, …), or type(x).__name__ for the name of the type.',
  on: ['identifier'],
  visit(node, judged, refuse) {
    if (!judged.isBuiltin(node, 'type')) return;
    const at = wrapped(node);
    // A base class: see the rule on metaclasses.
    if (judged.isClassBase(at)) return;
    const call = at.field === 'function' && at.parent?.type === 'call' ? at.parent : null;
    if (call === null) {
      refuse(node, 'type', 'type may only be called as type(x).');
      return;
    }
    const [argument, second] = argumentsOf(call);
    const plain = argument !== undefined && second === undefined && partsOf(call).length === 2;
    if (!plain || /^(?:keyword_argument|.*_splat|generator_expression)$/.test(argument.type)) {
      refuse(node, 'type', 'type may only be called with one argument.');
    } else if (isClass(argument, judged)) {
      refuse(node, 'type', 'The type of a class may not be taken.');
    } else if (!isUsedUp(call, judged) && !isUsedUpName(call, judged)) {
      refuse(node, 'type', 'The result of type(x) may not be passed on or called.');
    }
  },
};
