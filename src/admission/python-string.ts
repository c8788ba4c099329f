import { childOf, partsOf, type SyntaxNode } from './syntax-tree.ts';

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

const ESCAPE = /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))/g;

/**
 * The text of a string literal, or of adjacent ones joined, with escapes decoded as CPython does. Null for
 * anything else, for f-strings and bytes, and for `\N{…}`, whose names are not known here.
 */
export function decodedString(node: SyntaxNode, source: string): string | null {
  if (node.type === 'parenthesized_expression') {
    const [inner, second] = partsOf(node);
    return inner === undefined || second !== undefined ? null : decodedString(inner, source);
  }
  const pieces = node.type === 'concatenated_string' ? partsOf(node) : [node];
  let text = '';
  for (const piece of pieces) {
    const decoded = piece.type === 'string' ? decodedLiteral(piece, source) : null;
    if (decoded === null) return null;
    text += decoded;
  }
  return text;
}

function decodedLiteral(node: SyntaxNode, source: string): string | null {
  const start = node.children[0];
  const end = node.children.at(-1);
  if (start?.type !== 'string_start' || end?.type !== 'string_end') return null;
  const prefix = start.text.replace(/['"]+$/, '').toLowerCase();
  const body = source.slice(start.end, end.start);
  if (prefix === 'r') return body;
  if (prefix !== '' && prefix !== 'u') return null;
  let known = true;
  const text = body.replace(ESCAPE, (whole, octal, x, u, wide, simple: string | undefined) => {
    const digits = x ?? u ?? wide;
    if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
    if (digits !== undefined) {
      const code = Number.parseInt(digits, 16);
      if (code <= 0x10ffff) return String.fromCodePoint(code);
      known = false;
    }
    // A named character, or a number cut short: CPython knows, or refuses to compile.
    if (simple === 'N' || simple === 'x' || simple === 'u' || simple === 'U') known = false;
    return simple === undefined ? whole : (SIMPLE_ESCAPES[simple] ?? whole);
  });
  return known ? text : null;
}

/** The literal that a name is bound to, once and nowhere else; null if it may be anything else. */
export function assignedLiteral(
  bindings: readonly { kind: string; value: SyntaxNode | null }[],
): SyntaxNode | null {
  const [binding, another] = bindings;
  if (binding?.kind !== 'assign' || another !== undefined) return null;
  return binding.value;
}

/** The type of a call's receiver, `x` of `x.name(…)`; null where the attribute is not called. */
export function calledReceiver(attribute: SyntaxNode): SyntaxNode | null {
  if (attribute.field !== 'function' || attribute.parent?.type !== 'call') return null;
  return childOf(attribute, 'object');
}
