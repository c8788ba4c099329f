import type { FastifyReply } from 'fastify';

/**
 * The first look only makes the other side tell. Each TCP proxy between (a published port of Docker is one) takes two
 * more, as it finds out in the same way that its client is gone and only then closes what it has with the service.
 */
const LOOKS_AFTER_MS = [0, 250, 500, 750, 1000, 1500, 2000, 3000, 4000];
const LOOKS_EVERY_MS = 5000;

/** Calls `look`, which is to write something, soon and often, then now and then. Returns what ends that. */
export function lookAtPeer(look: () => void): () => void {
  const timers = [...LOOKS_AFTER_MS.map((ms) => setTimeout(look, ms)), setInterval(look, LOOKS_EVERY_MS)];
  return () => timers.forEach(clearTimeout);
}

/**
 * A client that has ended its sending side may wait for its answer or be gone: the end of its bytes looks the same
 * (RFC 9293, 3.6). An interim answer (102, RFC 9110, 15.2) tells: who waits reads over it, and the machine of who is
 * gone resets the connection, which closes the answer. HTTP/1.0 knows none, so there it counts as `gone`. Returns
 * what ends the watch.
 */
export function watchHalfClosed(reply: FastifyReply, gone: () => void): () => void {
  const { raw: request } = reply.request;
  const { socket } = request;
  let unlook = (): void => {};
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
    unlook = lookAtPeer(look);
  };
  if (socket.readableEnded) {
    ended();
  } else {
    socket.once('end', ended);
  }
  return () => {
    socket.off('end', ended);
    unlook();
  };
}
