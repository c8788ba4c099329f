import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What node itself sets where a connection closes under its answer: whoever waits for the end later looks there. */
type Closable = ServerResponse & { _closed?: boolean };

/** How many requests on a connection have no answer yet, or one that is not out. */
export type UnsentAnswers = (socket: Socket) => number;

/**
 * Closes the answers that a connection leaves behind. Node tells `close` only of the one that has the connection: a
 * request that came before an earlier one was answered (pipelining) would never learn that its client is gone, and
 * what it holds until then (its tenant's place, its bytes, the service's stopping) would be held for ever.
 * Returns the count of a connection's answers.
 */
export function closeUnsentAnswers(server: Server): UnsentAnswers {
  // As many as node itself keeps for a connection, which stops reading when too much waits to be sent.
  const open = new WeakMap<Socket, Set<Closable>>();

  server.on('connection', (socket: Socket) => {
    const answers = new Set<Closable>();
    open.set(socket, answers);
    socket.once('close', () => {
      for (const answer of answers) {
        // The one that has the connection is told by node; so is one that has just been sent.
        if (answer.socket === null && !answer.writableFinished) {
          answer.destroy();
          answer._closed = true;
          answer.emit('close');
        }
      }
    });
  });
  server.on('request', ({ socket }: IncomingMessage, answer: ServerResponse) => {
    const answers = open.get(socket);
    answers?.add(answer);
    answer.once('close', () => answers?.delete(answer));
  });
  return (socket) => open.get(socket)?.size ?? 0;
}
