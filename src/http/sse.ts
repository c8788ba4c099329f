import type { ServerResponse } from 'node:http';
import { boundStall } from './answer-stall.ts';
import { lookAtPeer } from './half-closed.ts';
import { HTTP_LIMITS } from './limits.ts';

/** What bounds one stream of events. */
export interface EventStreamBounds {
  /** A comment goes out after so long, so that no proxy takes the connection for dead. */
  readonly heartbeatMs: number;
  /** Bytes that may wait for a client that does not read. Past it, before the last event, it is cut off. */
  readonly unreadMaxBytes: number;
  /** How long the last event may wait without a byte of it being taken; the client is cut off then, as by `boundStall`. */
  readonly lastEventMs: number;
}

/**
 * Events of a few hundred bytes and the system's own buffers: whoever has not read for that long is not there. The
 * last event is not held against it, as it is as large as the answer would be as JSON.
 */
export const EVENT_STREAM_BOUNDS: EventStreamBounds = {
  heartbeatMs: 15_000,
  unreadMaxBytes: 64 * 1024,
  lastEventMs: HTTP_LIMITS.answerStallMs,
};

/** Server-sent events to one client. After `end`, and once the client is gone, nothing more is written. */
export interface EventStream {
  send(event: string, data: string): void;
  /** The last event. */
  end(event: string, data: string): void;
}

/** Begins a stream (HTML Standard, section 9.2) with its head and further headers; heartbeats until it ends. */
export function openEventStream(
  raw: ServerResponse,
  headers: Readonly<Record<string, number | string | string[] | undefined>>,
  bounds: EventStreamBounds,
): EventStream {
  const write = (text: string): void => {
    if (raw.destroyed || raw.writableEnded) {
      return;
    }
    raw.write(text);
    if (raw.writableLength > bounds.unreadMaxBytes) {
      raw.destroy();
    }
  };
  const beat = (): void => write(':\n\n');
  const heartbeat = setInterval(beat, bounds.heartbeatMs);
  let unlook = (): void => {};
  // A client that has ended its sending side may read on or be gone: comments are what it tells by.
  const look = (): void => {
    unlook = lookAtPeer(beat);
  };
  const { socket } = raw;
  socket?.once('end', look);
  raw.once('close', () => {
    clearInterval(heartbeat);
    unlook();
    socket?.off('end', look);
  });
  raw.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Some proxies hold an answer back until it is whole, unless told not to.
    'x-accel-buffering': 'no',
  });
  return {
    send: (event, data) => write(eventText(event, data)),
    end: (event, data) => {
      clearInterval(heartbeat);
      if (raw.destroyed || raw.writableEnded) {
        return;
      }
      boundStall(raw, bounds.lastEventMs);
      raw.end(eventText(event, data));
    },
  };
}

/** One event. Each line of the data gets a line of its own; a client joins them with LF. */
export function eventText(event: string, data: string): string {
  // Looked for first: a result of megabytes in one line, which is the usual one, is not worth a regular expression.
  const broken = data.includes('\n') || data.includes('\r');
  const lines = (broken ? data.split(/\r\n|\r|\n/) : [data]).map((line) => `data: ${line}\n`);
  return `event: ${event}\n${lines.join('')}\n`;
}
