import type { JudgedSource } from './judged-source.ts';
import { useOf } from './node-places.ts';
import type { Binding, ScopedName } from './scope.ts';
import { argumentsOf, childOf, partsOf, type SyntaxNode, unwrapped, wrapped } from './syntax-tree.ts';

/** How many names one after another a value is followed through; past it nothing is sure. */
const MAX_STEPS = 8;

/** Builtins that read a collection and neither change it nor keep it. */
const READERS = [
  'all',
  'any',
  'enumerate',
  'len',
  'list',
  'max',
  'min',
  'reversed',
  'sorted',
  'sum',
  'tuple',
];
const LIST_METHODS = new Set(['clear', 'index', 'pop', 'popleft', 'remove', 'reverse', 'sort']);
const DICT_METHODS = new Set(['clear', 'get', 'items', 'keys', 'pop', 'values']);

/** Whether a value is surely an instance of a class of the source, or None. */
export function isInstance(value: SyntaxNode | null, judged: JudgedSource, steps = 0): boolean {
  if (value === null || steps > MAX_STEPS) return false;
  const node = unwrapped(value);
  const parts = partsOf(node);
  switch (node.type) {
    case 'none':
      return true;
    case 'conditional_expression':
      return [parts[0], parts[2]].every((part) => isInstance(part ?? null, judged, steps));
    case 'identifier':
      return isInstanceName(judged.soleName(node), judged, steps + 1);
    case 'subscript': {
      const [collection, key] = parts;
      return (
        key?.type !== 'slice' &&
        collection !== undefined &&
        holdsInstances(collection, judged, steps + 1) !== null
      );
    }
    case 'call': {
      const callee = childOf(node, 'function');
      if (callee?.type !== 'attribute') return callee !== null && judged.classOf(callee) !== null;
      const collection = childOf(callee, 'object');
      const method = childOf(callee, 'attribute')?.text ?? '';
      const [, fallback] = argumentsOf(node);
      if (!['get', 'pop', 'popleft'].includes(method) || collection === null) return false;
      if (fallback !== undefined && !isInstance(fallback, judged, steps)) return false;
      return holdsInstances(collection, judged, steps + 1) !== null;
    }
    default:
      return false;
  }
}

/** Whether every binding of a name gives it an instance of a class of the source, or None. */
export function isInstanceName(name: ScopedName | null, judged: JudgedSource, steps = 0): boolean {
  if (name === null) return false;
  return judged.once('instances', name, () =>
    name.bindings.every(({ kind, node, value }) => {
      if (kind === 'assign' || kind === 'walrus') return isInstance(value, judged, steps);
      return kind === 'for' && isLoopOverInstances(node, judged, steps);
    }),
  );
}

/** `for x in items`, `for i, x in enumerate(items)`, `for x in by_id.values()`, `for k, x in by_id.items()`. */
function isLoopOverInstances(target: SyntaxNode, judged: JudgedSource, steps: number): boolean {
  const second = target.field !== 'left';
  const left = second ? target.parent : target;
  if (left === null || left.field !== 'left') return false;
  if (second && (partsOf(left).length !== 2 || partsOf(left)[1] !== target)) return false;
  const loop = left.parent;
  const right = loop === null ? null : childOf(loop, 'right');
  if (right === null) return false;
  const iterated = unwrapped(right);
  const callee = iterated.type === 'call' ? childOf(iterated, 'function') : null;
  const [argument] = argumentsOf(iterated);
  if (callee?.type === 'attribute') {
    const method = childOf(callee, 'attribute')?.text;
    const collection = childOf(callee, 'object');
    if (method !== (second ? 'items' : 'values') || collection === null) return false;
    return holdsInstances(collection, judged, steps + 1) === 'dictionary';
  }
  const iterates = (names: readonly string[]) =>
    callee !== null && names.some((name) => judged.isSurelyBuiltin(callee, name));
  if (second !== iterates(['enumerate'])) return false;
  const unchanged = second || iterates(['list', 'reversed', 'sorted', 'tuple']);
  const collection = unchanged ? argument : iterated;
  return collection !== undefined && holdsInstances(collection, judged, steps + 1) === 'list';
}

/** What kind of collection an expression surely is, if it holds nothing but instances and None; else null. */
function holdsInstances(
  value: SyntaxNode,
  judged: JudgedSource,
  steps: number,
): 'list' | 'dictionary' | null {
  if (steps > MAX_STEPS) return null;
  const node = unwrapped(value);
  const parts = partsOf(node);
  switch (node.type) {
    case 'list':
      return parts.every((part) => isInstance(part, judged, steps)) ? 'list' : null;
    case 'list_comprehension':
      return isInstance(parts[0] ?? null, judged, steps) ? 'list' : null;
    case 'dictionary':
    case 'dictionary_comprehension': {
      const pairs = node.type === 'dictionary' ? parts : parts.slice(0, 1);
      const isPair = (pair: SyntaxNode) =>
        pair.type === 'pair' && isInstance(childOf(pair, 'value'), judged, steps);
      return pairs.every(isPair) ? 'dictionary' : null;
    }
    case 'identifier': {
      const name = judged.soleName(node);
      const [binding, another] = name?.bindings ?? [];
      if (name === null || binding === undefined || another !== undefined) return null;
      return judged.once('held', name, () => heldUnder(name, binding, judged, steps));
    }
    default:
      return null;
  }
}

/** The same of a name bound once, where every use of it leaves nothing else in the collection. */
function heldUnder(name: ScopedName, binding: Binding, judged: JudgedSource, steps: number) {
  if (binding.kind !== 'assign' || binding.value === null || name.scope.kind === 'class') return null;
  const kind = holdsInstances(binding.value, judged, steps);
  if (kind === null) return null;
  const keeps = judged.loadsOf(name).every((load) => keepsInstances(load.node, kind, judged, steps));
  return keeps ? kind : null;
}

function keepsInstances(load: SyntaxNode, kind: string, judged: JudgedSource, steps: number): boolean {
  const at = wrapped(load);
  const parent = at.parent;
  switch (parent?.type) {
    case 'comparison_operator':
    case 'if_statement':
    case 'not_operator':
      return true;
    case 'for_in_clause':
    case 'for_statement':
      return at.field === 'right';
    case 'subscript': {
      if (at.field !== 'value') return false;
      const use = useOf(parent);
      if (use === 'load' || use === 'delete') return true;
      const assignment = parent.parent;
      if (assignment?.type !== 'assignment' || parent.field !== 'left') return false;
      const [, key] = partsOf(parent);
      return key?.type !== 'slice' && isInstance(childOf(assignment, 'right'), judged, steps);
    }
    case 'argument_list': {
      const callee = parent.parent === null ? null : childOf(parent.parent, 'function');
      return callee !== null && READERS.some((name) => judged.isSurelyBuiltin(callee, name));
    }
    case 'attribute': {
      const call = parent.field === 'function' && at.field === 'object' ? parent.parent : null;
      if (call === null) return false;
      const method = childOf(parent, 'attribute')?.text ?? '';
      const [added, more] = argumentsOf(call);
      if (kind === 'dictionary') return DICT_METHODS.has(method);
      if (method !== 'append') return LIST_METHODS.has(method);
      return added !== undefined && more === undefined && isInstance(added, judged, steps);
    }
    default:
      return false;
  }
}
