// The package's `./client`. It imports types of the contract and nothing else, so that it runs wherever there is a
// `fetch` (Node 20, browsers, Deno, Bun, workers) and brings no library along.
import type { Static } from '@sinclair/typebox';
import type {
  AdmitAnswer,
  Capabilities,
  Health,
  PromptAnswer,
  PromptPackAnswer,
  Readiness,
  UsageAnswer,
} from '../contract/answer.ts';
import type { ComputationSchema, DraftComputation } from '../contract/computation.ts';
import type { AdmitRequest, ComputeRequest, PromptRequest, RunRequest } from '../contract/request.ts';
import type { ProgressEvent } from './events.ts';
import { type AnswerHead, type Connection, exchange } from './exchange.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { ComputeStepConnectionError, parsed, readProblem } from './problem.ts';
import { requestText } from './request-text.ts';
import { resultTextOf } from './result-text.ts';

export type { ProgressEvent } from './events.ts';
export type { AnswerHead } from './exchange.ts';
export {
  ComputeStepConnectionError,
  ComputeStepProblem,
  type ConnectionFault,
} from './problem.ts';
export { type Attempt, type RetryOptions, withRetries } from './retries.ts';
export type {
  AdmitAnswer,
  AdmitRequest,
  Capabilities,
  ComputeRequest,
  DraftComputation,
  Health,
  PromptAnswer,
  PromptPackAnswer,
  PromptRequest,
  Readiness,
  RunRequest,
  UsageAnswer,
};

export interface ClientOptions {
  /** Such as `http://127.0.0.1:8080`; a path of a gateway may follow. */
  readonly baseUrl: string | URL;
  /** A tenant's key. Sent to `baseUrl` only. */
  readonly apiKey: string;
  /** Left out: the global one. */
  readonly fetch?: typeof fetch | undefined;
  /** Longest wait for an answer, in milliseconds. Default 150,000: past what the service takes by default. */
  readonly timeoutMs?: number | undefined;
  /** Largest answer read, in bytes. Default 64 MiB. */
  readonly answerMaxBytes?: number | undefined;
}

export interface CallOptions {
  /** Aborting hangs up: a step that has not started is dropped, one that runs is killed and counts. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** W3C Trace Context; passed on as it is. */
  readonly traceparent?: string | undefined;
  /** Told of each answer’s status and headers (`RateLimit`, `Idempotency-Replayed`), before a problem is thrown. */
  readonly onAnswer?: ((head: AnswerHead) => void) | undefined;
}

export interface StepOptions extends CallOptions {
  /** 1 to 255 printable ASCII characters: the same key and body never run or count twice. */
  readonly idempotencyKey?: string | undefined;
}

export interface ComputeOptions extends StepOptions {
  /** Told of each phase as it begins, and of each verdict of admission. What it throws ends the call. */
  readonly onProgress?: ((event: ProgressEvent) => void) | undefined;
}

/** A Computation as the service answers it, and the text of its result, whose digits nobody rounded. */
export type ComputationAnswer = Static<typeof ComputationSchema> & { readonly resultText: string | null };

/**
 * One method for each operation of openapi.yaml. A Computation comes back whatever its state; a refusal throws
 * ComputeStepProblem, no answer ComputeStepConnectionError, an abort the signal's reason.
 */
export interface Client {
  compute(request: ComputeRequest, options?: ComputeOptions): Promise<ComputationAnswer>;
  prompt(request: PromptRequest, options?: CallOptions): Promise<PromptAnswer>;
  draft(request: ComputeRequest, options?: StepOptions): Promise<DraftComputation>;
  /** `all`: every refusal, not only the first. */
  admit(request: AdmitRequest, options?: CallOptions & { readonly all?: boolean }): Promise<AdmitAnswer>;
  run(request: RunRequest, options?: StepOptions): Promise<ComputationAnswer>;
  usage(options?: CallOptions): Promise<UsageAnswer>;
  /** `month`: yyyy-mm, UTC. */
  usageOfMonth(month: string, options?: CallOptions): Promise<UsageAnswer>;
  capabilities(options?: CallOptions): Promise<Capabilities>;
  promptPack(options?: CallOptions): Promise<PromptPackAnswer>;
  health(options?: CallOptions): Promise<Health>;
  /** Not ready is an answer, not a problem. */
  ready(options?: CallOptions): Promise<Readiness>;
}

