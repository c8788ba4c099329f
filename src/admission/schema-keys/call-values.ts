import { decodedString } from '../python-string.ts';
import { argumentsOf, childOf, type SyntaxNode, unwrapped } from '../syntax-tree.ts';
import type { Flow } from './flow.ts';
import {
  eachValueOf,
  elementOf,
  type Flowing,
  isEmptyLiteral,
  listOf,
  memberAt,
  placed,
  tupleOf,
} from './flowing.ts';
import { fieldOf } from './place.ts';

/** Builtins whose result has the elements of their first argument. */
const SAME_ELEMENTS = ['iter', 'list', 'reversed', 'sorted', 'tuple'];
const BUILTINS = [...SAME_ELEMENTS, 'dict', 'enumerate', 'filter', 'map', 'max', 'min', 'next', 'zip'];

/** Members of modules that are followed. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  bisect: ['bisect', 'bisect_left', 'bisect_right'],
  copy: ['copy', 'deepcopy'],
  heapq: ['nlargest', 'nsmallest'],
  itertools: [
    'combinations',
    'dropwhile',
    'filterfalse',
    'groupby',
    'islice',
    'pairwise',
    'permutations',
    'takewhile',
  ],
};

/** The builtin or the member of a module that a call surely calls, such as `sorted` or `itertools.groupby`. */
export function calleeName(call: SyntaxNode, { judged }: Flow): string | null {
  const function_ = childOf(call, 'function');
  if (function_ === null) return null;
  const callee = unwrapped(function_);
  const builtin = BUILTINS.find((name) => judged.isSurelyBuiltin(callee, name));
  if (builtin !== undefined) return builtin;
  const [member, another] = judged.isSurely(callee, MEMBERS) ? judged.membersOf(callee) : [];
  return member === undefined || another !== undefined ? null : `${member.module}.${member.name}`;
}

/** What a call gives of the data, or null. */
export function callValue(call: SyntaxNode, flow: Flow): Flowing | null {
  const all = argumentsOf(call);
  if (all.some(({ type }) => type === 'list_splat' || type === 'dictionary_splat')) return null;
  const keywords = all.filter(({ type }) => type === 'keyword_argument');
  const given = all.filter(({ type }) => type !== 'keyword_argument');
  const [first, second] = given;
  const name = calleeName(call, flow);
  if (name === null) return methodValue(call, given, keywords, flow);
  if (first === undefined) return null;
  if (SAME_ELEMENTS.includes(name)) return listOf(elementOf(flow.of(first)));
  const elements = (at: SyntaxNode | undefined) => (at === undefined ? null : elementOf(flow.of(at)));
  switch (name) {
    case 'bisect.bisect':
    case 'bisect.bisect_left':
    case 'bisect.bisect_right':
      return null;
    case 'copy.copy':
    case 'copy.deepcopy':
      return flow.of(first);
    case 'dict': {
      const value = keywords.length + given.length === 1 ? flow.of(first) : null;
      return value?.kind === 'place' || value?.kind === 'map' ? value : null;
    }
    case 'enumerate':
      return listOf(tupleOf([null, elements(first)]));
    case 'zip':
      return listOf(tupleOf(given.map(elements)));
    case 'map': {
      const body = given.length === 2 && first.type === 'lambda' ? childOf(first, 'body') : null;
      return body === null ? null : listOf(flow.of(body));
    }
    case 'min':
    case 'max':
      return given.length === 1 && keywords.every(isHarmlessKeyword) ? elements(first) : null;
    case 'next':
      return second === undefined || isEmptyLiteral(second) ? elements(first) : null;
    case 'itertools.groupby':
      return listOf(tupleOf([null, listOf(elements(first))]));
    case 'itertools.islice':
      return listOf(elements(first));
    case 'itertools.pairwise':
    case 'itertools.combinations':
    case 'itertools.permutations':
      return listOf(listOf(elements(first)));
    default:
      // filter, nlargest, nsmallest, takewhile and their like: the second argument is what is gone through.
      return listOf(elements(second));
  }
}

/** `default=` of min and max may be anything that has no fields. */
function isHarmlessKeyword(keyword: SyntaxNode): boolean {
  const value = childOf(keyword, 'value');
  return childOf(keyword, 'name')?.text !== 'default' || (value !== null && isEmptyLiteral(value));
}

function methodValue(
  call: SyntaxNode,
  given: readonly SyntaxNode[],
  keywords: readonly SyntaxNode[],
  flow: Flow,
): Flowing | null {
  const callee = childOf(call, 'function');
  const object = callee?.type === 'attribute' ? childOf(callee, 'object') : null;
  if (callee === null || object === null || keywords.length > 0) return null;
  const value = flow.of(object);
  const [first, second] = given;
  if (value === null) return null;
  switch (childOf(callee, 'attribute')?.text) {
    case 'copy':
      return value;
    case 'get':
      if (first === undefined || (second !== undefined && !isEmptyLiteral(second))) return null;
      return gotten(value, first, flow);
    case 'items':
      return listOf(tupleOf([null, eachValueOf(value)]));
    case 'pop':
      return elementOf(value);
    case 'values':
      return listOf(eachValueOf(value));
    default:
      return null;
  }
}

function gotten(value: Flowing, key: SyntaxNode, flow: Flow): Flowing | null {
  if (value.kind === 'map') return value.value;
  if (value.kind !== 'place') return null;
  const source = flow.judged.source.text;
  const name = decodedString(key, source);
  return name === null ? memberAt(value, key, source) : placed(fieldOf(value.place, name));
}
