import type { FastifyReply } from 'fastify';
import { type RequestSignal, requestSignal } from '../step/deadline.ts';

/** What ends a request: its deadline, in seconds, and the service's own stopping. */
export interface Ends {
  readonly stepReader: { readonly limits: { readonly timeoutSeconds: number } };
  readonly stopping: AbortSignal;
}

/**
 * Runs `work` under a signal that ends at the operator's deadline, when the caller hangs up before the answer is
 * out, or when the service stops and its grace is over.
 */
export async function underDeadline<T>(
  reply: FastifyReply,
  ends: Ends,
  work: (signal: RequestSignal) => Promise<T>,
): Promise<T> {
  const signal = requestSignal(ends.stepReader.limits.timeoutSeconds * 1000);
  const hungUp = (): void => {
    if (!reply.raw.writableFinished) {
      signal.cancel();
    }
  };
  reply.raw.once('close', hungUp);
  ends.stopping.addEventListener('abort', signal.cancel, { once: true });
  try {
    return await work(signal);
  } finally {
    reply.raw.off('close', hungUp);
    ends.stopping.removeEventListener('abort', signal.cancel);
    signal.done();
  }
}
