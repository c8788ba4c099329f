import type { JudgedSource } from '../judged-source.ts';
import { childOf, partsOf, type SyntaxNode, unwrapped } from '../syntax-tree.ts';

const LITERALS = new Set([
  'dictionary',
  'dictionary_comprehension',
  'false',
  'float',
  'integer',
  'list',
  'list_comprehension',
  'set',
  'set_comprehension',
  'string',
  'true',
]);
const CONSTRUCTORS = ['bool', 'bytearray', 'dict', 'float', 'int', 'list', 'set', 'sorted', 'str', 'sum'];
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  collections: ['Counter', 'OrderedDict', 'defaultdict', 'deque'],
  decimal: ['Decimal'],
  fractions: ['Fraction'],
};

/**
 * Whether a name is surely bound to containers and numbers that the function made itself, so that a store into it
 * stores nothing into the data. What such a container holds may still be of the data.
 */
export function isFresh(expression: SyntaxNode, judged: JudgedSource): boolean {
  const node = unwrapped(expression);
  const name = node.type === 'identifier' ? judged.soleName(node) : null;
  if (name === null) return false;
  return judged.once('fresh', name, () =>
    name.bindings.every(({ kind, node: target, value }) => {
      if (kind === 'augment' || kind === 'declare') return true;
      const assigned = value ?? assignedBeside(target);
      return kind === 'assign' && assigned !== null && isMade(assigned, judged);
    }),
  );
}

/** The expression for one target of `a, b = {}, []`. */
function assignedBeside(target: SyntaxNode): SyntaxNode | null {
  const group = target.parent;
  const statement = group?.field === 'left' && group.parent?.type === 'assignment' ? group.parent : null;
  const right = statement === null ? null : childOf(statement, 'right');
  if (group === null || right === null || !['expression_list', 'tuple'].includes(right.type)) return null;
  const [targets, values] = [partsOf(group), partsOf(right)];
  if (targets.length !== values.length || values.some(({ type }) => type === 'list_splat')) return null;
  return values[targets.indexOf(target)] ?? null;
}

/** The name at the start of `name[…].method(…)[…]`, or what stands in its place. */
export function rootOf(expression: SyntaxNode): SyntaxNode {
  let node = unwrapped(expression);
  while (['subscript', 'call', 'attribute'].includes(node.type)) {
    const [object] = partsOf(node);
    if (object === undefined) return node;
    node = unwrapped(object);
  }
  return node;
}

function isMade(value: SyntaxNode, judged: JudgedSource): boolean {
  const node = unwrapped(value);
  if (LITERALS.has(node.type)) return true;
  // [None] * 10
  if (node.type === 'binary_operator') return partsOf(node).some(({ type }) => type === 'list');
  const callee = node.type === 'call' ? childOf(node, 'function') : null;
  if (callee === null) return false;
  return (
    CONSTRUCTORS.some((name) => judged.isSurelyBuiltin(callee, name)) || judged.isSurely(callee, MEMBERS)
  );
}
