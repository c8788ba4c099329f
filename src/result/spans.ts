/** A value inside a JSON text: `text.slice(start, end)`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Member extends Span {
  /** The member's name, unescaped. */
  readonly key: string;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Where the JSON value begins that follows `at`. */
export function skipSpace(text: string, at: number): number {
  let index = at;
  for (;;) {
    const code = text.charCodeAt(index);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) {
      return index;
    }
    index += 1;
  }
}

/** Past the closing quote of the string that begins at `at`. */
function stringEnd(text: string, at: number): number {
  let close = text.indexOf('"', at + 1);
  while (close !== -1) {
    let escapes = 0;
    while (text.charCodeAt(close - 1 - escapes) === BACKSLASH) {
      escapes += 1;
    }
    if (escapes % 2 === 0) {
      return close + 1;
    }
    close = text.indexOf('"', close + 1);
  }
  return text.length;
}

/**
 * Past the value that begins at `at`, in a text known to be valid JSON. Iterative, so depth costs no stack.
 * Values are found by their place and never parsed: their digits stay as they are.
 */
export function valueEnd(text: string, at: number): number {
  let depth = 0;
  let index = at;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      index = stringEnd(text, index);
    } else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      index += 1;
      continue;
    } else if (code === 0x5d || code === 0x7d) {
      depth -= 1;
      index += 1;
    } else if (depth > 0) {
      index += 1;
      continue;
    } else {
      return tokenEnd(text, index);
    }
    if (depth === 0) {
      return index;
    }
  }
  return text.length;
}

/** Past a number, `true`, `false` or `null`: up to a comma, a bracket, a space or the end. */
function tokenEnd(text: string, at: number): number {
  let index = at;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code === 0x2c || code === 0x5d || code === 0x7d || code <= 0x20) {
      break;
    }
    index += 1;
  }
  return index;
}

/** The elements of the array that begins at `at`, in a text known to be valid JSON. */
export function* elements(text: string, at: number): Generator<Span> {
  let start = skipSpace(text, at + 1);
  while (start < text.length && text.charCodeAt(start) !== 0x5d) {
    const end = valueEnd(text, start);
    yield { start, end };
    start = skipSpace(text, end);
    if (text.charCodeAt(start) === 0x2c) {
      start = skipSpace(text, start + 1);
    }
  }
}

/** The members of the object that begins at `at`, in a text known to be valid JSON. */
export function* members(text: string, at: number): Generator<Member> {
  let name = skipSpace(text, at + 1);
  while (name < text.length && text.charCodeAt(name) !== 0x7d) {
    const nameEnd = stringEnd(text, name);
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const end = valueEnd(text, start);
    yield { key: JSON.parse(text.slice(name, nameEnd)) as string, start, end };
    name = skipSpace(text, end);
    if (text.charCodeAt(name) === 0x2c) {
      name = skipSpace(text, name + 1);
    }
  }
}
