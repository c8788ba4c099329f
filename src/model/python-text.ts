/** `def compute`, at whatever indentation. */
export const DEF_COMPUTE = /^[ \t]*(?:async[ \t]+)?def[ \t]+compute\b/m;

/** Where Python code ends in a text that goes on after it. */
export interface CodeEnd {
  /** Index of the fence that ended the code, or the text's length. */
  readonly end: number;
  /** Whether a fence ended it. */
  readonly closed: boolean;
  /** Whether the text ended inside a triple-quoted string: the quotes are not what they seem. */
  readonly inString: boolean;
}

/**
 * Finds the fence that ends Python code beginning at `from`: a run of three backticks, or a line of `~~~`,
 * that stands outside strings and comments, where Python could not have it. So a fence inside a docstring
 * closes nothing. One pass, linear.
 */
export function pythonCodeEnd(text: string, from: number): CodeEnd {
  let quote = '';
  let lineStart = true;
  let at = from;
  while (at < text.length) {
    const char = text.charAt(at);
    if (quote !== '') {
      if (char === '\\') at += 2;
      else if (text.startsWith(quote, at)) {
        at += quote.length;
        quote = '';
      } else {
        // A string of single quotes ends with its line: an unclosed one spoils no more than that.
        if (char === '\n' && quote.length === 1) {
          quote = '';
          lineStart = true;
        }
        at += 1;
      }
      continue;
    }
    if (char === '`' && text.startsWith('```', at)) return { end: at, closed: true, inString: false };
    if (char === '~' && lineStart && isTildeLine(text, at)) return { end: at, closed: true, inString: false };
    if (char === '#') {
      const newline = text.indexOf('\n', at);
      at = newline === -1 ? text.length : newline;
    } else if (char === '"' || char === "'") {
      quote = text.startsWith(char.repeat(3), at) ? char.repeat(3) : char;
      at += quote.length;
      lineStart = false;
    } else {
      lineStart = char === '\n' || (lineStart && (char === ' ' || char === '\t'));
      at += 1;
    }
  }
  return { end: text.length, closed: false, inString: quote.length === 3 };
}

function isTildeLine(text: string, at: number): boolean {
  let end = at;
  while (text.charAt(end) === '~') end += 1;
  if (end - at < 3) return false;
  while (text.charAt(end) === ' ' || text.charAt(end) === '\t') end += 1;
  return end >= text.length || text.charAt(end) === '\n';
}

const PYTHON_LINE = [
  /^(?:async[ \t]+)?def[ \t]+\w+[ \t]*[([]/u,
  /^class[ \t]+\w+[ \t]*[(:]/,
  /^import[ \t]+[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*(?:,.*|#.*|;.*)?$/,
  /^from[ \t]+[\w.]+[ \t]+import\b/,
  /^@[A-Za-z_]/,
  /^#/,
  /^[rRbBuUfF]{0,2}(?:"""|''')/,
  /^[A-Za-z_][\w.[\]'"]*[ \t]*(?::[^=]{1,200})?(?:[-+*/%&|^]|\/\/|\*\*|<<|>>)?=[^=]/,
  /^(?:if|elif|for|while|with|try|except|finally|else|match|case)\b.{0,1000}:[ \t]*(?:#.*)?$/,
  /^(?:assert|raise|del|return|pass|global|nonlocal|yield|await|async|lambda)\b/,
  /^[A-Za-z_][\w.]*[([]/,
  /^[)\]}]/,
];

/** Whether a line at column 0 can be a line of a Python module, as far as its beginning shows. */
export function looksLikePython(line: string): boolean {
  return PYTHON_LINE.some((pattern) => pattern.test(line));
}

const WRAPPER = /^(?:<\/?[A-Za-z_|]{1,32}>|\[\/?PYTHON\]|python3?|py)$/i;
/** Controls and invisible characters, for which admission refuses a function by name. */
const NOT_IN_PROSE = /(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const WORDS = /\p{L}{2,}/gu;

/**
 * Whether a line is surely words around code and not code: a wrapper such as `<answer>`, or a line at column 0
 * that begins as prose or Markdown does, holds words, and ends as a sentence does. When unsure, it is code:
 * what is kept by mistake is refused by admission, what is dropped by mistake is lost.
 */
export function isProse(line: string): boolean {
  const text = line.trimEnd();
  if (WRAPPER.test(text)) return true;
  if (text.length > 4_000 || looksLikePython(text) || NOT_IN_PROSE.test(text)) return false;
  if (/^\p{L}[\p{L}\p{N} ]*[:：]$/u.test(text)) return true;
  if (!/^(?:[-*+>][ ]|\d{1,3}[.)][ ]|\*\*|__?|[\p{L}"'(])/u.test(text)) return false;
  const words = text.match(WORDS)?.length ?? 0;
  return words >= 8 || (words >= 2 && /[.:!?…。：！？)*_]$/u.test(text) && !/[=;]/.test(text));
}
