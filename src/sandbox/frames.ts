import type { SandboxData } from './data.ts';

/** Tags of the frames that come out of a container. */
export const FRAME_READY = 0x52; // 'R'
export const FRAME_ANSWER = 0x41; // 'A'
export const FRAME_FACTS = 0x46; // 'F'

/** Header of the one job a container gets; sizes in bytes. */
export interface JobHeader {
  readonly code_bytes: number;
  readonly data_bytes: number;
  readonly wall_seconds: number;
  readonly result_max_bytes: number;
  readonly result_max_depth: number;
  readonly decimal_as_string: boolean;
  readonly detail_max_bytes: number;
  /** Comes back in the answer's header; see `isSealed` in answer.ts. */
  readonly seal: string;
}

/** SETUP frame: u32 big-endian length, then JSON. `setup` is the operator's: modules with their names, built-ins. */
export function encodeSetup(setup: object): Buffer {
  return lengthPrefixed(Buffer.from(JSON.stringify(setup)));
}

/** JOB frame in pieces, none of the data copied: u32 length, JSON header, the code's bytes, the data's bytes. */
export function encodeJob(
  header: Omit<JobHeader, 'code_bytes' | 'data_bytes'>,
  code: Uint8Array,
  data: SandboxData,
): readonly Buffer[] {
  const full: JobHeader = { ...header, code_bytes: code.byteLength, data_bytes: data.byteLength };
  const codeBytes = Buffer.from(code.buffer, code.byteOffset, code.byteLength);
  return [lengthPrefixed(Buffer.from(JSON.stringify(full))), codeBytes, ...data.chunks];
}

/** What a probe is asked for; see `probe` in harness.py. */
export interface ProbeRequest {
  /** More than its memory limit. */
  readonly over_bytes: number;
  /** Paths that should show nothing. */
  readonly hidden: readonly string[];
  /** Paths that should be mounted read-only. */
  readonly sealed: readonly string[];
}

/** PROBE frame: u32 big-endian length, then JSON. */
export function encodeProbe(request: ProbeRequest): Buffer {
  return lengthPrefixed(Buffer.from(JSON.stringify(request)));
}

function lengthPrefixed(bytes: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(4 + bytes.byteLength);
  frame.writeUInt32BE(bytes.byteLength, 0);
  bytes.copy(frame, 4);
  return frame;
}

const FRAME_HEADER_BYTES = 5;

/**
 * Reads exactly one frame (tag byte, u32 big-endian length, payload) out of hostile bytes, however they are cut.
 * Another tag or a length past `maxPayloadBytes` is `garbled`, and nothing more is kept; bytes behind the frame
 * are counted, not kept. So it never holds more than `maxPayloadBytes` and a header.
 */
export class FrameReader {
  readonly #tag: number;
  readonly #maxPayloadBytes: number;
  readonly #header = Buffer.alloc(FRAME_HEADER_BYTES);
  /** As large as the header says, taken once: a million pieces of one byte cost no more than one piece. */
  #payload = Buffer.alloc(0);
  #headerBytes = 0;
  #missing = 0;
  #state: 'reading' | 'complete' | 'garbled' = 'reading';
  #trailingBytes = 0;

  constructor(tag: number, maxPayloadBytes: number) {
    this.#tag = tag;
    this.#maxPayloadBytes = maxPayloadBytes;
  }

  get state(): 'reading' | 'complete' | 'garbled' {
    return this.#state;
  }

  /** Bytes that came after the end of the frame. */
  get trailingBytes(): number {
    return this.#trailingBytes;
  }

  /** The payload of a complete frame; empty before. */
  payload(): Buffer {
    return this.#state === 'complete' ? this.#payload : Buffer.alloc(0);
  }

  push(bytes: Buffer): void {
    let rest = bytes;
    if (this.#state === 'reading' && this.#headerBytes < FRAME_HEADER_BYTES) {
      const copied = rest.copy(this.#header, this.#headerBytes);
      this.#headerBytes += copied;
      rest = rest.subarray(copied);
      if (this.#headerBytes === FRAME_HEADER_BYTES) {
        this.#readHeader();
      }
    }
    if (this.#state === 'reading' && this.#missing > 0 && rest.byteLength > 0) {
      const copied = rest.copy(this.#payload, this.#payload.byteLength - this.#missing);
      this.#missing -= copied;
      rest = rest.subarray(copied);
      if (this.#missing === 0) {
        this.#state = 'complete';
      }
    }
    if (this.#state === 'complete') {
      this.#trailingBytes += rest.byteLength;
    }
  }

  #readHeader(): void {
    this.#missing = this.#header.readUInt32BE(1);
    if (this.#header[0] !== this.#tag || this.#missing > this.#maxPayloadBytes) {
      this.#state = 'garbled';
    } else if (this.#missing === 0) {
      this.#state = 'complete';
    } else {
      this.#payload = Buffer.allocUnsafe(this.#missing);
    }
  }
}
