import { formatFault } from '../format-fields.ts';
import type { JudgedSource } from '../judged-source.ts';
import { assignedLiteral, calledReceiver, decodedString } from '../python-string.ts';
import { childOf, partsOf, type SyntaxNode, unwrapped } from '../syntax-tree.ts';
import type { Refuse, Rule } from './rule.ts';

/** Methods that read a template and are refused whatever they are called on. */
const WALKERS = new Set(['format_map', 'vformat', 'get_field']);

/** The template that a receiver of `.format` is for sure, or null. */
function templateOf(receiver: SyntaxNode, judged: JudgedSource): string | null {
  const node = unwrapped(receiver);
  if (node.type !== 'identifier') return decodedString(node, judged.source.text);
  const name = judged.soleName(node);
  if (name === null || name.scope.kind === 'class') return null;
  return judged.once('template', name, () => {
    const literal = assignedLiteral(name.bindings);
    return literal === null ? null : decodedString(literal, judged.source.text);
  });
}

/** `Money(5).format(…)`, where the class of the source defines `format`. */
function isOwnFormat(receiver: SyntaxNode, judged: JudgedSource): boolean {
  const node = unwrapped(receiver);
  const callee = node.type === 'call' ? childOf(node, 'function') : null;
  const definition = callee === null ? null : judged.classOf(callee);
  if (definition === null) return false;
  const owners = judged.once('own formats', judged.root, () => {
    const methods = judged.bound.bindings.filter(({ name, kind }) => name === 'format' && kind === 'def');
    // Only a def that stands directly in the body is sure to run.
    const direct = methods.filter(({ scope, value }) => value?.parent?.parent === scope.node);
    return new Set(direct.map(({ scope }) => scope.node));
  });
  return owners.has(definition);
}

function visitCall(node: SyntaxNode, at: SyntaxNode, judged: JudgedSource, refuse: Refuse): void {
  const receiver = calledReceiver(node);
  if (receiver === null) {
    refuse(at, 'format', 'The method format may only be called.');
    return;
  }
  if (isOwnFormat(receiver, judged)) return;
  const template = templateOf(receiver, judged);
  if (template === null) {
    refuse(at, 'format', 'format may only be called on a literal text, or on a name that is one.');
    return;
  }
  const fault = formatFault(template);
  if (fault === null) return;
  const what =
    fault === 'attribute' || fault === 'index' ? `walks into its argument (${fault})` : 'is not plain';
  refuse(at, `format ${fault}`, `A field of this format string ${what}.`);
}

/** `attribute` is the expression that reads the name, or null where a pattern reads it. */
function visitName(
  at: SyntaxNode | undefined,
  attribute: SyntaxNode | null,
  judged: JudgedSource,
  refuse: Refuse,
): void {
  if (at === undefined) return;
  if (WALKERS.has(at.text)) {
    refuse(at, at.text, `The method ${at.text} walks attributes named in a text.`);
  } else if (at.text === 'format') {
    if (attribute === null) refuse(at, 'format', 'The method format may only be called.');
    else visitCall(attribute, at, judged, refuse);
  }
}

/** A pattern reads the fields of a class by position: a field format of a subclass of str is str.format. */
function visitField(node: SyntaxNode, judged: JudgedSource, refuse: Refuse): void {
  const binding = judged.binding(node);
  if (binding?.scope.kind !== 'class') return;
  if (binding.name !== 'format' ? !WALKERS.has(binding.name) : binding.kind === 'def') return;
  refuse(
    node,
    binding.name,
    `A field may not be named ${binding.name}.`,
    'Use another name, such as layout.',
  );
}

export const formatStrings: Rule = {
  id: 'string',
  title: 'Format strings',
  reason:
    'A field such as {0.__class__} reads attributes that no rule on attributes sees, and joined with an ' +
    "exception's obj gives a live object (CVE-2026-0863). So a template must be known and its fields plain.",
  hint: 'Use an f-string, or fields such as {}, {0} and {name} with the value computed in the arguments.',
  on: ['attribute', 'dotted_name', 'keyword_pattern', 'identifier'],
  visit(node, judged, refuse) {
    const parts = partsOf(node);
    switch (node.type) {
      case 'attribute':
        visitName(parts.at(-1), node, judged, refuse);
        return;
      case 'dotted_name':
        if (node.parent?.type.includes('import') === true) return;
        for (const part of parts.slice(1)) visitName(part, null, judged, refuse);
        return;
      case 'keyword_pattern':
        visitName(parts[0], null, judged, refuse);
        return;
      default:
        visitField(node, judged, refuse);
    }
  },
};
