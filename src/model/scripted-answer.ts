import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ModelFormat } from './port.ts';

/**
 * What a scripted model answers: the model's text (put into the request's format), a refusal of the model's, an
 * HTTP answer of any kind, silence (`hang`), or a closed connection (`reset`). `delayMs` waits first.
 */
export type ScriptedAnswer =
  | string
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** Sent as it is; a string of the model is put into the format with `text` instead. */
      readonly body?: string | Buffer;
      readonly text?: string;
      /** The model declines, in the way of the format. */
      readonly refusal?: string;
      readonly delayMs?: number;
    }
  | { readonly hang: true }
  | { readonly reset: true }
  /** Writes the answer by hand: drips, lies, never ends. */
  | { readonly handle: (response: ServerResponse, request: IncomingMessage) => void };

/** The body in which a model of this format gives its text. */
export function modelAnswer(format: ModelFormat, text: string): string {
  switch (format) {
    case 'openai':
      return chatCompletion({ role: 'assistant', content: text });
    case 'anthropic':
      return message(text, 'end_turn');
    case 'compute-step':
      return JSON.stringify({ code: text });
  }
}

/** The body in which a model of this format declines. The service's own format has none: it is words, no function. */
export function modelRefusal(format: ModelFormat, text: string): string {
  switch (format) {
    case 'openai':
      return chatCompletion({ role: 'assistant', content: null, refusal: text });
    case 'anthropic':
      return message(text, 'refusal');
    case 'compute-step':
      return JSON.stringify({ code: text });
  }
}

function chatCompletion(said: object): string {
  const choices = [{ index: 0, message: said, finish_reason: 'stop' }];
  return JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion', choices });
}

function message(text: string, stopReason: string): string {
  return JSON.stringify({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text }],
    stop_reason: stopReason,
  });
}
