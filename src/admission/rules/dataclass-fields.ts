import type { JudgedSource } from '../judged-source.ts';
import { classBodyOf } from '../node-places.ts';
import { decodedString } from '../python-string.ts';
import { childOf, partsOf, type SyntaxNode, wrapped } from '../syntax-tree.ts';
import type { Refuse, Rule } from './rule.ts';

/** The decorator that a node is, called or not; null if it stands elsewhere. */
function decoratorOf(node: SyntaxNode): SyntaxNode | null {
  const call = node.parent?.type === 'call' && node.field === 'function' ? node.parent : node;
  return call.parent?.type === 'decorator' ? call.parent : null;
}

function isDataclass(definition: SyntaxNode, judged: JudgedSource): boolean {
  const decorated = definition.parent;
  if (decorated?.type !== 'decorated_definition') return false;
  return partsOf(decorated).some((part) => {
    if (part.type !== 'decorator') return false;
    const [expression] = partsOf(part);
    const callee = expression?.type === 'call' ? childOf(expression, 'function') : expression;
    return callee != null && judged.isSurely(callee, { dataclasses: ['dataclass'] });
  });
}

/** Whether an annotation may be KW_ONLY: such a field is skipped, and the Field object stays on the class. */
function mayBeKeywordMarker(type: SyntaxNode, judged: JudgedSource): boolean {
  const [inner] = partsOf(type);
  if (inner === undefined) return true;
  if (judged.mayBe(inner, 'dataclasses', ['KW_ONLY'])) return true;
  if (inner.type !== 'string' && inner.type !== 'concatenated_string') return false;
  const text = decodedString(inner, judged.source.text);
  const word = text === null ? null : /^\s*(?:\w+\s*\.)?\s*(\w+)/.exec(text)?.[1];
  if (word == null || word === 'KW_ONLY') return true;
  const markers = judged.once('keyword markers', judged.root, () => {
    const imports = judged.bound.bindings.filter(({ imported }) => imported?.name === 'KW_ONLY');
    return new Set(imports.map(({ name }) => name));
  });
  return markers.has(word);
}

function visitField(node: SyntaxNode, judged: JudgedSource, refuse: Refuse): void {
  const call = node.parent?.type === 'call' && node.field === 'function' ? node.parent : null;
  const assignment = call?.field === 'right' ? call.parent : null;
  const type = assignment ? childOf(assignment, 'type') : null;
  const left = assignment ? childOf(assignment, 'left') : null;
  const body = assignment?.parent?.type === 'expression_statement' ? assignment.parent : null;
  const owner = body === null ? null : classBodyOf(body);
  if (type === null || left?.type !== 'identifier' || owner === null || !isDataclass(owner, judged)) {
    refuse(node, 'field', 'field() may only be the value of an annotated name in a dataclass.');
    return;
  }
  if (mayBeKeywordMarker(type, judged)) {
    refuse(node, 'field', 'KW_ONLY takes no value.', 'Write _: KW_ONLY alone.');
  }
  const load = judged.loadedInBody(owner).get(left.text);
  if (load !== undefined) {
    refuse(
      load.node,
      `field ${left.text}`,
      'A field may not be read in its own class body.',
      'Use a constant.',
    );
  }
}

function visitKeywordMarker(node: SyntaxNode, refuse: Refuse): void {
  const assignment = node.parent?.type === 'type' ? node.parent.parent : null;
  if (assignment?.type === 'assignment' && childOf(assignment, 'right') === null) return;
  refuse(
    node,
    'KW_ONLY',
    'KW_ONLY may only be the annotation of a name without a value.',
    'Write _: KW_ONLY.',
  );
}

export const dataclassFields: Rule = {
  id: 'structure',
  title: 'Dataclasses',
  reason:
    'The standard library writes the methods of a dataclass as source text and runs it with the real builtins; the ' +
    'names of its fields stand in that text. So no Field object may be had to rename, and dataclass is used as a ' +
    'decorator on a class statement, whose field names are identifiers.',
  hint: 'Write @dataclass over the class and name: type = field(default_factory=list) in it.',
  on: ['identifier', 'attribute'],
  visit(node, judged, refuse) {
    if (node.type === 'identifier' && judged.load(node) === null) return;
    const at = wrapped(node);
    if (judged.mayBe(node, 'dataclasses', ['field'])) visitField(at, judged, refuse);
    if (judged.mayBe(node, 'dataclasses', ['KW_ONLY'])) visitKeywordMarker(at, refuse);
    if (judged.mayBe(node, 'dataclasses', ['dataclass']) && decoratorOf(at) === null) {
      refuse(node, 'dataclass', 'dataclass may only be used as a decorator.');
    }
  },
};
