import { ancestorOf, type SyntaxNode } from './syntax-tree.ts';

/** Nodes that group targets on the left of an assignment. */
const LOAD_GROUPS = new Set([
  'pattern_list',
  'tuple_pattern',
  'list_pattern',
  'list_splat_pattern',
  'tuple',
  'list',
  'expression_list',
  'parenthesized_expression',
  'as_pattern_target',
]);

/** Whether a node's value is read, not stored into or deleted. */
export function inLoad(node: SyntaxNode): boolean {
  let at = node;
  while (at.parent !== null && LOAD_GROUPS.has(at.parent.type)) at = at.parent;
  return at.field !== 'left' && at.parent?.type !== 'delete_statement' && at.type !== 'as_pattern_target';
}

/** Whether a node stands among the bases of a class. */
export function isClassBase(node: SyntaxNode): boolean {
  const list = node.parent;
  return list?.type === 'argument_list' && list.field === 'superclasses';
}

/** The class around a node's own scope when the node stands directly in a class body, else null. */
export function classBodyOf(statement: SyntaxNode): SyntaxNode | null {
  const definition = ancestorOf(statement, ['class_definition', 'function_definition', 'lambda']);
  return definition?.type === 'class_definition' ? definition : null;
}
