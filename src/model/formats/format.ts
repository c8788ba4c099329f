import type { Prompt } from '../../prompt/render.ts';
import type { ModelFailureReason } from '../failure.ts';
import type { AskContext, ModelTarget } from '../port.ts';
import type { Repair } from '../repair.ts';

/** The text in which the model's function stands, or why there is none. */
export type AnswerText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'no_text'; readonly reason: ModelFailureReason };

/** How one kind of webhook is spoken to. Pure. */
export interface Format {
  /** Headers of its own; a target's header of the same name wins. */
  readonly headers: Readonly<Record<string, string>>;
  /** The header that carries a bare key (an authorization without a scheme such as `Bearer`), lower-case. */
  readonly keyHeader: string;
  /** Whether a model's name must be given. */
  readonly needsName: boolean;
  /** Members of the body that the service writes; `parameters` may not hold them. */
  readonly reserved: readonly string[];
  body(prompt: Prompt, target: ModelTarget, context: AskContext): Readonly<Record<string, unknown>>;
  /** The text out of a 2xx answer. */
  read(text: string, contentType: string): AnswerText;
  /** A sentence for the caller where a status has a likely cause in the request itself. */
  hint(status: number, target: ModelTarget): string | undefined;
}

export function noText(reason: ModelFailureReason): AnswerText {
  return { kind: 'no_text', reason };
}

/** A JSON object, or null for whatever else. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : null;
}

/** A JSON text's value, or undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A message of a conversation with a provider's model. */
interface Message {
  readonly role: 'assistant' | 'user';
  readonly content: string;
}

/** The turns after the task, oldest first: what the model wrote, and why that was refused. */
export function repairTurns(repairs: readonly Repair[]): readonly Message[] {
  return repairs.flatMap(({ earlier, text }) => [
    // An empty message is refused by the Messages API and breaks chat templates that want roles in turn.
    { role: 'assistant', content: earlier.trim() === '' ? '(nothing)' : earlier },
    { role: 'user', content: text },
  ]);
}
