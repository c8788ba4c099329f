import type { AnswerText, Format } from './format.ts';
import { asObject, noText, parseJson, repairTurns } from './format.ts';

/**
 * A Chat Completions request (OpenAI, and vLLM, Ollama, LiteLLM, llama.cpp server, which speak it too). Sends
 * model, messages and the target's parameters, nothing else: no temperature and no token limit of our own.
 */
export const openaiFormat: Format = {
  headers: {},
  keyHeader: 'authorization',
  needsName: true,
  reserved: ['model', 'messages'],

  body: (prompt, target, { repairs }) => ({
    ...target.parameters,
    model: target.name,
    messages: [
      { role: 'system', content: prompt.system },
      { role: 'user', content: prompt.user },
      ...repairTurns(repairs),
    ],
  }),

  read(text) {
    const value = parseJson(text);
    if (value === undefined) return noText('answer_not_json');
    const choices = asObject(value)?.choices;
    const choice = Array.isArray(choices) ? asObject(choices[0]) : null;
    const message = asObject(choice?.message);
    if (choice === null || message === null) return noText('answer_not_understood');
    if (isFilled(message.refusal)) return noText('refused');
    if (choice.finish_reason === 'content_filter') return noText('content_filter');
    if (choice.finish_reason === 'length') return noText('length');
    if (choice.finish_reason === 'tool_calls' || isFilled(message.tool_calls)) return noText('tool_calls');
    return contentText(message.content);
  },

  hint: () => undefined,
};

/** Text of a message: a string, or a list of parts of which the text parts count. */
function contentText(content: unknown): AnswerText {
  if (content === null || content === undefined) return noText('empty_answer');
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  if (!Array.isArray(parts)) return noText('answer_not_understood');
  const objects = parts.map(asObject);
  if (objects.some((part) => part?.type === 'refusal')) return noText('refused');
  const text = objects
    .map((part) => (part?.type === 'text' && typeof part.text === 'string' ? part.text : ''))
    .join('');
  return text.trim() === '' ? noText('empty_answer') : { kind: 'text', text };
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : typeof value === 'string' && value !== '';
}
