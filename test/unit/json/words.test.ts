import { describe, expect, it } from 'vitest';
import { isKeyAt, keyWords, plainEnd, wordsOf } from '../../../src/json/words.ts';

/** In memory that goes on with other bytes, as a source does in its body. */
function inside(bytes: Uint8Array): Uint8Array {
  const around = new Uint8Array(bytes.length + 11).fill(0x61);
  around.set(bytes, 3);
  return around.subarray(3, 3 + bytes.length);
}

const isSpecial = (byte: number) => byte < 0x20 || byte === 0x22 || byte === 0x5c || byte > 0x7f;

describe('a run of bytes that stand for themselves', () => {
  it('ends at the first that does not, at whatever place of a word and whatever follows it', () => {
    for (let byte = 0; byte < 256; byte++) {
      for (const filling of [0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f]) {
        for (const behind of [filling, 0x00, 0x1f, 0x22, 0x5c, 0x80, 0xff]) {
          for (let place = 0; place < 9; place++) {
            const bytes = inside(
              new Uint8Array(12)
                .fill(filling)
                .fill(behind, place)
                .fill(byte, place, place + 1),
            );
            const found = bytes.findIndex(isSpecial);
            expect(plainEnd(wordsOf(bytes), 0, bytes.length)).toBe(found < 0 ? bytes.length : found);
          }
        }
      }
    }
  });

  it('is not looked at where too little is left for a word, and never past its end', () => {
    const bytes = inside(Buffer.from('abcd"'));
    const words = wordsOf(bytes);
    expect([0, 1, 2, 3, 4, 5].map((pos) => plainEnd(words, pos, bytes.length))).toEqual([4, 4, 2, 3, 4, 5]);
    expect(plainEnd(words, 1, 4)).toBe(1);
  });
});

describe('a key by its words', () => {
  const name = 'customer-id';

  it('is found at any place, and is no other: not a longer one, a shorter one, or one with another letter', () => {
    for (let length = 0; length <= name.length; length++) {
      const key = keyWords(Buffer.from(name.slice(0, length)));
      for (let other = 0; other <= name.length; other++) {
        const bytes = inside(Buffer.from(`{"${name.slice(0, other)}":1234}`));
        expect(isKeyAt(wordsOf(bytes), 2, bytes.length, key)).toBe(other === length);
      }
      for (let place = 0; place < length; place++) {
        const changed = `${name.slice(0, place)}X${name.slice(place + 1, length)}`;
        const bytes = inside(Buffer.from(`{"${changed}":1234}`));
        expect(isKeyAt(wordsOf(bytes), 2, bytes.length, key)).toBe(false);
      }
    }
  });

  it('with bytes past ASCII is told from one that differs in their top bits', () => {
    const key = keyWords(Buffer.from('cafés'));
    const [same, other] = ['{"cafés":1}', '{"cafãs":1}'].map((text) => inside(Buffer.from(text)));
    expect(isKeyAt(wordsOf(same as Uint8Array), 2, (same as Uint8Array).length, key)).toBe(true);
    expect(isKeyAt(wordsOf(other as Uint8Array), 2, (other as Uint8Array).length, key)).toBe(false);
  });

  it('is left to a closer look at the end of the bytes, where a word would reach past it', () => {
    const bytes = inside(Buffer.from('{"ab"'));
    expect(isKeyAt(wordsOf(bytes), 2, bytes.length, keyWords(Buffer.from('ab')))).toBe(false);
  });
});
