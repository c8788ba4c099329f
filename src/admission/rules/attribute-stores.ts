import { isInstanceName } from '../instance-flow.ts';
import type { JudgedSource } from '../judged-source.ts';
import type { AttributeStore } from '../scope.ts';
import { childOf, type SyntaxNode, unwrapped } from '../syntax-tree.ts';
import type { Rule } from './rule.ts';

/** What may be set on a decimal context. */
const CONTEXT_ATTRIBUTES = new Set(['prec', 'rounding']);
const CONTEXT_MAKERS = { decimal: ['getcontext', 'localcontext', 'Context'] };

/** Whether every binding of a name gives it a decimal context. */
function isContextName(object: SyntaxNode, judged: JudgedSource): boolean {
  const node = unwrapped(object);
  const name = node.type === 'identifier' ? judged.soleName(node) : null;
  if (name === null) return false;
  return judged.once('contexts', name, () =>
    name.bindings.every(
      ({ kind, value }) => ['assign', 'walrus', 'with'].includes(kind) && isContext(value, judged),
    ),
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
    if (isContextName(object, judged)) return true;
  }
  const node = unwrapped(object);
  const name = node.type === 'identifier' ? judged.soleName(node) : null;
  return isInstanceName(name, judged);
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
