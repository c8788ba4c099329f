/**
 * A node of the parsed source, copied out of the parser so that rules read plain objects. Offsets are UTF-16
 * code units of the source. Comments and line continuations are left out: they carry no meaning.
 */
export interface SyntaxNode {
  readonly type: string;
  /** False for a token such as `(` or `async`. */
  readonly named: boolean;
  /** The node's role in its parent, such as `left` of an assignment. */
  readonly field: string | null;
  readonly start: number;
  readonly end: number;
  readonly parent: SyntaxNode | null;
  readonly children: readonly SyntaxNode[];
  readonly text: string;
}

/** The first child with this role, or null. */
export function childOf(node: SyntaxNode, field: string): SyntaxNode | null {
  for (const child of node.children) if (child.field === field) return child;
  return null;
}

/** Children that are not tokens, in order. */
export function partsOf(node: SyntaxNode): SyntaxNode[] {
  return node.children.filter((child) => child.named);
}

/** Children of one type, tokens included. */
export function childrenOfType(node: SyntaxNode, type: string): SyntaxNode[] {
  return node.children.filter((child) => child.type === type);
}

/** The nearest ancestor of one of these types, or null. */
export function ancestorOf(node: SyntaxNode, types: readonly string[]): SyntaxNode | null {
  for (let at = node.parent; at !== null; at = at.parent) if (types.includes(at.type)) return at;
  return null;
}

/** The node without the parentheses around it; stops at anything but one expression inside. */
export function unwrapped(node: SyntaxNode): SyntaxNode {
  let at = node;
  while (at.type === 'parenthesized_expression') {
    const [inner, second] = partsOf(at);
    if (inner === undefined || second !== undefined) return at;
    at = inner;
  }
  return at;
}

/** The node together with the parentheses around it: the outermost node that has the same value. */
export function wrapped(node: SyntaxNode): SyntaxNode {
  let at = node;
  while (at.parent?.type === 'parenthesized_expression') at = at.parent;
  return at;
}

/** The arguments of a call in order; a generator expression without parentheses of its own is one. */
export function argumentsOf(call: SyntaxNode): SyntaxNode[] {
  const list = childOf(call, 'arguments');
  if (list === null) return [];
  return list.type === 'argument_list' ? partsOf(list) : [list];
}
