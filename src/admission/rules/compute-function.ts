import { childOf, partsOf, type SyntaxNode } from '../syntax-tree.ts';
import type { Refuse, Rule } from './rule.ts';

const NAME = 'compute';
const OWN_SCOPES = new Set(['function_definition', 'lambda', 'class_definition']);

/** The first `yield` that belongs to the function itself. Recursion is bounded by MAX_TREE_DEPTH. */
function ownYield(node: SyntaxNode): SyntaxNode | null {
  if (node.type === 'yield') return node;
  for (const part of partsOf(node)) {
    if (OWN_SCOPES.has(part.type)) continue;
    const found = ownYield(part);
    if (found !== null) return found;
  }
  return null;
}

function visitParameters(definition: SyntaxNode, refuse: Refuse): void {
  const hint = 'Write def compute(data):';
  let required = 0;
  let keywordOnly = false;
  const parameters = childOf(definition, 'parameters');
  for (const parameter of parameters ? partsOf(parameters) : []) {
    if (parameter.type === 'keyword_separator') keywordOnly = true;
    else if (parameter.type === 'identifier' || parameter.type === 'typed_parameter') {
      const splat = partsOf(parameter)[0]?.type.endsWith('splat_pattern') === true;
      if (splat) refuse(parameter, NAME, 'compute may not take *args or **kwargs.', hint);
      else if (keywordOnly)
        refuse(parameter, NAME, 'A keyword-only parameter of compute needs a default.', hint);
      else required += 1;
    } else if (parameter.type.endsWith('splat_pattern')) {
      refuse(parameter, NAME, 'compute may not take *args or **kwargs.', hint);
    }
  }
  if (required !== 1) {
    refuse(
      childOf(definition, 'name') ?? definition,
      NAME,
      'compute must take exactly one required argument.',
      hint,
    );
  }
}

export const computeFunction: Rule = {
  id: 'structure',
  title: 'The function compute(data)',
  reason: 'The sandbox calls compute(data) once; what that name means must be plain from the source.',
  hint: 'Define the function once, at the top level, without a decorator: def compute(data):',
  on: ['module'],
  visit(module, judged, refuse) {
    const top = partsOf(module).filter((node) => node.type === 'function_definition');
    const definitions = top.filter((node) => childOf(node, 'name')?.text === NAME);
    const [definition] = definitions;
    if (definition === undefined) {
      refuse(module, NAME, 'There is no top-level function named compute.');
    } else {
      visitParameters(definition, refuse);
      const body = childOf(definition, 'body');
      const yields = body === null ? null : ownYield(body);
      if (yields !== null) {
        refuse(yields, 'yield in compute', 'compute may not be a generator.', 'Return a list instead.');
      }
    }
    const own = definition === undefined ? null : childOf(definition, 'name');
    for (const { node, name, kind, scope } of judged.bound.bindings) {
      // A method of that name does not touch the entry point.
      if (name !== NAME || node === own || (kind === 'def' && scope.kind === 'class')) continue;
      refuse(node, NAME, 'The name compute is bound a second time.', 'Give the other one another name.');
    }
  },
};
