import { type Clock, systemClock } from '../../../src/clock.ts';
import type { Problem } from '../../../src/contract/problem.ts';
import type { NoFunctionReply } from '../../../src/model/no-function.ts';
import type { AskContext, ModelOutcome, ModelTarget } from '../../../src/model/port.ts';
import type { Draft } from '../../../src/model/reply.ts';
import { createWebhookModel, type WebhookModelOptions } from '../../../src/model/webhook.ts';
import type { Prompt } from '../../../src/prompt/render.ts';

export const FUNCTION = 'def compute(data):\n    return 1\n';

/** A prompt as `renderPrompt` makes it; what it says does not matter here. */
export const prompt = {
  text: 'system part\n\nuser part',
  system: 'system part',
  user: 'user part',
  schema: { type: 'object' },
  packDigest: 'sha256:00',
  resultType: 'number',
  nullable: false,
  resultSchema: null,
} as unknown as Prompt;

export const context: AskContext = { id: '0197-step', repairs: [], traceparent: null };

export function target(url: string, more: Partial<ModelTarget> = {}): ModelTarget {
  return {
    url: new URL(url),
    format: 'compute-step',
    name: null,
    parameters: {},
    headers: {},
    signingSecret: null,
    ...more,
  };
}

/** One ask of a model that never really waits between tries; what it waited for is in `waits`. */
export async function asking(
  to: ModelTarget,
  options: Partial<WebhookModelOptions> & { context?: AskContext; signal?: AbortSignal } = {},
) {
  const waits: number[] = [];
  const outcomes: ModelOutcome[] = [];
  const { context: given, signal, ...rest } = options;
  const model = createWebhookModel({
    timeoutMs: 20_000,
    allowedHosts: [to.url.host],
    clock: systemClock,
    random: () => 0.5,
    sleep: async (ms) => void waits.push(ms),
    onOutcome: (outcome) => outcomes.push(outcome),
    ...rest,
  });
  const ended = await model.ask(prompt, to, given ?? context, signal ?? new AbortController().signal);
  await model.close();
  return {
    ended,
    waits,
    outcomes,
    problem: problemOf(ended),
    source: 'source' in ended ? ended.source : null,
  };
}

export function problemOf(ended: Draft | NoFunctionReply | Problem): Problem | null {
  if (!('kind' in ended)) return null;
  return ended.kind === 'no_function' ? ended.problem : ended;
}

/** A clock that stands at `at`. */
export function clockAt(at: string): Clock {
  return { now: () => new Date(at), monotonicNs: () => 0n };
}
