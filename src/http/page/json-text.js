const LINE_WIDTH = 64;

/**
 * The text of a top-level member of a JSON object, as it stands there: no digit is read and written again. Null where
 * there is no such member. The text must be valid JSON.
 * @param {string} text
 * @param {string} name
 * @returns {string | null}
 */
export function memberText(text, name) {
  let at = skipSpace(text, 0);
  while (text[at] === '{' || text[at] === ',') {
    const key = skipSpace(text, at + 1);
    const keyEnd = valueEnd(text, key);
    if (keyEnd === key) {
      return null;
    }
    const value = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, value);
    if (JSON.parse(text.slice(key, keyEnd)) === name) {
      return text.slice(value, end);
    }
    at = skipSpace(text, end);
  }
  return null;
}

/**
 * A JSON text with line breaks and indents between its tokens, and every token as it was. What fits on a line stays
 * on one. The text must be valid JSON.
 * @param {string} text
 * @returns {string}
 */
export function indented(text) {
  const lines = [''];
  let depth = 0;
  const broken = () => lines.push('  '.repeat(depth));
  const add = (/** @type {string} */ part) => {
    lines[lines.length - 1] += part;
  };
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    const char = /** @type {string} */ (text[at]);
    const end = valueEnd(text, at);
    if (char === ',') {
      add(char);
      broken();
    } else if (char === ':') {
      add(': ');
    } else if (char === '}' || char === ']') {
      depth -= 1;
      broken();
      add(char);
    } else if ((char === '{' || char === '[') && end - at > LINE_WIDTH) {
      add(char);
      depth += 1;
      broken();
    } else {
      add(text.slice(at, end));
      at = end;
      continue;
    }
    at += 1;
  }
  return lines.join('\n');
}

/**
 * A JSON object as it was typed, without the space around it; null where it is not one.
 * @param {string} text
 * @returns {string | null}
 */
export function objectText(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? text.trim() : null;
  } catch {
    return null;
  }
}

/**
 * @param {string} text
 * @param {number} from
 */
function skipSpace(text, from) {
  let at = from;
  while (at < text.length && ' \t\n\r'.includes(/** @type {string} */ (text[at]))) {
    at += 1;
  }
  return at;
}

/**
 * Where the value that starts here ends: after its last character.
 * @param {string} text
 * @param {number} from
 */
function valueEnd(text, from) {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      at = stringEnd(text, at);
      if (depth === 0) {
        return at + 1;
      }
    } else if (char === '{' || char === '[') {
      depth += 1;
    } else if (char === '}' || char === ']') {
      depth -= 1;
      if (depth <= 0) {
        return depth < 0 ? at : at + 1;
      }
    } else if (depth === 0 && ',: \t\n\r'.includes(/** @type {string} */ (char))) {
      return at;
    }
  }
  return text.length;
}

/**
 * @param {string} text
 * @param {number} from
 */
function stringEnd(text, from) {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') {
    at += text[at] === '\\' ? 2 : 1;
  }
  return at;
}
