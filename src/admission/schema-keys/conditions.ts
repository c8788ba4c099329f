import type { JudgedSource } from '../judged-source.ts';
import { childOf, partsOf, type SyntaxNode } from '../syntax-tree.ts';

const FUNCTIONS = ['function_definition', 'lambda', 'class_definition'];
const COMPREHENSION = /_comprehension$|^generator_expression$/;

/** Exceptions that are no KeyError and no class above it. */
const OTHER_EXCEPTIONS = [
  'ArithmeticError',
  'AttributeError',
  'IndexError',
  'OverflowError',
  'StopIteration',
  'TypeError',
  'ValueError',
  'ZeroDivisionError',
];

/** The statements of a source in which a KeyError may be caught. A `with` catches by a method of the source only. */
export function catchingStatements(
  nodes: readonly SyntaxNode[],
  judged: JudgedSource,
): ReadonlySet<SyntaxNode> {
  const withCatches = judged.bound.bindings.some(({ name }) => name === '__exit__');
  return new Set(
    nodes.filter(({ type, children }) => {
      if (type === 'with_statement') return withCatches;
      return type === 'try_statement' && children.some((clause) => mayCatch(clause, judged));
    }),
  );
}

function mayCatch(clause: SyntaxNode, judged: JudgedSource): boolean {
  // A return, break or continue in it drops the exception.
  if (clause.type === 'finally_clause') return /\b(return|break|continue)\b/.test(clause.text);
  if (clause.type !== 'except_clause') return false;
  const value = childOf(clause, 'value');
  if (value === null) return true;
  const caught = value.type === 'as_pattern' ? partsOf(value)[0] : value;
  const listed = caught?.type === 'tuple' ? partsOf(caught) : caught === undefined ? [] : [caught];
  const isOther = (each: SyntaxNode) => OTHER_EXCEPTIONS.some((name) => judged.isSurelyBuiltin(each, name));
  return listed.length === 0 || !listed.every(isOther);
}

/**
 * Whether a load stands where its KeyError may be caught: in one of these statements, or in a function inside
 * `compute` that may be called from there.
 */
export function mayBeCaught(
  node: SyntaxNode,
  compute: SyntaxNode,
  catching: ReadonlySet<SyntaxNode>,
): boolean {
  let inner = false;
  for (let at = node; at.parent !== null; at = at.parent) {
    if (at === compute) return inner && catching.size > 0;
    if (catching.has(at)) return true;
    if (FUNCTIONS.includes(at.type)) inner = true;
  }
  return catching.size > 0;
}

/**
 * Whether a load stands under a condition on which it may never run: a branch, the filter of a comprehension, the
 * right side of `and` and `or`, or after an `if` that leaves it to other records.
 */
export function isConditional(node: SyntaxNode): boolean {
  for (let at = node; at.parent !== null; at = at.parent) {
    const { type, children } = at.parent;
    switch (type) {
      case 'if_statement':
      case 'while_statement':
        if (at.field !== 'condition') return true;
        break;
      case 'case_clause':
      case 'except_clause':
        return true;
      case 'conditional_expression':
        if (at !== children[2]) return true;
        break;
      case 'boolean_operator':
        if (at.field === 'right') return true;
        break;
      case 'block':
        if (children.some((sibling) => sibling.end <= at.start && isSkipping(sibling))) return true;
        break;
      default:
        if (COMPREHENSION.test(type) && isAfterFilter(at)) return true;
    }
  }
  return false;
}

function isAfterFilter(part: SyntaxNode): boolean {
  const filters = part.parent?.children.filter(({ type }) => type === 'if_clause') ?? [];
  if (part.field === 'body') return filters.length > 0;
  return filters.some((filter) => filter !== part && filter.end <= part.start);
}

/**
 * Whether a statement leaves what comes after it to other records: an `if` with `continue`, or one that tests what
 * is there (`"items" in data`, `isinstance`) and ends the loop or the function.
 */
function isSkipping(statement: SyntaxNode): boolean {
  if (statement.type !== 'if_statement') return false;
  if (/\bcontinue\b/.test(statement.text)) return true;
  const condition = childOf(statement, 'condition');
  const tests = condition !== null && /\bin\b|\bisinstance\b/.test(condition.text);
  return tests && /\b(return|raise|break)\b/.test(statement.text);
}
