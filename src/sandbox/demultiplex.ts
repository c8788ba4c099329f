/** Called with each piece of the container's output as it comes; the piece is only lent. */
export type OnOutput = (channel: 'stdout' | 'stderr', piece: Buffer) => void;

const HEADER_BYTES = 8;
const STDOUT = 1;
const STDERR = 2;

/**
 * Takes an engine's attach stream apart: 8-byte headers (channel, three zero bytes, length as u32 big-endian)
 * before each piece. Keeps at most one unfinished header, however the stream is cut. The engine writes the
 * headers, not the container: one that makes no sense means that the stream is not what it should be, and
 * `push` answers false from then on.
 */
export class Demultiplexer {
  readonly #onOutput: OnOutput;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #channel: 'stdout' | 'stderr' = 'stdout';
  #remaining = 0;
  #broken = false;

  constructor(onOutput: OnOutput) {
    this.#onOutput = onOutput;
  }

  push(chunk: Buffer): boolean {
    let offset = 0;
    while (offset < chunk.byteLength && !this.#broken) {
      if (this.#remaining > 0) {
        const piece = chunk.subarray(offset, offset + this.#remaining);
        this.#remaining -= piece.byteLength;
        offset += piece.byteLength;
        this.#onOutput(this.#channel, piece);
      } else {
        const copied = chunk.copy(this.#header, this.#headerBytes, offset);
        this.#headerBytes += copied;
        offset += copied;
        if (this.#headerBytes === HEADER_BYTES) {
          this.#readHeader();
        }
      }
    }
    return !this.#broken;
  }

  #readHeader(): void {
    const channel = this.#header[0];
    if ((channel !== STDOUT && channel !== STDERR) || this.#header.readUIntBE(1, 3) !== 0) {
      this.#broken = true;
      return;
    }
    this.#channel = channel === STDOUT ? 'stdout' : 'stderr';
    this.#remaining = this.#header.readUInt32BE(4);
    this.#headerBytes = 0;
  }
}
