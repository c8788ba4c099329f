import { BUILTIN_CLASSES } from './builtins.ts';
import type { JudgedSource } from './judged-source.ts';
import type { ScopedName } from './scope.ts';
import { partsOf, type SyntaxNode, unwrapped } from './syntax-tree.ts';

/** How many names one after another an alias of a type may go by; past it nothing is sure. */
const MAX_ALIASES = 5;

/**
 * Whether an expression is a type for sure, or a text written out: not a text by another name, and not an object of
 * the source whose methods a subscript or "|" would call.
 */
export function isType(node: SyntaxNode, judged: JudgedSource, aliases = 0): boolean {
  if (aliases > MAX_ALIASES) return false;
  const parts = partsOf(node);
  switch (node.type) {
    case 'none':
    case 'string':
    case 'concatenated_string':
      return true;
    case 'type':
    case 'generic_type':
    case 'subscript':
    case 'parenthesized_expression':
      return parts[0] !== undefined && isType(parts[0], judged, aliases);
    case 'union_type':
    case 'binary_operator':
      return node.children[1]?.type === '|' && parts.every((part) => isType(part, judged, aliases));
    case 'attribute':
      return judged.membersOf(node).length > 0;
    case 'identifier': {
      if (BUILTIN_CLASSES.has(node.text) && judged.isSurelyBuiltin(node, node.text)) return true;
      const name = judged.soleName(node);
      return name !== null && judged.once('type', name, () => isTypeName(name, judged, aliases + 1));
    }
    default:
      return false;
  }
}

function isTypeName(name: ScopedName, judged: JudgedSource, aliases: number): boolean {
  return name.bindings.every(({ kind, value, imported }) => {
    if (kind === 'class' || (kind === 'import' && imported?.name !== null)) return true;
    const alias = kind === 'assign' && value !== null ? unwrapped(value) : null;
    return alias !== null && !/string$/.test(alias.type) && isType(alias, judged, aliases);
  });
}

const GROUPS = new Set(['type', 'type_parameter', 'attribute', 'list', 'tuple', 'parenthesized_expression']);

/**
 * Whether a node stands in an annotation, as itself or inside brackets of types: never passed to a call or to an
 * object of the source there.
 */
export function inAnnotation(node: SyntaxNode, judged: JudgedSource): boolean {
  for (let at = node.parent; at !== null; at = at.parent) {
    if (at.type === 'type' && at.field !== null) return true;
    const container = at;
    if (!GROUPS.has(at.type) && !judged.once('type', at, () => isType(container, judged))) return false;
  }
  return false;
}
