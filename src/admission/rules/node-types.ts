import type { Rule } from './rule.ts';

const words = (text: string): string[] => text.trim().split(/\s+/);

const NODES = new Set(
  words(`
    module block expression_statement assignment augmented_assignment return_statement
    delete_statement for_statement while_statement if_statement elif_clause else_clause with_statement with_clause
    with_item match_statement case_clause if_clause raise_statement try_statement except_clause finally_clause
    assert_statement import_statement import_from_statement future_import_statement aliased_import dotted_name
    wildcard_import relative_import import_prefix nonlocal_statement pass_statement break_statement
    continue_statement function_definition class_definition decorated_definition decorator parameters
    lambda_parameters default_parameter typed_parameter typed_default_parameter keyword_separator
    positional_separator list_splat_pattern dictionary_splat_pattern pattern_list tuple_pattern list_pattern
    type generic_type type_parameter union_type as_pattern as_pattern_target
    case_pattern class_pattern keyword_pattern dict_pattern splat_pattern union_pattern complex_pattern
    identifier attribute subscript slice call argument_list keyword_argument list_splat dictionary_splat
    unary_operator binary_operator boolean_operator not_operator comparison_operator conditional_expression
    named_expression lambda yield list tuple set dictionary pair expression_list parenthesized_expression
    list_comprehension set_comprehension dictionary_comprehension generator_expression for_in_clause
    integer float true false none ellipsis string concatenated_string string_start string_content string_end
    escape_sequence escape_interpolation interpolation format_specifier format_expression type_conversion
  `),
);

const TOKENS = new Set(
  words(`
    ( ) [ ] { } , : ; . = -> := + - * / // % ** << >> & | ^ ~ < > <= >= == !=
    += -= *= /= //= %= **= >>= <<= &= ^= |= _ and as assert break case class continue def del elif else except
    finally for from if import in is lambda match nonlocal not or pass raise return try while with yield
    __future__
  `).concat(['not in', 'is not']),
);

/** Words for what is met most often; anything else that is not on the lists is named by its type. */
const KNOWN: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  async: ['Asynchronous code is not admitted.', 'Write an ordinary def, for or with.'],
  await: ['Asynchronous code is not admitted.', 'Call the function without await.'],
  global_statement: [
    'The global statement is not admitted.',
    'Return the value, or keep it in a local variable, a list or a dictionary.',
  ],
  type_alias_statement: ['The type statement is not admitted.', 'Leave the alias out or assign it with "=".'],
  exec_statement: ['The exec statement is not Python 3.', 'Write the statements out.'],
  print_statement: ['The print statement is not Python 3.', 'Remove it; return the result.'],
  '<>': ['The operator <> is not Python 3.', 'Use !=.'],
  '@': ['The matrix operator is not admitted.', 'Multiply with loops and sum().'],
  '@=': ['The matrix operator is not admitted.', 'Multiply with loops and sum().'],
};

/** An `@` is fine before a decorator, a `*` everywhere but after `except`, a type parameter in brackets only. */
function isAdmitted(type: string, parentType: string, field: string | null, named: boolean): boolean {
  if (!named) {
    // A node that is refused is refused once, not again for each of its tokens.
    if (!NODES.has(parentType)) return true;
    if (type === '@') return parentType === 'decorator';
    if (type === '*' && parentType === 'except_clause') return false;
    return TOKENS.has(type);
  }
  if (type === 'type_parameter') return field === null;
  return NODES.has(type);
}

export const nodeTypes: Rule = {
  id: 'syntax',
  title: 'Statements, expressions and tokens',
  reason:
    'The parser reads more than CPython 3 does, so every kind of node and token is on a list. except* confuses ' +
    'types in CPython 3.11 to 3.13.1 (CVE-2025-22153); async, global, type parameters and matrix operators have ' +
    'no use here.',
  hint: 'Use plain Python 3: functions, classes, loops, comprehensions, with, try and match.',
  on: ['*'],
  visit(node, _judged, refuse) {
    const parentType = node.parent?.type ?? '';
    if (isAdmitted(node.type, parentType, node.field, node.named)) return;
    if (node.type === '*') {
      refuse(node, 'except*', 'except* is not admitted.', 'Use except.');
      return;
    }
    if (node.type === 'type_parameter') {
      refuse(node, 'type parameters', 'Type parameters are not admitted.', 'Remove the [T] after the name.');
      return;
    }
    const known = KNOWN[node.type];
    const name = node.type.replaceAll('_', ' ');
    refuse(node, name, known?.[0] ?? `This is not admitted: ${name}.`, known?.[1]);
  },
};
