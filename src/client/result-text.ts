/**
 * The text of `result` in a Computation's JSON, as the service sent it: 9007199254740993 and 2**200 keep their digits,
 * which JSON.parse would round. Null where there is none. The text must have been parsed once: its grammar is not
 * checked here.
 */
export function resultTextOf(computation: string): string | null {
  let at = afterSpace(computation, 0) + 1;
  while (at < computation.length) {
    const keyAt = afterSpace(computation, at);
    if (computation[keyAt] !== '"') return null;
    const keyEnd = afterString(computation, keyAt);
    const valueAt = afterSpace(computation, afterSpace(computation, keyEnd) + 1);
    const valueEnd = afterValue(computation, valueAt);
    if (JSON.parse(computation.slice(keyAt, keyEnd)) === 'result') {
      return computation.slice(valueAt, valueEnd);
    }
    at = afterSpace(computation, valueEnd) + 1;
  }
  return null;
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return at;
}

/** Past the closing quote: the next one that no backslash escapes. */
function afterString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** Past a value: a string, or everything up to the bracket that closes it, or to the end of a bare word. */
function afterValue(text: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const character = text[at] as string;
    if (character === '"') {
      at = afterString(text, at);
      if (depth === 0) return at;
      continue;
    }
    if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && ', \n\r\t'.includes(character)) return at;
    at += 1;
  }
  return at;
}
