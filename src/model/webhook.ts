import type { Clock } from '../clock.ts';
import { elapsedMs } from '../clock.ts';
import { type Problem, problem } from '../contract/problem.ts';
import type { Prompt } from '../prompt/render.ts';
import { type AddressFault, hostPort, readAllowedHosts, urlFault } from './address.ts';
import { backoffMs, isRetriedStatus, MAX_RETRIES, retryAfterMs } from './backoff.ts';
import { CircuitBreaker } from './breaker.ts';
import { guardedConnector, type Resolver, systemResolver } from './connect.ts';
import { Deadline } from './deadline.ts';
import { type Exchange, exchange, type Outgoing } from './exchange.ts';
import { type ModelFailureReason, modelProblem } from './failure.ts';
import { FORMATS } from './formats.ts';
import { type NoFunctionReply, noFunctionReply } from './no-function.ts';
import type { AskContext, Model, ModelOutcome, ModelTarget } from './port.ts';
import { type Draft, readReply } from './reply.ts';
import { signatureHeaders } from './signature.ts';

export interface WebhookModelOptions {
  /** Most milliseconds one `ask` may take, retries and waits included. */
  readonly timeoutMs: number;
  /** Exact `host:port` entries that may be private or plain http. */
  readonly allowedHosts: readonly string[];
  readonly clock: Clock;
  /** Told the outcome of each `ask`. */
  readonly onOutcome?: (outcome: ModelOutcome) => void;
  readonly resolve?: Resolver;
  /** From [0, 1), for jitter. */
  readonly random?: () => number;
  /** Waits; ends early when the signal aborts. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly userAgent?: string;
}

type Failed = Extract<Exchange, { kind: 'failed' }>;

/**
 * Asks models over HTTP. Where a URL may lead is judged before and at connect; a request is tried at most three
 * times inside one deadline; nothing of an error's body is read or passed on. Throws at once on a malformed
 * entry of `allowedHosts`; `ask` never throws.
 */
export function createWebhookModel(options: WebhookModelOptions): Model {
  const { clock, onOutcome = () => {}, resolve = systemResolver, random = Math.random } = options;
  const sleep = options.sleep ?? abortableSleep;
  const allowed = readAllowedHosts(options.allowedHosts);
  const connectors = { listed: guardedConnector(resolve, true), open: guardedConnector(resolve, false) };
  const breaker = new CircuitBreaker();
  const closing = new AbortController();

  async function ask(
    prompt: Prompt,
    target: ModelTarget,
    context: AskContext,
    signal: AbortSignal,
  ): Promise<Draft | NoFunctionReply | Problem> {
    const fault = urlFault(target.url, allowed);
    if (fault !== null) return told('refused_url', refusedUrl(target.url, fault));
    const nowMs = () => Number(clock.monotonicNs() / 1_000_000n);
    const key = target.url.origin + target.url.pathname;
    const state = breaker.enter(key, nowMs());
    if (state.open) {
      const retryAfterSeconds = Math.ceil(state.retryAfterMs / 1000);
      return told('failed', modelProblem('circuit_open', { retryAfterSeconds }));
    }
    const deadline = new Deadline(options.timeoutMs, [signal, closing.signal]);
    try {
      const ended = await tryUntil(prompt, target, context, deadline);
      if (ended.kind === 'answered') breaker.succeeded(key);
      else if (ended.kind === 'failed' && tellsOfTheWebhook(ended)) breaker.failed(key, nowMs());
      return judge(ended, target, deadline);
    } finally {
      // Without effect where the webhook has succeeded or failed.
      breaker.released(key, state);
      deadline.clear();
    }
  }

  /** One request and its retries; the last ending. */
  async function tryUntil(
    prompt: Prompt,
    target: ModelTarget,
    context: AskContext,
    deadline: Deadline,
  ): Promise<Exchange> {
    const connector = allowed.has(hostPort(target.url)) ? connectors.listed : connectors.open;
    const startNs = clock.monotonicNs();
    const body = JSON.stringify(FORMATS[target.format].body(prompt, target, context));
    for (let retry = 1; ; retry += 1) {
      const outgoing = { url: target.url, headers: requestHeaders(target, context, body), body };
      const ended = await exchange(outgoing satisfies Outgoing, connector, deadline.signal);
      if (retry > MAX_RETRIES || !mayRetry(ended)) return ended;
      const waitMs = backoffMs(retry, retryAfterMs(ended.retryAfter, clock.now()), random);
      // A wait that the deadline would cut short only keeps the caller from an answer that is known already.
      if (elapsedMs(clock, startNs) + waitMs >= options.timeoutMs) return ended;
      await sleep(waitMs, deadline.signal);
    }
  }

  function requestHeaders(
    target: ModelTarget,
    context: AskContext,
    body: string,
  ): Readonly<Record<string, string>> {
    // A repaired function is another message: a receiver that drops repeated ids must not drop it.
    const { id: step, repairs } = context;
    const id = repairs.length === 0 ? step : `${step}-${repairs.length + 1}`;
    return {
      accept: 'application/json, text/plain',
      'user-agent': options.userAgent ?? 'compute-step',
      ...FORMATS[target.format].headers,
      ...target.headers,
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'webhook-id': id,
      ...(target.signingSecret === null ? {} : signatureHeaders(target.signingSecret, id, clock.now(), body)),
      ...(context.traceparent === null ? {} : { traceparent: context.traceparent }),
    };
  }

  function judge(
    ended: Exchange,
    target: ModelTarget,
    deadline: Deadline,
  ): Draft | NoFunctionReply | Problem {
    if (ended.kind === 'address_refused') {
      return told('refused_url', refusedUrl(target.url, ended.fault));
    }
    const format = FORMATS[target.format];
    if (ended.kind === 'failed') {
      if (ended.reason === 'timeout') {
        return deadline.passed
          ? told('timeout', modelProblem('timeout'))
          : told('cancelled', modelProblem('cancelled'));
      }
      const waitMs = retryAfterMs(ended.retryAfter, clock.now());
      const hint = ended.status === undefined ? undefined : format.hint(ended.status, target);
      return told(
        'failed',
        modelProblem(ended.reason, {
          ...(ended.status === undefined ? {} : { status: ended.status }),
          ...(ended.code === undefined ? {} : { cause: ended.code }),
          ...(waitMs === null ? {} : { retryAfterSeconds: Math.ceil(waitMs / 1000) }),
          ...(hint === undefined ? {} : { hint }),
        }),
      );
    }
    const answer = format.read(ended.text, ended.contentType);
    if (answer.kind === 'no_text') return noFunction(answer.reason, '');
    const reply = readReply(answer.text);
    if (!('kind' in reply)) {
      onOutcome('ok');
      return reply;
    }
    return noFunction(reply.reason, answer.text);
  }

  /** A model that said nothing, or something else, may do better when told so; any other reason would recur. */
  function noFunction(reason: ModelFailureReason, said: string): NoFunctionReply | Problem {
    const ended = told('failed', modelProblem(reason));
    return reason === 'no_function' || reason === 'empty_answer' ? noFunctionReply(ended, said) : ended;
  }

  function told(outcome: ModelOutcome, ended: Problem): Problem {
    onOutcome(outcome);
    return ended;
  }

  return {
    ask,
    close: async () => closing.abort(),
  };
}

/** Retried: no connection was made, or the webhook said that it did not take the request. */
function mayRetry(ended: Exchange): ended is Failed {
  return ended.kind === 'failed' && (ended.reason === 'connect_failed' || isRetriedStatus(ended.status));
}

/** Failures of the webhook itself. 429 and other statuses may be the caller's own key, limit or mistake. */
function tellsOfTheWebhook(ended: Failed): boolean {
  return mayRetry(ended) && ended.status !== 429;
}

/** Towards the caller nothing tells one refused address from another, else it could map the network. */
function refusedUrl(url: URL, fault: AddressFault): Problem {
  return problem('model_url_refused', 'model.url: this address is not allowed; ask the operator.', {
    cause: `${fault}: ${hostPort(url)}`,
  });
}

function abortableSleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
