import { argumentsOf, childOf, partsOf, type SyntaxNode } from '../syntax-tree.ts';
import { calleeName } from './call-values.ts';
import type { Flow } from './flow.ts';
import type { Flowing } from './flowing.ts';

/** What a lambda is called with, element by element, where it is the key or the filter of a known function. */
export function iteratedByLambda(lambda: SyntaxNode, flow: Flow): Flowing | null {
  const keyword = lambda.parent?.type === 'keyword_argument' ? lambda.parent : null;
  const list = (keyword ?? lambda).parent;
  const call = list?.type === 'argument_list' ? list.parent : null;
  if (call?.type !== 'call') return null;
  const given = argumentsOf(call);
  if (given.some(({ type }) => type === 'list_splat' || type === 'dictionary_splat')) return null;
  const positional = given.filter(({ type }) => type !== 'keyword_argument');
  const [first, second, third] = positional;
  const name = calleeName(call, flow);
  const of = (node: SyntaxNode | undefined) => (node === undefined ? null : flow.of(node));
  if (keyword !== null) {
    if (childOf(keyword, 'name')?.text !== 'key') return null;
    if (name === null) return sortedInPlace(call, flow);
    if (name === 'heapq.nlargest' || name === 'heapq.nsmallest') return of(second);
    if (name.startsWith('bisect.')) return of(first);
    const isKeyed = ['sorted', 'min', 'max', 'itertools.groupby'].includes(name);
    return isKeyed && second === undefined ? of(first) : null;
  }
  if (name === 'itertools.groupby') return second === lambda ? of(first) : null;
  const predicates = ['filter', 'map', 'itertools.filterfalse', 'itertools.takewhile', 'itertools.dropwhile'];
  const isPredicate = name !== null && predicates.includes(name) && first === lambda && third === undefined;
  return isPredicate ? of(second) : null;
}

function sortedInPlace(call: SyntaxNode, flow: Flow): Flowing | null {
  const callee = childOf(call, 'function');
  if (callee?.type !== 'attribute' || childOf(callee, 'attribute')?.text !== 'sort') return null;
  const [object] = partsOf(callee);
  return object === undefined ? null : flow.of(object);
}
