import { childOf, partsOf, type SyntaxNode } from '../syntax-tree.ts';
import type { Refuse, Rule } from './rule.ts';

/** In a call positional arguments come first; `*values` may follow a keyword, but not `**mapping`. */
function visitArguments(list: SyntaxNode, refuse: Refuse): void {
  let after = '';
  for (const argument of partsOf(list)) {
    if (argument.type === 'keyword_argument' && after === '') after = 'keyword';
    else if (argument.type === 'dictionary_splat') after = '**';
    else if (argument.type !== 'keyword_argument' && after !== '') {
      if (argument.type === 'list_splat' && after === 'keyword') continue;
      refuse(
        argument,
        'argument order',
        'A positional argument follows a keyword.',
        'Put it first, or name it.',
      );
      return;
    }
  }
}

/** The name of a parameter, without star, annotation and default. */
function nameOf(parameter: SyntaxNode): string | null {
  let at: SyntaxNode | undefined = parameter;
  while (at !== undefined && at.type !== 'identifier') at = partsOf(at)[0];
  return at?.text ?? null;
}

/** No name twice, and before the star none without a default after one with. */
function visitParameters(list: SyntaxNode, refuse: Refuse): void {
  const names = new Set<string>();
  let defaulted = false;
  let keywordOnly = false;
  for (const parameter of partsOf(list)) {
    const name = nameOf(parameter);
    const star = parameter.type === 'typed_parameter' ? (partsOf(parameter)[0]?.type ?? '') : parameter.type;
    if (star === 'keyword_separator' || star === 'list_splat_pattern') keywordOnly = true;
    if (name !== null && names.has(name)) {
      refuse(parameter, `parameter ${name}`, 'Two parameters have one name.', 'Rename one of them.');
    }
    if (name !== null) names.add(name);
    if (parameter.type.includes('default_parameter')) defaulted = true;
    else if (name !== null && defaulted && !keywordOnly && star !== 'dictionary_splat_pattern') {
      refuse(
        parameter,
        `parameter ${name}`,
        'A parameter without a default follows one with.',
        'Reorder them.',
      );
    }
  }
}

/** Whether `break` or `continue` has a loop around it in its own function or class; not in the loop's else. */
function isInLoop(node: SyntaxNode): boolean {
  let below = node;
  for (let at = node.parent; at !== null; at = at.parent) {
    if (at.type === 'for_statement' || at.type === 'while_statement') {
      if (below.field === 'body') return true;
    } else if (at.type === 'function_definition' || at.type === 'class_definition') return false;
    below = at;
  }
  return false;
}

export const compileErrors: Rule = {
  id: 'syntax',
  title: 'What CPython refuses to compile',
  reason: 'A function that does not compile would only fail in the sandbox; refused here it can be repaired.',
  hint: 'Write the statement as Python 3 has it.',
  on: [
    'module',
    'argument_list',
    'parameters',
    'lambda_parameters',
    'assignment',
    'named_expression',
    'break_statement',
    'continue_statement',
  ],
  visit(node, judged, refuse) {
    switch (node.type) {
      case 'module':
        if (judged.source.text.endsWith('\\\n')) {
          const end = { ...node, start: judged.source.text.length - 2 };
          refuse(end, 'line break', 'The last line is continued.', 'Remove the backslash at the end.');
        }
        return;
      case 'argument_list':
        visitArguments(node, refuse);
        return;
      case 'parameters':
      case 'lambda_parameters':
        visitParameters(node, refuse);
        return;
      case 'assignment': {
        const left = childOf(node, 'left');
        if (left?.type === 'list_splat_pattern' || left?.type === 'list_splat') {
          refuse(
            left,
            '*',
            'A starred target stands alone.',
            'Write [*name] = values, or name = list(values).',
          );
        }
        return;
      }
      case 'named_expression':
        if (node.parent?.type === 'expression_statement' || node.parent?.type === 'assignment') {
          refuse(node, ':=', 'The := needs parentheses here.', 'Use = for an assignment.');
        }
        return;
      default: {
        const word = node.type === 'break_statement' ? 'break' : 'continue';
        if (!isInLoop(node)) refuse(node, word, `${word} stands outside a loop.`, `Remove the ${word}.`);
      }
    }
  },
};
