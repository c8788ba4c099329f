import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What node itself sets where a connection closes under its answer: whoever waits for the end later looks there. */
type Closable = ServerResponse & { _closed?: boolean };

/** Counts of answers that are still to be made, or not out. */
export interface UnsentAnswers {
  on(socket: Socket): number;
  /** Those that were before this one on its connection when its request came. */
  ahead(answer: ServerResponse): number;
}

/**
 * Closes the answers that a connection leaves behind. Node tells `close` only of the one that has the connection: a
 * request that came before an earlier one was answered (pipelining) would never learn that its client is gone, and
 * what it holds until then (its tenant's place, its bytes, the service's stopping) would be held for ever.
 * Returns the counts of a connection's answers.
 */
export function closeUnsentAnswers(server: Server): UnsentAnswers {
  // As many as node itself keeps for a connection, which stops reading when too much waits to be sent.
  const open = new WeakMap<Socket, Set<Closable>>();
  const ahead = new WeakMap<ServerResponse, number>();

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
    ahead.set(answer, answers?.size ?? 0);
    answers?.add(answer);
    answer.once('close', () => answers?.delete(answer));
  });
  return {
    on: (socket) => open.get(socket)?.size ?? 0,
    ahead: (answer) => ahead.get(answer) ?? 0,
  };
}
