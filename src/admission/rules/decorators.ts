import type { JudgedSource } from '../judged-source.ts';
import { assignedLiteral } from '../python-string.ts';
import { argumentsOf, childOf, partsOf, type SyntaxNode } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

const PLAIN_BUILTINS = ['property', 'staticmethod', 'classmethod'];
const PLAIN_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  dataclasses: ['dataclass'],
  functools: ['lru_cache', 'cache', 'total_ordering'],
  enum: ['unique'],
};
/** Decorators that may be called for their options. */
const CALLED_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  dataclasses: ['dataclass'],
  functools: ['lru_cache'],
};

const OPTIONS = new Set(['integer', 'none', 'true', 'false']);

/**
 * Whether the options of a decorator are plain values. lru_cache and dataclass take a function or a class in the
 * place of an option, and what they answer then is called with the definition below, as it is before any decorator.
 */
function isPlainCall(call: SyntaxNode, judged: JudgedSource): boolean {
  return argumentsOf(call).every((argument) => {
    const value = argument.type === 'keyword_argument' ? childOf(argument, 'value') : argument;
    if (value?.type !== 'identifier') return OPTIONS.has(value?.type ?? '');
    const literal = assignedLiteral(judged.soleName(value)?.bindings ?? []);
    return OPTIONS.has(literal?.type ?? '');
  });
}

/** `@x.setter` over `def x`, where the class body has defined `x` before. */
function isSetter(expression: SyntaxNode, decorated: SyntaxNode | null, judged: JudgedSource): boolean {
  const [object, attribute] = partsOf(expression);
  const definition = decorated === null ? null : childOf(decorated, 'definition');
  if (expression.type !== 'attribute' || object?.type !== 'identifier' || attribute?.text !== 'setter')
    return false;
  if (definition === null || childOf(definition, 'name')?.text !== object.text) return false;
  const [own] = judged.candidates(object).names;
  return (
    own?.scope.kind === 'class' &&
    judged.summary(own).kinds.size === 1 &&
    judged.summary(own).kinds.has('def')
  );
}

function isAdmitted(decorator: SyntaxNode, judged: JudgedSource): boolean {
  const [expression] = partsOf(decorator);
  if (expression === undefined) return false;
  if (expression.type === 'call') {
    const callee = childOf(expression, 'function');
    return callee !== null && judged.isSurely(callee, CALLED_MEMBERS) && isPlainCall(expression, judged);
  }
  if (expression.type === 'identifier' && PLAIN_BUILTINS.includes(expression.text)) {
    return judged.candidates(expression).names.length === 0;
  }
  return judged.isSurely(expression, PLAIN_MEMBERS) || isSetter(expression, decorator.parent, judged);
}

export const decorators: Rule = {
  id: 'syntax',
  title: 'Decorators',
  reason: 'A decorator is a call without parentheses: @exec over @str runs a text.',
  hint:
    "Use only dataclass, property, a property's setter, staticmethod, classmethod, lru_cache, cache, " +
    'total_ordering and unique, with plain options such as maxsize=None or frozen=True; call other functions in the body instead.',
  on: ['decorator'],
  visit(node, judged, refuse) {
    if (isAdmitted(node, judged)) return;
    const [expression] = partsOf(node);
    const callee = expression?.type === 'call' ? childOf(expression, 'function') : expression;
    refuse(node, `@${callee?.text ?? ''}`, 'This decorator is not admitted.');
  },
};
