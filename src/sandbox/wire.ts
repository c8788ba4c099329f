/**
 * The frames between the API and the sandbox daemon: one tag byte, a u32 big-endian length, the payload. One
 * connection is one run (RUN CODE DATA -> TAKEN -> GO -> REPORT) or one question (READY_ASK -> READY COUNTS). A side
 * that knows no COUNTS is none the worse: it has closed before them, or closes without them.
 */
export const TAG = {
  /** API: JSON header of a run, see wire-run.ts. */
  run: 0x52, // R
  /** API: the function's UTF-8 bytes. */
  code: 0x43, // C
  /** API: the argument as JSON text. */
  data: 0x44, // D
  /** API: *started* stands in the ledger; the job may be sent. Empty. */
  go: 0x47, // G
  /** API: end the run. One byte, see STOP. */
  stop: 0x53, // S
  /** API: are you ready? Empty. */
  readyAsk: 0x3f, // ?
  /** Daemon: a container is taken, nothing has been sent to it. Empty. */
  taken: 0x54, // T
  /** Daemon: how the run ended, see wire-report.ts. */
  report: 0x45, // E
  /** Daemon: JSON array of check states. */
  ready: 0x41, // A
  /** Daemon: what its pool has come to, see wire-counts.ts. */
  counts: 0x4e, // N
} as const;

/** Raised when a field changes its meaning; two sides of different versions refuse each other's runs and counts. */
export const PROTOCOL = 1;

/** The byte of a STOP: why the run is to end. */
export const STOP = { deadline: 0x64, cancelled: 0x63 } as const;

/** Largest payload by tag of the frames that may come now. Anything else ends the connection. */
export type Expected = ReadonlyMap<number, number>;

export interface WireFrame {
  readonly tag: number;
  readonly payload: Buffer;
}

const HEADER_BYTES = 5;
const NO_BYTES = Buffer.alloc(0);

/** A frame in pieces, none of them copied. */
export function encodeFrame(tag: number, ...pieces: readonly Buffer[]): readonly Buffer[] {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt8(tag, 0);
  header.writeUInt32BE(
    pieces.reduce((sum, piece) => sum + piece.byteLength, 0),
    1,
  );
  return [header, ...pieces];
}

/**
 * Takes frames out of hostile bytes, however they are cut. A tag that is not expected or a length past its bound
 * is `garbled` before a byte of the payload is kept; so it never holds more than one payload of what was allowed.
 */
export class FrameDecoder {
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  /** As large as the header says, taken once: a million pieces of one byte cost no more than one piece. */
  #payload = NO_BYTES;
  #payloadBytes = 0;
  #garbled = false;

  get garbled(): boolean {
    return this.#garbled;
  }

  /**
   * Reads on in `bytes` up to the end of one frame. Answers the frame, if it is complete, and what stands behind
   * it. `expected` is judged when a header is complete, not in the middle of a frame.
   */
  push(bytes: Buffer, expected: Expected): { readonly frame: WireFrame | null; readonly rest: Buffer } {
    if (this.#garbled) {
      return { frame: null, rest: NO_BYTES };
    }
    let rest = bytes;
    if (this.#headerBytes < HEADER_BYTES) {
      const copied = rest.copy(this.#header, this.#headerBytes);
      this.#headerBytes += copied;
      rest = rest.subarray(copied);
      if (this.#headerBytes < HEADER_BYTES) {
        return { frame: null, rest };
      }
      const maxBytes = expected.get(this.#header.readUInt8(0));
      const length = this.#header.readUInt32BE(1);
      if (maxBytes === undefined || length > maxBytes) {
        this.#garbled = true;
        return { frame: null, rest: NO_BYTES };
      }
      this.#payload = length === 0 ? NO_BYTES : Buffer.allocUnsafe(length);
      this.#payloadBytes = 0;
    }
    const copied = rest.copy(this.#payload, this.#payloadBytes);
    this.#payloadBytes += copied;
    rest = rest.subarray(copied);
    if (this.#payloadBytes < this.#payload.byteLength) {
      return { frame: null, rest };
    }
    const frame = { tag: this.#header.readUInt8(0), payload: this.#payload };
    this.#headerBytes = 0;
    this.#payload = NO_BYTES;
    return { frame, rest };
  }
}

/** A JSON object out of a payload, or null. */
export function jsonObject(payload: Buffer): Readonly<Record<string, unknown>> | null {
  const value = jsonValue(payload);
  return isObject(value) ? value : null;
}

/** A JSON value out of a payload; undefined if it is none. */
export function jsonValue(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Whether a value out of JSON is an object, no array and not null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A whole number from `min` to `max`, or null. */
export function wholeNumber(value: unknown, min: number, max: number): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max
    ? value
    : null;
}
