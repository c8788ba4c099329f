import { BUILTIN_CLASSES } from '../builtins.ts';
import type { JudgedSource } from '../judged-source.ts';
import { isClassBase, useOf } from '../node-places.ts';
import type { Binding } from '../scope.ts';
import { argumentsOf, childOf, partsOf, type SyntaxNode, unwrapped, wrapped } from '../syntax-tree.ts';
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

/** Whether an operand is a class or a collection of classes, so that comparing calls no method of an instance. */
function isClassOperand(operand: SyntaxNode, judged: JudgedSource): boolean {
  const node = unwrapped(operand);
  switch (node.type) {
    case 'none':
      return true;
    case 'tuple':
    case 'list':
    case 'set':
      return partsOf(node).every((part) => isClassOperand(part, judged));
    case 'call': {
      const callee = childOf(node, 'function');
      return callee !== null && judged.isBuiltin(callee, 'type');
    }
    case 'attribute':
      return judged.membersOf(node).length > 0;
    default: {
      if (judged.classOf(node) !== null) return true;
      if (BUILTIN_CLASSES.has(node.text) && judged.isSurelyBuiltin(node, node.text)) return true;
      const name = node.type === 'identifier' ? judged.soleName(node) : null;
      if (name === null) return false;
      return judged.once('classes only', name, () => {
        if (!name.bindings.every((binding) => isClassBinding(binding, judged))) return false;
        // A list or set under a name can be given other elements later.
        const isFixed = ({ value }: Binding) => value?.type !== 'list' && value?.type !== 'set';
        return name.bindings.every(isFixed) || judged.loadsOf(name).every((load) => isLookedUp(load.node));
      });
    }
  }
}

/** An import of a member, or `name = type(x)` or `name = {int, str}`. */
function isClassBinding({ kind, value, imported }: Binding, judged: JudgedSource): boolean {
  if (kind === 'import') return imported?.name !== null;
  if (kind !== 'assign' || value === null || value.type === 'identifier') return false;
  return isClassOperand(value, judged);
}

/** `is` calls nothing; the other comparisons may call a method of the other operand. */
function isPlainComparison(node: SyntaxNode, judged: JudgedSource): boolean {
  const operators = node.children.filter(({ field }) => field === 'operators');
  if (operators.every(({ type }) => type === 'is' || type === 'is not')) return true;
  return partsOf(node).every((operand) => isClassOperand(operand, judged));
}

/** A dictionary of classes, or a name that is always one: looking up in it calls no method of the source. */
function isDictionary(node: SyntaxNode | null, judged: JudgedSource): boolean {
  if (node?.type === 'dictionary') {
    return partsOf(node).every((pair) => {
      const key = pair.type === 'pair' ? childOf(pair, 'key') : null;
      return key !== null && isClassOperand(key, judged);
    });
  }
  const name = node?.type === 'identifier' ? judged.soleName(node) : null;
  if (name === null) return false;
  return judged.once('dictionary of classes', name, () => {
    const isWritten = ({ kind, value }: Binding) =>
      kind === 'assign' && value?.type === 'dictionary' && isDictionary(value, judged);
    return name.bindings.every(isWritten) && judged.loadsOf(name).every((load) => isLookedUp(load.node));
  });
}

/** Whether a collection is only asked where it stands: `x in kinds`, `kinds[x]`, `kinds.get(x)`. */
function isLookedUp(node: SyntaxNode): boolean {
  const at = wrapped(node);
  const parent = at.parent;
  if (parent?.type === 'comparison_operator') return true;
  if (parent?.type === 'subscript') return at.field === 'value' && useOf(parent) === 'load';
  const called =
    parent?.type === 'attribute' && parent.field === 'function' && parent.parent?.type === 'call';
  return called && at.field === 'object' && childOf(parent, 'attribute')?.text === 'get';
}

/** Whether the value at a node is used up where it stands: named, compared, printed or looked up by. */
function isUsedUp(node: SyntaxNode, judged: JudgedSource): boolean {
  const at = wrapped(node);
  const parent = at.parent;
  switch (parent?.type) {
    case 'attribute':
      return at.field === 'object' && childOf(parent, 'attribute')?.text === '__name__';
    case 'comparison_operator':
      return isPlainComparison(parent, judged);
    case 'interpolation':
      return true;
    case 'subscript':
      return (
        at.field === 'subscript' && useOf(parent) === 'load' && isDictionary(childOf(parent, 'value'), judged)
      );
    case 'tuple':
      return judged.isClassTest(at);
    case 'argument_list': {
      const callee = parent.parent ? childOf(parent.parent, 'function') : null;
      if (callee === null) return false;
      if (callee.type !== 'attribute') return CONSUMERS.some((name) => judged.isSurelyBuiltin(callee, name));
      return childOf(callee, 'attribute')?.text === 'get' && isDictionary(childOf(callee, 'object'), judged);
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
  // The name of a class body is an attribute of the class as well.
  if (name === undefined || name.scope.kind === 'class') return false;
  if (at.parent?.parent?.type !== 'expression_statement') return false;
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
    if (isClassBase(at)) return;
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
