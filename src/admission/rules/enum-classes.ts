import { inAnnotation } from '../annotations.ts';
import type { JudgedSource } from '../judged-source.ts';
import { isClassBase } from '../node-places.ts';
import { decodedString } from '../python-string.ts';
import { argumentsOf, childOf, partsOf, type SyntaxNode, wrapped } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

const ENUM_NAMES = ['Enum', 'IntEnum', 'StrEnum', 'Flag', 'IntFlag'];
const LITERALS = new Set(
  'integer float string concatenated_string true false tuple list dictionary set expression_list'.split(' '),
);

/** How many classes of the source an enumeration may derive through; past it a class counts as one. */
const MAX_BASES = 50;

/** Whether a class of the source is an enumeration, also by its bases' bases. */
function isEnumClass(definition: SyntaxNode, judged: JudgedSource, depth = 0): boolean {
  if (depth > MAX_BASES) return true;
  return judged.once('enum class', definition, () => {
    const list = childOf(definition, 'superclasses');
    return (list ? partsOf(list) : []).some((base) => {
      if (judged.mayBe(base, 'enum', ENUM_NAMES)) return true;
      return judged.classesOf(base).some((other) => isEnumClass(other, judged, depth + 1));
    });
  });
}

/** Whether a class is an enumeration that has no members, so that a call of it makes a new one. */
function isMemberless(definition: SyntaxNode | null, judged: JudgedSource): boolean {
  if (definition === null) return false;
  return judged.once(
    'memberless',
    definition,
    () => isEnumClass(definition, judged) && !hasMember(definition, judged),
  );
}

/** Classes whose instances are plain values: neither functions nor descriptors. */
const VALUE_CLASSES = {
  decimal: ['Decimal'],
  fractions: ['Fraction'],
  datetime: ['date', 'datetime', 'time', 'timedelta', 'timezone'],
  uuid: ['UUID'],
  enum: ['auto'],
};
const VALUE_BUILTINS = ['bytes', 'dict', 'float', 'frozenset', 'int', 'list', 'set', 'str', 'tuple'];

/** Whether a value surely makes a member: functions and other descriptors do not. */
function isMemberValue(value: SyntaxNode, judged: JudgedSource): boolean {
  switch (value.type) {
    case 'unary_operator':
    case 'binary_operator':
      return partsOf(value).every((part) => isMemberValue(part, judged));
    case 'identifier': {
      const [binding, another] = judged.soleName(value)?.bindings ?? [];
      const literal = binding?.kind === 'assign' && another === undefined ? binding.value : null;
      return literal !== null && LITERALS.has(literal.type);
    }
    case 'call': {
      const callee = childOf(value, 'function');
      if (callee === null) return false;
      if (judged.isSurely(callee, VALUE_CLASSES)) return true;
      return VALUE_BUILTINS.some((name) => judged.isSurelyBuiltin(callee, name));
    }
    default:
      return LITERALS.has(value.type);
  }
}

function hasMember(definition: SyntaxNode, judged: JudgedSource): boolean {
  const body = childOf(definition, 'body');
  return (body ? partsOf(body) : []).some((statement) => {
    const [assignment] = statement.type === 'expression_statement' ? partsOf(statement) : [];
    const left = assignment?.type === 'assignment' ? childOf(assignment, 'left') : null;
    const right = assignment ? childOf(assignment, 'right') : null;
    if (left?.type !== 'identifier' || right === null) return false;
    return !left.text.startsWith('_') && isMemberValue(right, judged);
  });
}

const isPlainName = (text: string | null) =>
  text !== null && /^[A-Za-z][A-Za-z0-9_ ,]*$/.test(text) && !/[ ,]_/.test(text);

/** `Enum("Color", "RED GREEN")`: the names of the members are literals that start with a letter. */
function isPlainFunctionalCall(call: SyntaxNode, judged: JudgedSource): boolean {
  const text = (node: SyntaxNode) => decodedString(node, judged.source.text);
  const [name, members, more] = argumentsOf(call);
  if (name === undefined || members === undefined || more !== undefined || !isPlainName(text(name))) {
    return false;
  }
  if (members.type === 'string' || members.type === 'concatenated_string') return isPlainName(text(members));
  if (members.type === 'dictionary') {
    return partsOf(members).every((pair) => {
      const key = pair.type === 'pair' ? childOf(pair, 'key') : null;
      return key !== null && isPlainName(text(key));
    });
  }
  if (members.type !== 'list' && members.type !== 'tuple') return false;
  return partsOf(members).every((member) => isPlainName(text(member)));
}

/** Whether an enumeration stands where nothing can call it with names. */
function isHarmless(at: SyntaxNode, judged: JudgedSource): boolean {
  if (isClassBase(at) || judged.isClassTest(at) || inAnnotation(at, judged)) return true;
  return at.field === 'function' && at.parent?.type === 'call' && isPlainFunctionalCall(at.parent, judged);
}

export const enumClasses: Rule = {
  id: 'structure',
  title: 'Enumerations',
  reason:
    'An enumeration without members, called with a dictionary, makes a class whose methods are the values under ' +
    'its keys: strings that may be any special method. In a class body it would be had by an attribute as well.',
  hint: 'Write class Color(Enum): with the members as RED = 1 in it.',
  on: ['identifier', 'attribute'],
  visit(node, judged, refuse) {
    if (node.type === 'identifier' && judged.load(node) === null) {
      const binding = judged.binding(node);
      const owner = binding?.scope.kind === 'class' ? binding.scope.node : null;
      if (owner !== null && binding?.kind === 'class' && isMemberless(binding.value, judged)) {
        refuse(
          node,
          node.text,
          'An enumeration without members may not stand in a class.',
          'Move it to the top.',
        );
      }
      if (node.text === '_ignore_' && owner !== null && isEnumClass(owner, judged)) {
        refuse(node, '_ignore_', 'An enumeration may not drop members by _ignore_.', 'Leave the member out.');
      }
      return;
    }
    const memberless = judged.classesOf(node).some((definition) => isMemberless(definition, judged));
    if (!memberless && !judged.mayBe(node, 'enum', ENUM_NAMES)) return;
    if (isHarmless(wrapped(node), judged)) return;
    refuse(
      node,
      node.text,
      'An enumeration without members may only be a base class or be called with literals.',
    );
  },
};
