import type { Duplex } from 'node:stream';
import { Demultiplexer } from './demultiplex.ts';
import type { FrameReader } from './frames.ts';

/** What ended a wait: its condition, the end of the stream, its time, its signal. */
export type WaitEnd = 'done' | 'ended' | 'late' | 'aborted';

/**
 * The one stream of a container: stdin in, stdout to the frame that is expected next, stderr dropped. Counts every
 * byte of both against a cap; what to do past it is the caller's. Keeps no more than the reader does.
 */
export class ContainerStream {
  /** Resolves when the stream has ended: the container has, or the engine is gone. Never rejects. */
  readonly ended: Promise<void>;
  readonly #stream: Duplex;
  #reader: FrameReader;
  #maxBytes: number;
  #outputBytes = 0;
  #alive = true;
  #listener: (ended: boolean) => void = () => {};

  constructor(stream: Duplex, reader: FrameReader, maxBytes: number) {
    this.#stream = stream;
    this.#reader = reader;
    this.#maxBytes = maxBytes;
    const demultiplexer = new Demultiplexer((channel, piece) => {
      this.#outputBytes += piece.byteLength;
      if (channel === 'stdout') {
        this.#reader.push(piece);
      }
    });
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.#alive = false;
        this.#listener(true);
        resolve();
      };
      stream.on('data', (chunk: Buffer) => {
        if (demultiplexer.push(chunk)) {
          this.#listener(false);
        } else {
          stream.destroy();
          end();
        }
      });
      stream.on('end', end);
      stream.on('close', end);
      // A reset is an end like any other: what it means is asked of the engine.
      stream.on('error', end);
    });
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Bytes of stdout and stderr since the last `expect`. */
  get outputBytes(): number {
    return this.#outputBytes;
  }

  get overrun(): boolean {
    return this.#outputBytes > this.#maxBytes;
  }

  /** From here on output goes to this reader, and counting begins anew. */
  expect(reader: FrameReader, maxBytes: number): void {
    this.#reader = reader;
    this.#maxBytes = maxBytes;
    this.#outputBytes = 0;
  }

  send(pieces: readonly Buffer[]): void {
    // Together, so that a small job is one write.
    this.#stream.cork();
    for (const piece of pieces) {
      this.#stream.write(piece);
    }
    this.#stream.uncork();
  }

  /** Waits until `done` holds, the stream ends, `ms` have passed or `signal` is aborted. One wait at a time. */
  until(done: () => boolean, ms: number, signal: AbortSignal): Promise<WaitEnd> {
    return new Promise((resolve) => {
      const finish = (end: WaitEnd): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#listener = () => {};
        resolve(end);
      };
      const onAbort = (): void => finish('aborted');
      const timer = setTimeout(() => finish('late'), ms);
      this.#listener = (ended) => {
        if (done()) {
          finish('done');
        } else if (ended) {
          finish('ended');
        }
      };
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) {
        onAbort();
      } else {
        this.#listener(!this.#alive);
      }
    });
  }

  /** Lets go of the stream; the container itself lives on. */
  drop(): void {
    this.#stream.destroy();
  }
}
