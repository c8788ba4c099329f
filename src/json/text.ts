import { packFault } from './fault.ts';
import { plainEnd } from './words.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** What a byte does inside a string: 0 stands for itself, 1 ends or escapes, 2 is a control, 3 leads UTF-8. */
const STRING_CLASS = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0x20) return 2;
  if (byte === QUOTE || byte === BACKSLASH) return 1;
  return byte < 0x80 ? 0 : 3;
});

/** Value of a hexadecimal digit, 255 for any other byte. */
const HEX = Uint8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(value) ? 255 : value;
});

/** What the byte after a backslash stands for; 0 where it may not follow one. `u` is told apart before. */
const ESCAPED = Uint8Array.from({ length: 256 }, (_, byte) => {
  const at = '"\\/bfnrt'.indexOf(String.fromCharCode(byte));
  return at < 0 ? 0 : '"\\/\b\f\n\r\t'.charCodeAt(at);
});

function hex4(bytes: Uint8Array, pos: number): number {
  const a = HEX[bytes[pos] as number] as number;
  const b = HEX[bytes[pos + 1] as number] as number;
  const c = HEX[bytes[pos + 2] as number] as number;
  const d = HEX[bytes[pos + 3] as number] as number;
  return a > 15 || b > 15 || c > 15 || d > 15 ? -1 : (a << 12) | (b << 8) | (c << 4) | d;
}

/**
 * End of the multi-byte UTF-8 sequence that starts at `pos`, or -1: overlong forms, surrogates, code points past
 * U+10FFFF and cut sequences are refused (Unicode 15, table 3-7).
 */
export function utf8End(bytes: Uint8Array, pos: number, end: number): number {
  const lead = bytes[pos] as number;
  if (lead < 0xc2 || lead > 0xf4) return -1;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (pos + length > end) return -1;
  const second = bytes[pos + 1] as number;
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return -1;
  for (let at = pos + 2; at < pos + length; at++) {
    if (((bytes[at] as number) & 0xc0) !== 0x80) return -1;
  }
  return pos + length;
}

/**
 * Checks a string whose opening quote stands before `pos`; `words` are the same bytes. Answers the position after its
 * closing quote, or a packed fault. A `\u` escape of a lone surrogate is grammatical and passes.
 */
export function scanString(bytes: Uint8Array, words: DataView, pos: number, end: number): number {
  let at = plainEnd(words, pos, end);
  while (at < end) {
    const byte = bytes[at] as number;
    const kind = STRING_CLASS[byte] as number;
    if (kind === 0) {
      at = plainEnd(words, at + 1, end);
    } else if (kind === 3) {
      const next = utf8End(bytes, at, end);
      if (next < 0) return packFault('bad_utf8', at);
      at = next;
    } else if (kind === 2) {
      return packFault('not_json', at);
    } else if (byte === QUOTE) {
      return at + 1;
    } else {
      if (at + 1 >= end) return packFault('not_json', end);
      const escaped = bytes[at + 1] as number;
      if (escaped === 0x75) {
        if (at + 6 > end || hex4(bytes, at + 2) < 0) return packFault('not_json', at);
        at += 6;
      } else {
        if (ESCAPED[escaped] === 0) return packFault('not_json', at);
        at += 2;
      }
    }
  }
  return packFault('not_json', end);
}

/**
 * Writes the text of an already checked string (without its quotes) to `out` as UTF-8, from `out[0]`, and answers
 * its length, which is never more than `end - start`. Two escapes of a surrogate pair become one code point. A
 * lone surrogate gets three bytes of its own, so that distinct strings stay distinct; with `strict` it is a fault.
 */
export function unescapeText(
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  strict: boolean,
): number {
  let at = start;
  let to = 0;
  while (at < end) {
    const byte = bytes[at] as number;
    if (byte !== BACKSLASH) {
      out[to++] = byte;
      at++;
      continue;
    }
    const escaped = bytes[at + 1] as number;
    if (escaped !== 0x75) {
      out[to++] = ESCAPED[escaped] as number;
      at += 2;
      continue;
    }
    let point = hex4(bytes, at + 2);
    const escapedAt = at;
    at += 6;
    if (point >= 0xd800 && point <= 0xdbff && at + 6 <= end) {
      const low = bytes[at] === BACKSLASH && bytes[at + 1] === 0x75 ? hex4(bytes, at + 2) : -1;
      if (low >= 0xdc00 && low <= 0xdfff) {
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
      }
    }
    if (strict && point >= 0xd800 && point <= 0xdfff) return packFault('bad_utf8', escapedAt);
    to = writePoint(out, to, point);
  }
  return to;
}

function writePoint(out: Uint8Array, at: number, point: number): number {
  let to = at;
  if (point < 0x80) {
    out[to++] = point;
  } else if (point < 0x800) {
    out[to++] = 0xc0 | (point >> 6);
    out[to++] = 0x80 | (point & 0x3f);
  } else {
    if (point < 0x10000) {
      out[to++] = 0xe0 | (point >> 12);
    } else {
      out[to++] = 0xf0 | (point >> 18);
      out[to++] = 0x80 | ((point >> 12) & 0x3f);
    }
    out[to++] = 0x80 | ((point >> 6) & 0x3f);
    out[to++] = 0x80 | (point & 0x3f);
  }
  return to;
}
