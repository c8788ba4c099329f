import type { ServerResponse } from 'node:http';

/**
 * Closes the connection of an answer of which no byte is taken, between `ms` and twice `ms` milliseconds after the last
 * one: node looks every `ms` and closes at the first look that finds as much waiting as the one before. From its turn
 * on, where answers to earlier requests are still to go out, to its end: what comes next has bounds of its own.
 */
export function boundStall(raw: ServerResponse, ms: number): void {
  const { socket } = raw.req;
  if (typeof socket.setTimeout !== 'function') {
    // A request that came over no connection.
    return;
  }
  raw.setTimeout(ms);
  // Before node's own listener, which sets the time limit of the next answer, or of none.
  raw.prependOnceListener('finish', () => socket.setTimeout(0));
}
