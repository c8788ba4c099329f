import { ancestorOf, childrenOfType, partsOf, type SyntaxNode } from '../syntax-tree.ts';
import type { Refuse, Rule } from './rule.ts';

/** Whether `return` or `yield` has a function around it before a class or the module. */
function isInFunction(node: SyntaxNode): boolean {
  const around = ancestorOf(node, ['function_definition', 'lambda', 'class_definition']);
  return around !== null && around.type !== 'class_definition';
}

/** Where `value as name` means something. */
function isAsPatternPlace(node: SyntaxNode): boolean {
  const parent = node.parent?.type ?? '';
  return parent === 'with_item' || parent === 'except_clause' || parent === 'case_pattern';
}

function visitExcept(node: SyntaxNode, refuse: Refuse): void {
  const values = node.children.filter((child) => child.field === 'value');
  if (values.length > 1) {
    refuse(node, 'except', 'Several exceptions need parentheses.', 'Write except (A, B).');
  }
}

/** A key of a mapping pattern is a literal or a dotted name: a lone name would be a capture, which is no key. */
function visitDictPattern(node: SyntaxNode, refuse: Refuse): void {
  for (const key of node.children.filter((child) => child.field === 'key')) {
    const literal = /^(?:string|concatenated_string|integer|float|complex_pattern|true|false|none|-)$/;
    const dotted = key.type === 'dotted_name' && partsOf(key).length > 1;
    if (!literal.test(key.type) && !dotted)
      refuse(key, 'pattern key', 'A key of a mapping pattern must be a literal.');
  }
}

/** `f(,)` and `{,}`, which the parser reads. */
function visitBrackets(node: SyntaxNode, refuse: Refuse): void {
  const second = node.children[1];
  if (second?.type === ',') refuse(second, 'comma', 'A comma stands alone.', 'Remove the comma.');
}

/** `a = b = c` is a chain; `a += b = c`, `a: int = b = c` and `f(a = b += c)` are none. */
function visitAssignment(node: SyntaxNode, refuse: Refuse): void {
  const parent = node.parent;
  const chained = parent?.type === 'assignment' && !parent.children.some(({ field }) => field === 'type');
  const plain = node.type === 'assignment' && !node.children.some(({ field }) => field === 'type');
  if (parent?.type === 'expression_statement' || (chained && plain)) return;
  refuse(node, 'assignment', 'An assignment stands inside another statement.', 'Use a line of its own.');
}

/** Where `*value` may stand. */
const SPLAT_PLACES = new Set(
  'argument_list list tuple set expression_list pattern_list subscript type_parameter'.split(' '),
);

export const statementShape: Rule = {
  id: 'syntax',
  title: 'Shape of statements',
  reason:
    'The parser is more lenient than CPython. What CPython would refuse to compile is refused before a run.',
  hint: 'Write the statement as Python 3 has it.',
  on: [
    'block',
    'match_statement',
    'except_clause',
    'for_in_clause',
    'as_pattern',
    'return_statement',
    'yield',
    'dict_pattern',
    'keyword_pattern',
    'named_expression',
    'argument_list',
    'dictionary',
    'list_splat',
    'try_statement',
    'assignment',
    'augmented_assignment',
    'module',
  ],
  visit(node, judged, refuse) {
    switch (node.type) {
      case 'module':
        for (const bad of judged.bound.badTargets) {
          refuse(
            bad,
            'target',
            'This cannot be assigned to or deleted.',
            'Use a name, a list element or a key.',
          );
        }
        for (const name of judged.bound.orphans) {
          refuse(
            name,
            `nonlocal ${name.text}`,
            'No enclosing function has this name.',
            'Remove the nonlocal.',
          );
        }
        return;
      case 'block':
        if (partsOf(node).length === 0) refuse(node, 'empty block', 'A block is empty.', 'Write pass in it.');
        return;
      case 'except_clause':
        visitExcept(node, refuse);
        return;
      case 'for_in_clause':
        if (node.children.filter((child) => child.field === 'right').length > 1) {
          refuse(node, 'for', 'Several iterables need parentheses.', 'Write for x in (a, b).');
        }
        return;
      case 'as_pattern':
        if (!isAsPatternPlace(node))
          refuse(node, 'as', '"as" has no meaning here.', 'Assign to a name instead.');
        return;
      case 'return_statement':
      case 'yield':
        if (!isInFunction(node)) {
          const word = node.type === 'yield' ? 'yield' : 'return';
          refuse(node, word, `${word} stands outside a function.`, `Move the ${word} into a function.`);
        }
        return;
      case 'dict_pattern':
        visitDictPattern(node, refuse);
        return;
      case 'keyword_pattern':
        if (node.parent?.parent?.type !== 'class_pattern') {
          refuse(
            node,
            'pattern',
            'A keyword pattern belongs in a class pattern.',
            'Write Name(field=pattern).',
          );
        }
        return;
      case 'try_statement':
        if (!node.children.some(({ type }) => type === 'except_clause' || type === 'finally_clause')) {
          refuse(node, 'try', 'A try has neither except nor finally.', 'Write except ValueError: after it.');
        }
        return;
      case 'assignment':
      case 'augmented_assignment':
        visitAssignment(node, refuse);
        return;
      case 'argument_list':
      case 'dictionary':
        visitBrackets(node, refuse);
        return;
      case 'list_splat':
        if (!SPLAT_PLACES.has(node.parent?.type ?? '')) {
          refuse(node, '*', 'A starred expression cannot stand here.', 'Put it into a list: [*values].');
        }
        return;
      case 'named_expression':
        if (childrenOfType(node, 'identifier').length === 0) refuse(node, ':=', 'The := needs a name.');
        return;
      default:
    }
  },
};
