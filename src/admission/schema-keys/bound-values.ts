import type { Binding, ScopedName } from '../scope.ts';
import { childOf, partsOf, type SyntaxNode } from '../syntax-tree.ts';
import type { Flow } from './flow.ts';
import { areSame, elementOf, type Flowing, itemAt } from './flowing.ts';
import { iteratedByLambda } from './lambda-arguments.ts';

/** A name that is bound more often is not followed. */
const MAX_BINDINGS = 32;

const PATTERNS = ['pattern_list', 'tuple_pattern', 'list_pattern', 'tuple', 'list', 'expression_list'];

/**
 * What a name surely holds where it is loaded: that of its one binding, of all its bindings where they agree, or of
 * the loop around it. Anything else, such as names that are augmented or bound by `with` or `except`, is null.
 */
export function boundValue(load: SyntaxNode, flow: Flow): Flowing | null {
  const name = flow.judged.soleName(load);
  const [binding, another] = name?.bindings ?? [];
  if (name === null || binding === undefined) return null;
  if (another === undefined) return bindingValue(binding, flow);
  if (name.bindings.length > MAX_BINDINGS) return null;
  const loop = loopAround(load, name);
  if (loop !== null) return bindingValue(loop, flow);
  const value = bindingValue(binding, flow);
  return name.bindings.every((each) => areSame(value, bindingValue(each, flow))) ? value : null;
}

function bindingValue(binding: Binding, flow: Flow): Flowing | null {
  switch (binding.kind) {
    case 'parameter':
      return parameterValue(binding, flow);
    case 'assign':
    case 'walrus':
      if (binding.value !== null) return flow.of(binding.value);
      return targetValue(binding.node, 'assignment', (right) => flow.of(right));
    case 'for':
      return targetValue(binding.node, null, (right) => elementOf(flow.of(right)));
    default:
      return null;
  }
}

/** The value of one target on the left of `=` or of `in`, through patterns such as `i, (a, b)`. */
function targetValue(
  target: SyntaxNode,
  statement: string | null,
  whole: (right: SyntaxNode) => Flowing | null,
): Flowing | null {
  const indexes: number[] = [];
  let at = target;
  while (at.field !== 'left') {
    const group = at.parent;
    if (group === null || !PATTERNS.includes(group.type)) return null;
    const parts = partsOf(group);
    if (parts.some(({ type }) => type === 'list_splat_pattern' || type === 'list_splat')) return null;
    indexes.push(parts.indexOf(at));
    at = group;
  }
  const owner = at.parent;
  if (owner === null || (statement !== null && owner.type !== statement)) return null;
  const right = childOf(owner, 'right');
  // Of a chain such as a, b = c = value only the last target is followed.
  if (right === null || right.type === 'assignment') return null;
  return indexes.reduceRight((value: Flowing | null, index) => itemAt(value, index), whole(right));
}

/** The first parameter of `compute` holds the data; that of a key function holds an element. */
function parameterValue({ node, scope }: Binding, flow: Flow): Flowing | null {
  const parameters = childOf(scope.node, 'parameters');
  const [first] = parameters === null ? [] : partsOf(parameters);
  if (scope.node === flow.compute) {
    return first === node || (first?.type === 'typed_parameter' && node.parent === first) ? flow.data : null;
  }
  const isElement = first === node && scope.node.type === 'lambda';
  return isElement ? elementOf(iteratedByLambda(scope.node, flow)) : null;
}

/**
 * The binding by the innermost `for` statement that has the load in its body, where nothing in that statement binds
 * the name again and no function stands between, which could run at another time.
 */
function loopAround(load: SyntaxNode, name: ScopedName): Binding | null {
  if (name.bindings.some(({ scope }) => scope !== name.scope)) return null;
  for (let at = load; at.parent !== null; at = at.parent) {
    const loop = at.parent;
    if (['function_definition', 'lambda', 'class_definition'].includes(loop.type)) return null;
    if (loop.type !== 'for_statement' || at.field !== 'body') continue;
    const inside = name.bindings.filter(({ node }) => node.start >= loop.start && node.end <= loop.end);
    const [binding, another] = inside;
    if (binding === undefined) continue;
    const left = childOf(loop, 'left');
    const isTarget = left !== null && binding.node.start >= left.start && binding.node.end <= left.end;
    return another === undefined && isTarget && binding.kind === 'for' ? binding : null;
  }
  return null;
}
