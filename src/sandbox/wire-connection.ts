import { connect, type Socket } from 'node:net';
import { type Expected, FrameDecoder, type WireFrame } from './wire.ts';

/** What a wait for a frame comes to. After `ended` and `garbled` no frame will come: drop the connection. */
export type Received =
  | { readonly kind: 'frame'; readonly tag: number; readonly payload: Buffer }
  | { readonly kind: 'ended' | 'garbled' | 'late' | 'aborted' };

interface Waiting {
  readonly expected: Expected;
  readonly give: (received: Received) => void;
}

const NO_BYTES = Buffer.alloc(0);
/** After the last frame: how long the other side may take to read it and close. */
const LINGER_MS = 5000;

/**
 * One connection between the API and the sandbox daemon, seen from either side: frames are asked for one at a time,
 * and nothing is read from the socket while nobody asks, so a peer that sends ahead fills its own buffers.
 */
export class WireConnection {
  readonly #socket: Socket;
  readonly #decoder = new FrameDecoder();
  /** Read from the socket and not yet looked at: at most one read of the socket's. */
  #rest: Buffer = NO_BYTES;
  #waiting: Waiting | null = null;
  #ended = false;
  /** Resolves when the connection is closed on both sides. Never rejects. */
  readonly closed: Promise<void>;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#rest = this.#rest.byteLength === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
      this.#advance();
    });
    const end = (): void => {
      this.#ended = true;
      this.#advance();
    };
    socket.on('end', end);
    // A reset is an end like any other.
    socket.on('error', end);
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        end();
        resolve();
      });
    });
    socket.pause();
  }

  /**
   * The next frame, one of those `expected` (tag -> largest payload); else `garbled`. At most `ms` (null: until the
   * connection ends) or until `signal` is aborted; after either it may be asked again. One wait at a time.
   */
  next(expected: Expected, ms: number | null, signal?: AbortSignal): Promise<Received> {
    if (signal?.aborted === true) {
      return Promise.resolve({ kind: 'aborted' });
    }
    return new Promise((resolve) => {
      const give = (received: Received): void => {
        if (timer !== null) {
          clearTimeout(timer);
        }
        signal?.removeEventListener('abort', onAbort);
        this.#waiting = null;
        this.#socket.pause();
        resolve(received);
      };
      const timer = ms === null ? null : setTimeout(() => give({ kind: 'late' }), Math.max(0, ms));
      const onAbort = (): void => give({ kind: 'aborted' });
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting = { expected, give };
      this.#advance();
    });
  }

  /** Sends frames in one go. What a slow reader has not taken yet waits in memory, by reference. */
  send(...frames: readonly (readonly Buffer[])[]): void {
    if (this.#socket.destroyed || this.#socket.writableEnded) {
      return;
    }
    this.#socket.cork();
    for (const piece of frames.flat()) {
      if (piece.byteLength > 0) {
        this.#socket.write(piece);
      }
    }
    this.#socket.uncork();
  }

  /**
   * Ends our side after what has been sent, reads and drops what still comes, so that the last frame is not lost to
   * a reset, and resolves when the other side has closed, in `lingerMs` at most.
   */
  async finish(lingerMs = LINGER_MS): Promise<void> {
    this.#waiting?.give({ kind: 'ended' });
    this.#ended = true;
    this.#rest = NO_BYTES;
    this.#socket.removeAllListeners('data');
    this.#socket.end();
    this.#socket.resume();
    const timer = setTimeout(() => this.#socket.destroy(), lingerMs);
    await this.closed;
    clearTimeout(timer);
  }

  /** Closes at once. */
  drop(): void {
    this.#socket.destroy();
  }

  #advance(): void {
    while (this.#waiting !== null && this.#rest.byteLength > 0) {
      const { frame, rest } = this.#decoder.push(this.#rest, this.#waiting.expected);
      this.#rest = rest;
      if (this.#decoder.garbled) {
        this.#waiting.give({ kind: 'garbled' });
      } else if (frame !== null) {
        this.#give(frame);
      }
    }
    if (this.#waiting !== null) {
      if (this.#ended) {
        this.#waiting.give({ kind: 'ended' });
      } else {
        this.#socket.resume();
      }
    }
  }

  #give(frame: WireFrame): void {
    this.#waiting?.give({ kind: 'frame', ...frame });
  }
}

/** Why there is no connection; without the path. */
export interface NoConnection {
  readonly kind: 'noConnection';
  readonly detail: string;
}

/** Connects to a daemon's socket within `ms`. */
export function openConnection(path: string, ms: number): Promise<WireConnection | NoConnection> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const fail = (code: string): void => {
      clearTimeout(timer);
      socket.destroy();
      const detail = `no connection to sandboxd (${code}): is it running, and is SANDBOXD_SOCKET its socket?`;
      resolve({ kind: 'noConnection', detail });
    };
    const timer = setTimeout(() => fail('timeout'), ms);
    const onError = (error: NodeJS.ErrnoException): void => fail(error.code ?? 'unknown');
    socket.once('error', onError);
    socket.once('connect', () => {
      clearTimeout(timer);
      const connection = new WireConnection(socket);
      socket.off('error', onError);
      resolve(connection);
    });
  });
}
