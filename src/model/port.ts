import type { Problem } from '../contract/problem.ts';
import type { Prompt } from '../prompt/render.ts';
import type { NoFunctionReply } from './no-function.ts';
import type { Repair } from './repair.ts';
import type { Draft } from './reply.ts';

export const MODEL_FORMATS = ['compute-step', 'openai', 'anthropic'] as const;
export type ModelFormat = (typeof MODEL_FORMATS)[number];

/** Where a function is asked for. Made by `model/choose.ts`, which keeps each credential with its own URL. */
export interface ModelTarget {
  readonly url: URL;
  readonly format: ModelFormat;
  /** The model's name for the provider formats. */
  readonly name: string | null;
  /** Passed on in the provider formats as they are. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Caller's or operator's headers, lower-case names. Secrets: never logged, stored or echoed. */
  readonly headers: Readonly<Record<string, string>>;
  /** Standard Webhooks secret that belongs to this URL, or null. */
  readonly signingSecret: string | null;
}

/** What travels beside the prompt: ids, and what the model itself wrote before. */
export interface AskContext {
  readonly id: string;
  /** The turns so far, oldest first; empty on the first attempt. */
  readonly repairs: readonly Repair[];
  /** `traceparent` to pass on, or null. */
  readonly traceparent: string | null;
}

/** The outcome of one request to a webhook, for metrics: a closed set. */
export const MODEL_OUTCOMES = ['ok', 'refused_url', 'failed', 'timeout', 'cancelled'] as const;
export type ModelOutcome = (typeof MODEL_OUTCOMES)[number];

/**
 * Asks a model for the function. Answers a Draft, a reply without one, or a Problem `model_failed`,
 * `model_timeout` or `model_url_refused`; `signal` ends it at once.
 */
export interface Model {
  ask(
    prompt: Prompt,
    target: ModelTarget,
    context: AskContext,
    signal: AbortSignal,
  ): Promise<Draft | NoFunctionReply | Problem>;
  close(): Promise<void>;
}
