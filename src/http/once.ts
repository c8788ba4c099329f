import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Problem, problem } from '../contract/problem.ts';
import type { StepRequest } from '../step/request.ts';
import type { RouteDeps } from './deps.ts';
import { sendProblem } from './errors.ts';
import { type HttpAnswer, sendAnswer } from './http-answer.ts';

/** What a request came to, and whether its key must keep the answer. */
export interface OnceAnswer {
  readonly answer: HttpAnswer;
  /** It counted, or it paid a model: the key must not lead to that again. */
  readonly keep: boolean;
}

/** Sends what a request came to, with further headers beside its own. */
export type SendAnswer = (answer: HttpAnswer, more?: Readonly<Record<string, string>>) => FastifyReply;

/** Printable ASCII; the quotes that the draft asks for may be there or not. */
const KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * Does the work of a request once for an Idempotency-Key: a repeated key with the same body gets the same answer,
 * in flight 409, with another body 422. Without the header the work is simply done. `send` is how an answer goes out.
 */
export async function once(
  deps: RouteDeps,
  http: FastifyRequest,
  reply: FastifyReply,
  work: (idempotency: StepRequest['idempotency']) => Promise<OnceAnswer>,
  send: SendAnswer = (answer, more) => sendAnswer(reply, answer, more),
): Promise<FastifyReply> {
  const key = http.headers['idempotency-key'];
  if (key === undefined) {
    return send((await work(null)).answer);
  }
  if (typeof key !== 'string' || !KEY.test(key)) {
    return sendProblem(reply, BAD_KEY);
  }
  const { store, ttlMs } = deps.idempotency;
  const tenant = deps.calls.tenantOf(http).id;
  const body = Buffer.isBuffer(http.body) ? http.body : Buffer.alloc(0);
  const state = store.claim(tenant, key, await store.fingerprint(http.routeOptions.url ?? '', body));
  switch (state.kind) {
    case 'in_flight':
      return sendProblem(reply, IN_FLIGHT);
    case 'reused':
      return sendProblem(reply, REUSED);
    case 'replay':
      return send(state.answer, { 'idempotency-replayed': 'true' });
    case 'first': {
      let kept: HttpAnswer | null = null;
      try {
        const { answer, keep } = await work({ digest: keyDigest(tenant, key), ttlMs });
        kept = keep ? answer : null;
        return send(answer);
      } finally {
        // A fault frees the key here; where its run counted, the ledger still knows the key.
        state.finish(kept);
      }
    }
  }
}

function keyDigest(tenant: string, key: string): string {
  return createHash('sha256').update(`${tenant}\0${key}`).digest('hex');
}

const BAD_KEY: Problem = problem(
  'invalid_request',
  'Idempotency-Key must be 1 to 255 printable ASCII characters.',
);
const IN_FLIGHT: Problem = problem(
  'idempotency_in_flight',
  'The first request with this Idempotency-Key is still running.',
  { retryAfterSeconds: 1 },
);
const REUSED: Problem = problem(
  'idempotency_key_reused',
  'This Idempotency-Key was used with another body or path; use a new key for a new request.',
);
