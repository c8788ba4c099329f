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
    attempt: context.attempt,
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
