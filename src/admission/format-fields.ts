/** What is wrong with a format string; null if its fields only take arguments by position or plain name. */
export type FormatFault = 'attribute' | 'index' | 'name' | 'nesting' | 'braces';

const FIELD_NAME = /^(?:[0-9]*|[\p{XID_Start}_]\p{XID_Continue}*)$/u;

/**
 * Checks a str.format template as CPython reads it: each field empty, digits or a plain identifier; fields in a
 * specification likewise, one level deep. A template with unmatched braces is a fault too.
 */
export function formatFault(template: string, level = 0): FormatFault | null {
  let at = 0;
  while (at < template.length) {
    const char = template[at];
    if (char === '{' || char === '}') {
      // Doubled braces are literal in the template, not inside a specification.
      if (level === 0 && template[at + 1] === char) {
        at += 2;
        continue;
      }
      if (char === '}') return 'braces';
      const end = closingBrace(template, at);
      if (end === -1) return 'braces';
      const fault = fieldFault(template.slice(at + 1, end), level);
      if (fault !== null) return fault;
      at = end;
    }
    at += 1;
  }
  return null;
}

function fieldFault(field: string, level: number): FormatFault | null {
  if (level > 1) return 'nesting';
  const cut = field.search(/[!:]/);
  const name = cut === -1 ? field : field.slice(0, cut);
  if (name.includes('.')) return 'attribute';
  if (name.includes('[')) return 'index';
  if (!FIELD_NAME.test(name)) return 'name';
  if (cut === -1) return null;
  const rest = field.slice(cut);
  const conversion = /^![rsa](?=:|$)/.exec(rest);
  if (rest.startsWith('!') && conversion === null) return 'name';
  const spec = conversion === null ? rest.slice(1) : rest.slice(3);
  return formatFault(spec, level + 1);
}

/** The brace that closes the one at `open`, counting nested ones; -1 if there is none. */
function closingBrace(template: string, open: number): number {
  let depth = 0;
  for (let at = open; at < template.length; at += 1) {
    if (template[at] === '{') depth += 1;
    else if (template[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}
