import type { AdmissionRefusal } from '../contract/admission.ts';

/** Longest line of the function that is quoted, in UTF-16 units. */
const QUOTED_CHARS = 200;
/** Controls, format characters, line separators, halves of pairs, and every blank but the plain one. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/**
 * What a model is told of its refused function: each refusal with its place, the line, what is wrong and what to
 * write instead. Pure, and of the refusals and the model's own `source` only: nothing of a run can stand in it.
 */
export function repairText(refusals: readonly AdmissionRefusal[], source: string): string {
  const lines = source.split('\n');
  const items = refusals.map(({ rule, line, column, message, hint }, index) => {
    const quoted = shown(lines[line - 1] ?? '');
    return [
      `${index + 1}. Line ${line}, column ${column}${quoted === '' ? '' : `: ${quoted}`}`,
      `   Refused by ${rule}. ${message}`,
      `   Instead: ${hint}`,
    ].join('\n');
  });
  return `The static analysis refused this function, so it was not run.

${items.join('\n')}

Write the whole of \`compute(data)\` again with this put right, everything else as it was. All rules of the first message still hold. Answer with the Python code only.`;
}

/** A line of the function as it can be read: what no one sees stands as its code point. */
function shown(line: string): string {
  return line
    .trim()
    .slice(0, QUOTED_CHARS)
    .replace(
      UNSEEN,
      (char) => `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`,
    );
}

/** What a model is told whose reply held no function. */
export const NO_FUNCTION_TEXT =
  'There was no Python function in this answer. Write `compute(data)` for the task above. Answer with the Python code only: no explanation, no Markdown.';
