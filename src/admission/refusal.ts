import type { AdmissionRefusal, RuleId } from '../contract/admission.ts';
import { placeOf, type SourceText } from './source-text.ts';

/** Longest `rule` text; it is a log field and stands in answers. */
const MAX_RULE_CHARS = 64;

/** A name out of the source made safe to show: printable ASCII as it is, all else escaped. */
export function escapedName(name: string): string {
  let out = '';
  for (const char of name) {
    const code = char.codePointAt(0) ?? 0;
    out += code >= 0x20 && code < 0x7f && char !== '\\' ? char : `\\u{${code.toString(16)}}`;
    if (out.length >= MAX_RULE_CHARS) break;
  }
  return out;
}

/** A refusal by one rule. `name` is what the rule met, from the code and never from data. */
export function refusalAt(
  source: SourceText,
  offset: number,
  id: RuleId,
  name: string,
  message: string,
  hint: string,
): AdmissionRefusal {
  const { line, column } = placeOf(source, Math.min(offset, source.text.length - 1));
  const rule = `${id}: ${escapedName(name)}`.slice(0, MAX_RULE_CHARS);
  return { admitted: false, rule_id: id, rule, line, column, message, hint };
}
