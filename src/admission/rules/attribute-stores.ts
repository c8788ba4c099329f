import type { JudgedSource } from '../judged-source.ts';
import type { AttributeStore } from '../scope.ts';
import { childOf, partsOf, type SyntaxNode, unwrapped } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

/** What may be set on a decimal context. */
const CONTEXT_ATTRIBUTES = new Set(['prec', 'rounding']);
const CONTEXT_MAKERS = { decimal: ['getcontext', 'localcontext', 'Context'] };

/** Whether a value is an instance of a class of the source, or None. */
function isInstance(value: SyntaxNode | null, judged: JudgedSource): boolean {
  if (value === null) return false;
  const node = unwrapped(value);
  if (node.type === 'none') return true;
  if (node.type === 'conditional_expression') {
    const [yes, , no] = partsOf(node);
    return isInstance(yes ?? null, judged) && isInstance(no ?? null, judged);
  }
  const callee = node.type === 'call' ? childOf(node, 'function') : null;
  return callee !== null && judged.classOf(callee) !== null;
}

type Passes = (value: SyntaxNode | null, judged: JudgedSource) => boolean;

/** Whether every binding of a name, by a statement of one of these kinds, gives it a value that passes. */
function isAlways(
  object: SyntaxNode,
  judged: JudgedSource,
  kinds: readonly string[],
  passes: Passes,
): boolean {
  const node = unwrapped(object);
  const name = node.type === 'identifier' ? judged.soleName(node) : null;
  if (name === null) return false;
  return judged.once(`always ${passes.name}`, name, () =>
    name.bindings.every(({ kind, value }) => kinds.includes(kind) && passes(value, judged)),
  );
}

function isContext(object: SyntaxNode | null, judged: JudgedSource): boolean {
  const node = object === null ? null : unwrapped(object);
  const callee = node?.type === 'call' ? childOf(node, 'function') : null;
  return callee !== null && judged.isSurely(callee, CONTEXT_MAKERS);
}

function isAdmitted(store: AttributeStore, judged: JudgedSource): boolean {
  const object = childOf(store.node, 'object');
  const attribute = childOf(store.node, 'attribute')?.text ?? '';
  if (object === null || attribute.startsWith('__')) return false;
  if (store.kind === 'for' || store.kind === 'with' || store.kind === 'except') return false;
  if (judged.isMethodParameter(object, ['self'])) return true;
  if (CONTEXT_ATTRIBUTES.has(attribute) && store.kind !== 'delete') {
    if (isContext(object, judged)) return true;
    if (isAlways(object, judged, ['assign', 'walrus', 'with'], isContext)) return true;
  }
  // A with statement binds what __enter__ gave, which may be anything.
  return isAlways(object, judged, ['assign', 'walrus'], isInstance);
}

export const attributeStores: Rule = {
  id: 'attribute',
  title: 'Attributes that are set',
  reason:
    "Setting an attribute changes objects that are not the function's own, such as the fields of a dataclass or " +
    'the flags of a typing alias.',
  hint: 'Set attributes on self, or on a local name bound to an instance: item = Item(…). Else use a dictionary.',
  on: ['module'],
  visit(_node, judged, refuse) {
    for (const store of judged.bound.stores) {
      if (isAdmitted(store, judged)) continue;
      const attribute = childOf(store.node, 'attribute')?.text ?? '';
      refuse(store.node, `set ${attribute}`, 'This attribute may not be set or deleted here.');
    }
  },
};
