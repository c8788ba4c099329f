/** Most keys in one object that is not read as a record: past it the document is refused (`too_many_keys`). */
export const OBJECT_KEYS_MAX = 1_000_000;

/** Up to here keys are compared one by one. */
const LINEAR_MAX = 8;

export type SpanVerdict = 'new' | 'duplicate' | 'full';

/**
 * The keys of one object that are not kept as fields, as spans of bytes, to find duplicates: 12 bytes a key and a
 * table of 4-byte slots, no strings. At most OBJECT_KEYS_MAX keys, gone when the object is closed.
 */
export class KeySpans {
  private spans = new Int32Array(3 * LINEAR_MAX);
  private count = 0;
  private table: Int32Array | null = null;
  /** Unescaped keys: they stand in no body. Their spans start at ~offset. */
  private arena: Uint8Array | null = null;
  private arenaUsed = 0;

  /**
   * Adds the key `start`..`end` of `bytes`. `body` is what spans of unescaped keys refer to; any other `bytes` are
   * copied.
   */
  add(body: Uint8Array, bytes: Uint8Array, start: number, end: number, hash: number): SpanVerdict {
    const slot = this.slot(body, bytes, start, end, hash);
    if (slot === -1) return 'duplicate';
    if (this.count >= OBJECT_KEYS_MAX) return 'full';
    if (this.count * 3 === this.spans.length) this.spans = grown(this.spans, this.spans.length * 2);
    const at = this.count * 3;
    this.spans[at] = bytes === body ? start : ~this.keep(bytes, start, end);
    this.spans[at + 1] = end - start;
    this.spans[at + 2] = hash;
    this.count++;
    if (this.table === null ? this.count > LINEAR_MAX : this.count * 2 > this.table.length) this.rebuild();
    else if (this.table !== null) this.table[slot] = this.count;
    return 'new';
  }

  /** A free slot of the table (0 without one), or -1 if the key is known. */
  private slot(body: Uint8Array, bytes: Uint8Array, start: number, end: number, hash: number): number {
    if (this.table === null) {
      for (let entry = 0; entry < this.count; entry++) {
        if (this.same(entry, body, bytes, start, end, hash)) return -1;
      }
      return 0;
    }
    const mask = this.table.length - 1;
    let slot = hash & mask;
    for (;;) {
      const entry = (this.table[slot] as number) - 1;
      if (entry < 0) return slot;
      if (this.same(entry, body, bytes, start, end, hash)) return -1;
      slot = (slot + 1) & mask;
    }
  }

  private same(
    entry: number,
    body: Uint8Array,
    bytes: Uint8Array,
    start: number,
    end: number,
    hash: number,
  ): boolean {
    const at = entry * 3;
    if (this.spans[at + 2] !== hash || this.spans[at + 1] !== end - start) return false;
    const known = this.spans[at] as number;
    const from = known >= 0 ? body : (this.arena as Uint8Array);
    const offset = (known >= 0 ? known : ~known) - start;
    for (let index = start; index < end; index++) if (from[index + offset] !== bytes[index]) return false;
    return true;
  }

  private rebuild(): void {
    const size = this.table === null ? 4 * LINEAR_MAX : this.table.length * 2;
    const table = new Int32Array(size);
    for (let entry = 0; entry < this.count; entry++) {
      let slot = (this.spans[entry * 3 + 2] as number) & (size - 1);
      while (table[slot] !== 0) slot = (slot + 1) & (size - 1);
      table[slot] = entry + 1;
    }
    this.table = table;
  }

  private keep(bytes: Uint8Array, start: number, end: number): number {
    const offset = this.arenaUsed;
    const needed = offset + end - start;
    if (this.arena === null || needed > this.arena.length) {
      const larger = new Uint8Array(Math.max(256, needed * 2));
      if (this.arena !== null) larger.set(this.arena.subarray(0, offset));
      this.arena = larger;
    }
    this.arena.set(bytes.subarray(start, end), offset);
    this.arenaUsed = needed;
    return offset;
  }
}

function grown(from: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const to = new Int32Array(length);
  to.set(from);
  return to;
}
