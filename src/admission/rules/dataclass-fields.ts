import { isType } from '../annotations.ts';
import type { JudgedSource } from '../judged-source.ts';
import { classBodyOf } from '../node-places.ts';
import { decodedString } from '../python-string.ts';
import { childOf, partsOf, type SyntaxNode, wrapped } from '../syntax-tree.ts';
import type { Refuse, Rule } from './rule.ts';

/** Bases, besides those of the module enum, whose metaclass takes the values out of the class body. */
const KEEPERS: ReadonlySet<string> = new Set(['typing.NamedTuple', 'typing.TypedDict']);

/** How many classes of the source a class may derive through. */
const MAX_BASES = 50;

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

/**
 * Whether the statement of a class makes more of a field than a dataclass does: an enumeration makes it a member's
 * value, a named tuple an element, and either hands the Field object out.
 */
function keepsFields(definition: SyntaxNode, judged: JudgedSource, depth = 0): boolean {
  if (depth > MAX_BASES) return true;
  return judged.once('keeps fields', definition, () => {
    const list = childOf(definition, 'superclasses');
    return (list ? partsOf(list) : []).some((base) => {
      const members = judged.membersOf(base);
      if (members.some(({ module, name }) => module === 'enum' || KEEPERS.has(`${module}.${name}`)))
        return true;
      return judged.classesOf(base).some((other) => keepsFields(other, judged, depth + 1));
    });
  });
}

/** The names by which KW_ONLY can be found in the module, and whether it can be at all. */
function keywordMarkers(judged: JudgedSource): { names: ReadonlySet<string>; reachable: boolean } {
  return judged.once('keyword markers', judged.root, () => {
    const imports = judged.bound.bindings.filter(({ imported }) => imported?.module === 'dataclasses');
    const markers = imports.filter(({ imported }) => imported?.name === 'KW_ONLY');
    const reachable = markers.length > 0 || imports.some(({ imported }) => imported?.name === null);
    return { names: new Set(['KW_ONLY', ...markers.map(({ name }) => name)]), reachable };
  });
}

/** Whether a name or a text of an annotation is one of KW_ONLY's. Recursion is bounded by MAX_TREE_DEPTH. */
function namesMarker(node: SyntaxNode, names: ReadonlySet<string>, source: string): boolean {
  if (node.type === 'identifier') return names.has(node.text);
  if (node.type !== 'string' && node.type !== 'concatenated_string') {
    return partsOf(node).some((part) => namesMarker(part, names, source));
  }
  const text = decodedString(node, source);
  return text === null || (text.match(/[\p{L}\p{N}_]+/gu) ?? []).some((word) => names.has(word));
}

/** Whether an annotation may be KW_ONLY: such a field is skipped, and the Field object stays on the class. */
function mayBeKeywordMarker(type: SyntaxNode, judged: JudgedSource): boolean {
  const { names, reachable } = keywordMarkers(judged);
  return reachable && (namesMarker(type, names, judged.source.text) || !isType(type, judged));
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
    refuse(
      node,
      'field',
      'The annotation of a field may not be KW_ONLY.',
      'Write a plain type, such as list[str].',
    );
  }
  if (keepsFields(owner, judged)) {
    refuse(node, 'field', 'An enumeration or a named tuple takes no field().', 'Write name: type = value.');
  }
  if ((judged.binding(left)?.scope.names.get(left.text)?.bindings.length ?? 0) > 1) {
    refuse(
      left,
      `field ${left.text}`,
      'A field may be named once in its class body.',
      'Remove the other one.',
    );
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
    const at = wrapped(node);
    if (judged.mayBe(node, 'dataclasses', ['field'])) visitField(at, judged, refuse);
    if (judged.mayBe(node, 'dataclasses', ['KW_ONLY'])) visitKeywordMarker(at, refuse);
    if (judged.mayBe(node, 'dataclasses', ['dataclass']) && decoratorOf(at) === null) {
      refuse(node, 'dataclass', 'dataclass may only be used as a decorator.');
    }
  },
};
