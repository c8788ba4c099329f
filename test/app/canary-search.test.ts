import { describe, expect, it } from 'vitest';
import { createCanaries, KEY_FORMS } from '../fakes/canaries.ts';

const canaries = createCanaries();
const filler = 'nothing to see here, 0123456789abcdef %41 \\u0041 QUJDREVG '.repeat(500);

const escapes = (text: string, form: (code: string) => string): string =>
  [...Buffer.from(text)].map((byte) => form(byte.toString(16).padStart(2, '0'))).join('');
const swapped = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

const ENCODINGS: readonly (readonly [string, (text: string) => string | Buffer])[] = [
  ['as it is', (text) => text],
  ['in upper case', (text) => text.toUpperCase()],
  ['cut at its end', (text) => text.slice(0, -3)],
  ['cut at its start', (text) => text.slice(3)],
  ['in \\u escapes', (text) => escapes(text, (code) => `\\u00${code}`)],
  ['in upper-case \\u escapes', (text) => escapes(text, (code) => `\\u00${code.toUpperCase()}`)],
  ['in \\x escapes', (text) => escapes(text, (code) => `\\x${code}`)],
  ['with every byte URL-encoded', (text) => escapes(text, (code) => `%${code.toUpperCase()}`)],
  ['as a part of a URL', (text) => encodeURIComponent(`a b/${text}é`)],
  ['in hex', (text) => Buffer.from(text).toString('hex')],
  ['in upper-case hex', (text) => Buffer.from(text).toString('hex').toUpperCase()],
  ['in base64', (text) => Buffer.from(text).toString('base64')],
  ['in base64 after one byte', (text) => Buffer.from(`{${text}}`).toString('base64')],
  ['in base64 after two bytes', (text) => Buffer.from(`{"${text}"}`).toString('base64')],
  ['in base64url after bytes of its own', (text) => Buffer.from(`\xff\xfe${text}`).toString('base64url')],
  ['in UTF-16', (text) => Buffer.from(text, 'utf16le')],
  ['in big-endian UTF-16', (text) => swapped(text)],
  ['as a string of JSON in JSON', (text) => JSON.stringify(JSON.stringify({ value: text }))],
];

describe('the search for canaries', () => {
  it.each(ENCODINGS)('finds one %s', (_, encode) => {
    for (const [kind, leaked] of [
      ['text', canaries.text()],
      ['text', canaries.key('email')],
      ['text', canaries.oddText()],
      ['number', canaries.integer()],
      ['number', canaries.key('moment')],
      ['secret', canaries.secret()],
    ] as const) {
      const sink = Buffer.concat([Buffer.from(filler), Buffer.from(encode(leaked)), Buffer.from(filler)]);
      expect(
        canaries.find(sink).map((sighting) => sighting.kind),
        leaked,
      ).toContain(kind);
      expect(canaries.find(sink, ['uuid'])).toEqual([]);
    }
  });

  it('finds every form of key, and says where', () => {
    for (const form of KEY_FORMS) {
      const [sighting] = canaries.find(`${filler}${canaries.key(form)}${filler}`);
      expect(sighting?.encoding, form).toBe('raw');
      expect(sighting?.offset, form).toBeGreaterThanOrEqual(filler.length);
      expect(sighting?.near, form).toContain('nothing to see here');
    }
  });

  it('finds a number that was read as a double on its way', () => {
    expect(canaries.find(String(Number(canaries.integer())))).toHaveLength(1);
    expect(canaries.find(String(Number(canaries.decimal())))).toHaveLength(1);
    expect(canaries.find(String(Number(canaries.decimal())))).toHaveLength(1);
  });

  it('finds each value and each map key of a data set alone', () => {
    const found = new Set<string>();
    const names =
      'id name note price negative tags by_person nested text deep leaf per_day amount label'.split(' ');
    JSON.parse(canaries.dataset(), (key, value: unknown) => {
      if (key !== '' && !/^\d+$/u.test(key) && !names.includes(key)) {
        expect(canaries.find(key), key).not.toEqual([]);
        found.add(key);
      }
      if (typeof value !== 'object') {
        expect(canaries.find(String(value)), String(value)).not.toEqual([]);
        found.add(String(value));
      }
      return value;
    });
    expect(found.size).toBeGreaterThan(50);
  });

  it('finds nothing where there is nothing, and nothing of another run', () => {
    expect(canaries.find(filler)).toEqual([]);
    expect(canaries.find(createCanaries().dataset())).toEqual([]);
    expect(canaries.find(canaries.text(), ['number', 'uuid', 'secret'])).toEqual([]);
  });
});
