import type { Repair } from '../repair.ts';
import type { Format } from './format.ts';
import { asObject, noText, parseJson } from './format.ts';

/**
 * The service's own webhook: a POST of the prompt, answered with `{"code": "…"}` or with the function as
 * `text/plain` (another `text/*` but HTML will do). A target's name and parameters have no place in it.
 */
export const computeStepFormat: Format = {
  headers: {},
  keyHeader: 'authorization',
  needsName: false,
  reserved: [],

  body: (prompt, _target, context) => ({
    id: context.id,
    prompt: prompt.text,
    system: prompt.system,
    user: prompt.user,
    schema: prompt.schema,
    result_type: prompt.resultType,
    prompt_pack_digest: prompt.packDigest,
    attempt: context.repairs.length + 1,
    ...refusalOf(context.repairs.at(-1)),
  }),

  read(text, contentType) {
    const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
    if (type.startsWith('text/')) {
      return type === 'text/html' ? noText('answer_not_understood') : { kind: 'text', text };
    }
    const value = parseJson(text);
    if (value === undefined) return noText('answer_not_json');
    const code = asObject(value)?.code;
    return typeof code === 'string' ? { kind: 'text', text: code } : noText('answer_not_understood');
  },

  hint: () => undefined,
};

/**
 * The last attempt's function (`code`, empty where there was none) and its first refusal; `others` are its further
 * refusals, `text` says all of it in words for a model.
 */
function refusalOf(repair: Repair | undefined): { readonly refusal?: Readonly<Record<string, unknown>> } {
  if (repair === undefined) return {};
  const [first, ...others] = repair.refusals.map(({ admitted: _, ...refusal }) => refusal);
  return { refusal: { code: repair.earlier, ...first, others, text: repair.text } };
}
