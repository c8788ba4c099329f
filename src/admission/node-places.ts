import { ancestorOf, type SyntaxNode } from './syntax-tree.ts';

/** Nodes that group targets. */
const GROUPS = new Set([
  'pattern_list',
  'tuple_pattern',
  'list_pattern',
  'list_splat_pattern',
  'tuple',
  'list',
  'expression_list',
  'parenthesized_expression',
]);
/** Statements that bind what stands on their left; operators have a left side too. */
const BINDING = new Set(['assignment', 'for_statement', 'for_in_clause']);

/** How a name, an attribute or a subscript is used: read, read and then stored into by `+=`, stored into, deleted. */
export type Use = 'load' | 'change' | 'store' | 'delete';

/** How a node is used where it stands, alone or in a group of targets. */
export function useOf(node: SyntaxNode): Use {
  let at = node;
  while (at.parent !== null && GROUPS.has(at.parent.type)) at = at.parent;
  const statement = at.parent?.type ?? '';
  if (statement === 'delete_statement') return 'delete';
  // What `with … as` and `except … as` bind to stands in a node of its own.
  if (statement === 'as_pattern_target') return 'store';
  if (at.field !== 'left') return 'load';
  if (statement === 'augmented_assignment') return 'change';
  return BINDING.has(statement) ? 'store' : 'load';
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
