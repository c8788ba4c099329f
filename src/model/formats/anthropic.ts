import type { Format } from './format.ts';
import { asObject, noText, parseJson, repairTurns } from './format.ts';

/** The version of the Messages API whose request and answer are written down here. */
const API_VERSION = '2023-06-01';

/** Why an answer stopped, where that means there is no whole function in it. */
const STOPPED = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'refused',
  tool_use: 'tool_calls',
  pause_turn: 'tool_calls',
} as const;

/**
 * A Messages request. The API requires `max_tokens`, and the service sets no limit of its own: the target's
 * parameters must give it. Without it the request still goes out (gateways may fill it in); a 400 then says so.
 */
export const anthropicFormat: Format = {
  headers: { 'anthropic-version': API_VERSION },
  keyHeader: 'x-api-key',
  needsName: true,
  reserved: ['model', 'messages', 'system'],

  body: (prompt, target, { repairs }) => ({
    ...target.parameters,
    model: target.name,
    system: prompt.system,
    messages: [{ role: 'user', content: prompt.user }, ...repairTurns(repairs)],
  }),

  read(text) {
    const value = parseJson(text);
    if (value === undefined) return noText('answer_not_json');
    const message = asObject(value);
    if (message === null || !Array.isArray(message.content)) return noText('answer_not_understood');
    const stop = message.stop_reason;
    if (typeof stop === 'string' && Object.hasOwn(STOPPED, stop)) {
      return noText(STOPPED[stop as keyof typeof STOPPED]);
    }
    const blocks = message.content
      .map(asObject)
      .map((block) => (block?.type === 'text' && typeof block.text === 'string' ? block.text : ''))
      .join('');
    return blocks.trim() === '' ? noText('empty_answer') : { kind: 'text', text: blocks };
  },

  hint: (status, target) =>
    status === 400 && !Object.hasOwn(target.parameters, 'max_tokens')
      ? 'The Messages API requires model.parameters.max_tokens; the service sends no limit of its own.'
      : undefined,
};
