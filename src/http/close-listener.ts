import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Closes a listener; answers that are on their way out have `ms` milliseconds left, every other connection none. */
export type CloseListener = (ms: number) => Promise<void>;

/**
 * Makes what closes a listener, before it listens. It keeps count of the answers of each connection itself: of those
 * that never sent a byte, or not yet a whole head, node says that they are not idle.
 */
export function listenerCloser(app: FastifyInstance): CloseListener {
  const { server } = app;
  // Bounded by the connections.
  const answers = new Map<Socket, number>();
  let closing = false;
  server.on('connection', (socket: Socket) => {
    if (closing) {
      socket.destroy();
      return;
    }
    answers.set(socket, 0);
    socket.once('close', () => answers.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    answers.set(socket, (answers.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const left = (answers.get(socket) ?? 1) - 1;
      if (answers.has(socket)) {
        answers.set(socket, left);
      }
      if (closing && left === 0) {
        socket.destroySoon();
      }
    });
  });
  return async (ms) => {
    closing = true;
    const cut = setTimeout(() => server.closeAllConnections(), ms);
    try {
      const closed = app.close();
      for (const [socket, left] of answers) {
        if (left === 0) {
          socket.destroy();
        }
      }
      await closed;
    } finally {
      clearTimeout(cut);
    }
  };
}
