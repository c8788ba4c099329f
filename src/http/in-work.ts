import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Connections } from './connections.ts';
import type { AppDeps } from './deps.ts';
import { bodyIsComing, endEarly } from './early-answer.ts';
import { STOPPING } from './stopping.ts';

/** Holds the connection, and the service's stopping, until the answer is out or nobody is there to take it. */
export function keepInWork(
  http: FastifyRequest,
  reply: FastifyReply,
  deps: AppDeps,
  connections: Connections,
): void {
  const { socket } = http.raw;
  connections.begin(socket);
  const release = deps.drain.hold();
  const stop = (): void => {
    if (bodyIsComing(http.raw) && !reply.raw.headersSent) {
      endEarly(reply, STOPPING, deps.limits);
    }
  };
  deps.stopping.addEventListener('abort', stop, { once: true });
  reply.raw.once('close', () => {
    deps.stopping.removeEventListener('abort', stop);
    connections.end(socket);
    release();
  });
}
