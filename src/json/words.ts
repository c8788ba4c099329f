/**
 * Bytes read four at a time, as a little-endian word: most of a document is the text of strings and the names of known
 * keys, and a byte at a time is half as slow again.
 */
const WORD_BYTES = 4;
const QUOTE = 0x22;

/** The same bytes, to be read as words. */
export function wordsOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Position of the first byte from `pos` on that does not stand for itself in a string (a control, a quote, a backslash,
 * anything past ASCII), or of one of the last three before `end`, which make no word: those are not looked at.
 */
export function plainEnd(words: DataView, pos: number, end: number): number {
  let at = pos;
  for (const last = end - WORD_BYTES; at <= last; at += WORD_BYTES) {
    const special = specialBits(words.getInt32(at, true));
    if (special !== 0) return at + ((31 - Math.clz32(special & -special)) >> 3);
  }
  return at;
}

/**
 * 0 if all four bytes stand for themselves; else the lowest bit that is set is the top bit of the first that does not.
 * A subtraction borrows from the byte above only where its own byte is set already.
 */
function specialBits(word: number): number {
  const quotes = word ^ 0x22222222;
  const slashes = word ^ 0x5c5c5c5c;
  return (word | (word - 0x20202020) | (quotes - 0x01010101) | (slashes - 0x01010101)) & 0x80808080;
}

/** A key with its closing quote as words; the last one may be a part, under its mask. */
export interface KeyWords {
  readonly whole: Int32Array;
  readonly last: number;
  readonly lastMask: number;
}

/** The words of a key. */
export function keyWords(key: Uint8Array): KeyWords {
  const quoted = new Uint8Array((Math.floor(key.length / WORD_BYTES) + 1) * WORD_BYTES);
  quoted.set(key);
  quoted[key.length] = QUOTE;
  const words = wordsOf(quoted);
  const lastAt = quoted.length - WORD_BYTES;
  const whole = Int32Array.from({ length: lastAt / WORD_BYTES }, (_, index) =>
    words.getInt32(index * WORD_BYTES, true),
  );
  // A shift by 32 would be none.
  const lastMask = -1 >>> (8 * (quoted.length - key.length - 1));
  return { whole, last: words.getInt32(lastAt, true), lastMask };
}

/** Whether the key and its closing quote stand at `pos`. False also where too little follows to be read as words. */
export function isKeyAt(words: DataView, pos: number, end: number, key: KeyWords): boolean {
  const { whole, last, lastMask } = key;
  const { length } = whole;
  if (pos + (length + 1) * WORD_BYTES > end) return false;
  let at = pos;
  for (let index = 0; index < length; index++, at += WORD_BYTES) {
    if (words.getInt32(at, true) !== whole[index]) return false;
  }
  return (words.getInt32(at, true) & lastMask) === last;
}
