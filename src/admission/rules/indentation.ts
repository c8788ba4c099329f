import type { JudgedSource } from '../judged-source.ts';
import { childOf, partsOf, type SyntaxNode } from '../syntax-tree.ts';
import type { Refuse, Rule } from './rule.ts';

const CLAUSES = new Set(['elif_clause', 'else_clause', 'except_clause', 'finally_clause']);
const STRING_PARTS = new Set(['string_content', 'string_end', 'escape_sequence', 'escape_interpolation']);
const OPENING = new Set(['(', '[', '{']);

/** The blanks before a node, or null where something else stands before it on its line. */
function indentOf(node: SyntaxNode, text: string): string | null {
  let at = node.start;
  while (at > 0 && (text[at - 1] === ' ' || text[at - 1] === '\t')) at -= 1;
  return at === 0 || text[at - 1] === '\n' ? text.slice(at, node.start) : null;
}

/** The width of an indent: a tab goes to the next multiple of eight, and none stands after a space. */
const widthOf = (indent: string) => indent.replaceAll('\t', '        ').length;

/** The column of the statement around a block; -1 around the module, null where it does not start its line. */
function outerWidth(block: SyntaxNode, text: string): number | null {
  if (block.type === 'module') return -1;
  for (let at = block.parent; at !== null; at = at.parent) {
    if (at.parent?.type !== 'block' && at.parent?.type !== 'module') continue;
    const indent = indentOf(at, text);
    return indent === null ? null : widthOf(indent);
  }
  return -1;
}

/** All statements of a block stand at one column, deeper than the statement around it; those of a module at 0. */
function visitBlock(block: SyntaxNode, text: string, refuse: Refuse): void {
  const outer = outerWidth(block, text);
  let own: number | null = block.type === 'module' ? 0 : null;
  for (const statement of partsOf(block)) {
    const indent = indentOf(statement, text);
    if (indent === null) continue;
    const width = widthOf(indent);
    if (own === null && (outer === null || width > outer)) own = width;
    if (width !== own) refuse(statement, 'indent', 'This line is not indented like its block.');
  }
}

/** Whether a token at the start of a line may stand there: as the first of a statement, or inside brackets. */
function mayStartLine(token: SyntaxNode): boolean {
  let below: SyntaxNode = token;
  for (let at = token.parent; at !== null; at = at.parent) {
    const isStatement = at.type === 'block' || at.type === 'module' || at.type === 'decorated_definition';
    if (below.start === token.start && (isStatement || CLAUSES.has(below.type))) return true;
    for (const child of at.children) {
      if (child.start >= below.start) break;
      if (OPENING.has(child.type)) return true;
    }
    if (isStatement) return false;
    below = at;
  }
  return true;
}

function visitToken(token: SyntaxNode, judged: JudgedSource, refuse: Refuse): void {
  if (STRING_PARTS.has(token.type)) return;
  const { text } = judged.source;
  const indent = indentOf(token, text);
  if (indent === null) return;
  const continued = text[token.start - indent.length - 2] === '\\';
  if (indent.includes(' \t')) refuse(token, 'tabs', 'A tab stands after a space in the indent.');
  else if (!continued && !mayStartLine(token)) {
    refuse(token, 'line break', 'A line ends within a statement.', 'Put parentheses around the expression.');
  }
}

export const indentation: Rule = {
  id: 'syntax',
  title: 'Lines and indents',
  reason:
    'CPython rounds a tab up to the next multiple of eight, the parser adds eight, and the parser bears with ' +
    'crooked indents and line breaks that CPython refuses: both must see the same blocks.',
  hint: 'Indent with four spaces, and the statements of one block alike.',
  on: ['*'],
  visit(node, judged, refuse) {
    const { text } = judged.source;
    if (node.children.length === 0) visitToken(node, judged, refuse);
    if (node.type === 'block' || node.type === 'module') visitBlock(node, text, refuse);
    const header = CLAUSES.has(node.type) ? node.parent : null;
    const indent = header === null ? null : indentOf(node, text);
    const headerIndent = header === null ? null : indentOf(header, text);
    if (indent !== null && headerIndent !== null && widthOf(indent) !== widthOf(headerIndent)) {
      refuse(node, 'indent', 'This clause is not indented like its statement.');
    }
    const definition = node.type === 'decorated_definition' ? childOf(node, 'definition') : null;
    for (const part of definition === null ? [] : partsOf(node)) {
      const own = indentOf(part, text);
      const first = indentOf(node, text);
      if (own === null || first === null || widthOf(own) !== widthOf(first)) {
        refuse(part, 'indent', 'A decorator and its definition must be indented alike.');
      }
    }
  },
};
