import type { FastifyReply } from 'fastify';
import { type RequestSignal, requestSignal } from '../step/deadline.ts';

/** Runs `work` under a signal that ends after `timeoutMs`, or when the caller hangs up before the answer is out. */
export async function underDeadline<T>(
  reply: FastifyReply,
  timeoutMs: number,
  work: (signal: RequestSignal) => Promise<T>,
): Promise<T> {
  const signal = requestSignal(timeoutMs);
  const hungUp = (): void => {
    if (!reply.raw.writableFinished) {
      signal.cancel();
    }
  };
  reply.raw.once('close', hungUp);
  try {
    return await work(signal);
  } finally {
    reply.raw.off('close', hungUp);
    signal.done();
  }
}