const TIMEOUT_MS = 150_000;
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/** Makes a client. Throws a TypeError that names the option; it never holds the key. */
export function createClient(options: ClientOptions): Client {
  const connection = connectionOf(options);
  const call = async (
    operation: Operation,
    sent: { readonly path?: string; readonly body?: object },
    given: ComputeOptions = {},
  ): Promise<{ readonly text: string; readonly value: unknown }> => {
    const incoming = await exchange(connection, {
      operation,
      path: sent.path ?? operation.path,
      headers: headersOf(given),
      body: sent.body === undefined ? null : requestText(sent.body),
      timeoutMs: given.timeoutMs ?? connection.timeoutMs,
      signal: given.signal,
      onProgress: given.onProgress,
    });
    const { status, headers, text } = incoming;
    given.onAnswer?.({ status, headers });
    const value = operation.answers.includes(status) ? parsed(text) : undefined;
    if (isAnswer(value, operation.members)) return { text, value };
    throw (
      readProblem(status, text, headers) ??
      new ComputeStepConnectionError('answer', `not an answer of the service (HTTP ${status})`, status)
    );
  };
  // The rest of the answer's shape is the contract's: the client trusts the service it is pointed at.
  const ask = async <T>(...args: Parameters<typeof call>): Promise<T> => (await call(...args)).value as T;
  const step = async (...args: Parameters<typeof call>): Promise<ComputationAnswer> => {
    const { text, value } = await call(...args);
    return { ...(value as Static<typeof ComputationSchema>), resultText: resultTextOf(text) };
  };
  const o = OPERATIONS;
  return {
    compute: (body, given) => step(o.compute, { body }, given),
    prompt: (body, given) => ask(o.prompt, { body }, given),
    draft: (body, given) => ask(o.draft, { body }, given),
    admit: (body, given) =>
      ask(o.admit, { body, path: `${o.admit.path}${given?.all === true ? '?all=true' : ''}` }, given),
    run: (body, given) => step(o.run, { body }, given),
    usage: (given) => ask(o.usage, {}, given),
    usageOfMonth: (month, given) =>
      ask(o.usageOfMonth, { path: o.usageOfMonth.path.replace('{month}', encodeURIComponent(month)) }, given),
    capabilities: (given) => ask(o.capabilities, {}, given),
    promptPack: (given) => ask(o.promptPack, {}, given),
    health: (given) => ask(o.health, {}, given),
    ready: (given) => ask(o.ready, {}, given),
  };
}

/** Whether it is an object with these members as texts: enough to tell it from what a proxy or a stub answers. */
function isAnswer(value: unknown, members: readonly string[]): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    members.every((name) => typeof (value as Record<string, unknown>)[name] === 'string')
  );
}

function connectionOf(options: ClientOptions): Connection {
  const baseUrl = URL.canParse(String(options.baseUrl)) ? new URL(options.baseUrl) : null;
  if (baseUrl === null || !/^https?:$/.test(baseUrl.protocol) || baseUrl.username + baseUrl.password !== '') {
    throw new TypeError('baseUrl must be an http or https URL without user name and password');
  }
  // Checked here, since the error of `fetch` for a bad header quotes its value.
  if (!/^[\x21-\x7e]{1,512}$/.test(options.apiKey)) {
    throw new TypeError(
      'apiKey must be a key as `compute-step key create` prints it, without spaces or line ends',
    );
  }
  return {
    baseUrl,
    apiKey: options.apiKey,
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    answerMaxBytes: options.answerMaxBytes ?? ANSWER_MAX_BYTES,
  };
}

function headersOf({ idempotencyKey, traceparent }: StepOptions): Record<string, string> {
  if (idempotencyKey !== undefined && !/^[\x20-\x7e]{1,255}$/.test(idempotencyKey)) {
    throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters');
  }
  if (traceparent !== undefined && !/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(traceparent)) {
    throw new TypeError('traceparent must be a W3C Trace Context header field');
  }
  return {
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}
