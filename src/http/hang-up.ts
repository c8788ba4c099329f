import type { FastifyReply } from 'fastify';
import type { Problem } from '../contract/problem.ts';
import { type RequestSignal, requestSignal } from '../step/deadline.ts';
import type { Drain } from './drain.ts';
import { watchHalfClosed } from './half-closed.ts';
import { stoppedProblem } from './stopping.ts';

/** What ends a request: its deadline, in seconds, and the service's own stopping. */
export interface Ends {
  readonly stepReader: { readonly limits: { readonly timeoutSeconds: number } };
  readonly stopping: AbortSignal;
  readonly drain: Drain;
}

/** The one signal of a request, and what ended it. */
export interface RequestEnds extends RequestSignal {
  /** A problem as its caller is told it: that the service stopped, where that is why the request ended. */
  told<T extends { readonly kind: string }>(end: T): T | Problem;
}

/**
 * Runs `work` under a signal that ends at the operator's deadline, when the caller hangs up before the answer is
 * out, or when the service stops and its grace is over. The service does not end while it runs.
 */
export async function underDeadline<T>(
  reply: FastifyReply,
  ends: Ends,
  work: (request: RequestEnds) => Promise<T>,
): Promise<T> {
  const signal = requestSignal(ends.stepReader.limits.timeoutSeconds * 1000);
  const release = ends.drain.hold();
  let stopped = false;
  const hungUp = (): void => {
    if (!reply.raw.writableFinished) {
      signal.cancel();
    }
  };
  const stop = (): void => {
    stopped ||= !signal.signal.aborted;
    signal.cancel();
  };
  reply.raw.once('close', hungUp);
  const unwatch = watchHalfClosed(reply, signal.cancel);
  ends.stopping.addEventListener('abort', stop, { once: true });
  if (ends.stopping.aborted) {
    stop();
  }
  try {
    return await work({
      ...signal,
      told: (end) => (stopped && isDeadline(end) ? stoppedProblem(end) : end),
    });
  } finally {
    reply.raw.off('close', hungUp);
    unwatch();
    ends.stopping.removeEventListener('abort', stop);
    signal.done();
    release();
  }
}

function isDeadline(end: { readonly kind: string }): end is Problem {
  return end.kind === 'problem' && (end as Problem).code === 'deadline_exceeded';
}
