import type { SyntaxNode } from '../syntax-tree.ts';

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
const STATEMENTS = new Set(['assignment', 'for_statement', 'for_in_clause']);

/** How a subscript is used: read (also by `+=`, before it is stored), stored into or deleted. */
export function useOf(subscript: SyntaxNode): 'load' | 'store' | 'delete' {
  let at = subscript;
  while (at.parent !== null && GROUPS.has(at.parent.type) && at.field !== 'right') at = at.parent;
  const statement = at.parent?.type ?? '';
  if (statement === 'delete_statement') return 'delete';
  // What `with … as` and `except … as` bind to stands in a node of its own.
  if (statement === 'as_pattern_target') return 'store';
  return STATEMENTS.has(statement) && at.field === 'left' ? 'store' : 'load';
}
