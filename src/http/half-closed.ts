import type { FastifyReply } from 'fastify';

/** Looks again soon, as the first look only makes the other side tell, and then now and then. */
const LOOKS_AFTER_MS = [0, 250];
const LOOKS_EVERY_MS = 5000;

/**
 * A client that has ended its sending side may wait for its answer or be gone: the end of its bytes looks the same
 * (RFC 9293, 3.6). An interim answer (102, RFC 9110, 15.2) tells: who waits reads over it, and the machine of who is
 * gone resets the connection, which closes the answer. HTTP/1.0 knows none, so there it counts as `gone`. Returns
 * what ends the watch.
 */
export function watchHalfClosed(reply: FastifyReply, gone: () => void): () => void {
  const { raw: request } = reply.request;
  const { socket } = request;
  const timers: NodeJS.Timeout[] = [];
  const look = (): void => {
    // With the head of the answer out, its own bytes tell.
    if (!reply.raw.headersSent && !reply.raw.destroyed) {
      reply.raw.writeProcessing();
    }
  };
  const ended = (): void => {
    if (request.httpVersion === '1.0') {
      gone();
      return;
    }
    timers.push(...LOOKS_AFTER_MS.map((ms) => setTimeout(look, ms)), setInterval(look, LOOKS_EVERY_MS));
  };
  if (socket.readableEnded) {
    ended();
  } else {
    socket.once('end', ended);
  }
  return () => {
    socket.off('end', ended);
    for (const timer of timers) {
      clearTimeout(timer);
    }
  };
}
