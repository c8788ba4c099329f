import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeSources } from '../../../src/schema/describe.ts';
import { schemaOf, source } from './shapes.ts';

interface Sample {
  readonly about: string;
  readonly answer: unknown;
  readonly schema: unknown;
}

const SAMPLES = new URL('./samples/', import.meta.url);

const map = (value: unknown) => ({
  type: 'object',
  description: 'keys are data',
  additionalProperties: value,
});
const integer = { type: 'integer' };

describe('answers of real APIs', () => {
  it.each(readdirSync(SAMPLES))('%s', (file) => {
    const { answer, schema } = JSON.parse(readFileSync(new URL(file, SAMPLES), 'utf8')) as Sample;
    expect(schemaOf(answer)).toEqual(schema);
  });
});

describe('keys that look like data', () => {
  it.each([
    ['e-mail addresses', ['bob@corp.com', 'eve@corp.com']],
    ['one e-mail address', ['bob@corp.com']],
    ['UUIDs', ['0b5a7e0e-6a6f-4b0e-9b7a-0f5a5d3f6c11', 'f1d0c7aa-1f3b-4e55-8f3e-1a5b7b0d2c22']],
    ['dates', ['2026-11-30', '2026-12-01']],
    ['months', ['2026-11', '2026-12']],
    ['years', ['2025', '2026']],
    ['German dates', ['30.11.2026']],
    ['American dates', ['11/30/2026']],
    ['times', ['08:00', '09:30']],
    ['timestamps', ['2026-11-30T08:00:00Z', '2026-11-30T08:00:00+01:00']],
    ['quarters', ['2026-Q1', 'Q2 2026']],
    ['written months', ['Nov 2026', '1 Dec 2026']],
    ['numbers', ['1', '2', '-3', '4.5']],
    ['epochs', ['1790000000']],
    ['phone numbers', ['+49 30 123456', '(502) 459-2181']],
    ['IPv4 addresses', ['10.0.0.1']],
    ['IPv6 addresses', ['fe80::1']],
    ['SHA-256 digests', ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08']],
    ['short commits', ['a1b2c3d', '9f8e7d6']],
    ['customer numbers', ['customer_10023', 'customer-10024']],
    ['order numbers', ['INV-2026-001', 'INV-2026-002']],
    ['provider ids', ['cus_NffrFeUfNV2Hib']],
    ['ULIDs', ['01ARZ3NDEKTSV4RRFFQ69G5FAV']],
    ['random tokens', ['xK9vQ2mZ7pLw']],
    ['consonants', ['xkqzjvbnwt']],
    ['long words', ['a'.repeat(40)]],
    ['long texts', ['the quick brown fox jumps over it']],
    ['URLs', ['https://example.com/x']],
    ['paths', ['/home/bob']],
    ['host names', ['mail.example.com']],
    ['versions', ['1.2.3', 'v2.0.0-beta.1']],
    ['currencies', ['EUR', 'USD', 'JPY']],
    ['one currency', ['EUR']],
    ['small currencies', ['eur', 'usd']],
    ['tickers', ['AAPL', 'MSFT']],
    ['countries', ['DE', 'FR']],
    ['languages', ['en', 'de', 'fr']],
    ['locales', ['en-US', 'de_DE']],
    ['weekdays', ['monday', 'tuesday']],
    ['month names', ['Jan', 'Feb']],
    ['people', ['Anna', 'Bert']],
    ['places', ['new york', 'los angeles']],
    ['numbered users', ['user_1', 'user_2', 'user_3']],
    ['names outside the name rule', ['a/b', 'c/d']],
  ])('%s are not shown, their values are', (_, keys) => {
    const value = Object.fromEntries(keys.map((key, index) => [key, index]));
    expect(schemaOf(value)).toEqual(map(integer));
    const { text } = describeSources([source(value)]);
    for (const key of keys) expect(text).not.toContain(`"${key}"`);
  });

  it('are not shown among field names, which are', () => {
    expect(schemaOf({ total: 'x', tags: ['y'], nested: {}, 'bob@corp.com': 1 })).toMatchObject({
      description: 'further keys are data',
      required: ['total', 'tags', 'nested'],
      additionalProperties: integer,
    });
  });

  it('take the names between them along where all values are of one kind', () => {
    expect(schemaOf({ anna: 1, bert: 2, 'bob@corp.com': 3 })).toEqual(map(integer));
  });

  it('take along names with values like theirs where they are half of all', () => {
    expect(schemaOf({ anna: 1, '2025': 1, '2026': 2.5, region: 'x' })).toMatchObject({
      properties: { region: { type: 'string' } },
      additionalProperties: { type: 'number' },
    });
  });

  it('take all names along where their own values are of several kinds', () => {
    expect(schemaOf({ anna: [], 'a@b.com': 1, 'c@d.com': 'x' })).toMatchObject({
      description: 'keys are data',
    });
  });
});

describe('keys that are data by their number and their change', () => {
  const names =
    'ant bee cat dog eel fox gnu hen ibis jay koi lynx mole newt owl pig quail ram seal tit'.split(' ');

  it('many keys with values of one kind are a map', () => {
    const some = (count: number) =>
      Object.fromEntries(names.slice(0, count).map((name, i) => [name, i + 0.5]));
    expect(schemaOf(some(20))).toEqual(map({ type: 'number' }));
    expect(Object.keys(schemaOf(some(8)).properties as object)).toHaveLength(8);
  });

  it('a few keys with records of one form are a map', () => {
    const people = Object.fromEntries(names.slice(0, 4).map((name) => [name, { age: 1, town: 'x' }]));
    expect(schemaOf(people)).toEqual(
      map({
        type: 'object',
        properties: { age: integer, town: { type: 'string' } },
        required: ['age', 'town'],
      }),
    );
  });

  it('numbered names take names with values like theirs along where they are the most', () => {
    expect(schemaOf({ user_1: 1, user_2: 2, user_3: 3, anna: 4, note: 'x' })).toMatchObject({
      properties: { note: { type: 'string' } },
      additionalProperties: integer,
    });
  });

  it('numbered columns that every record has are fields', () => {
    const row = { answer_1: 1, answer_2: 2, answer_3: 3, answer_4: 4 };
    const items = schemaOf([row, row, row]).items as { properties: object };
    expect(Object.keys(items.properties)).toEqual(Object.keys(row));
  });

  it('a key too long for a name is data among its like', () => {
    expect(schemaOf({ anna: 1, bert: 2, ['x y'.repeat(100)]: 3 })).toEqual(map(integer));
  });

  it('many columns that every record has are fields', () => {
    const row = Object.fromEntries(names.map((name) => [`${name}_count`, 1]));
    const items = schemaOf([row, row, row]).items as { properties: object };
    expect(Object.keys(items.properties)).toHaveLength(20);
  });

  it('whether two maps of one length are records does not hang on that length', () => {
    const of = (...keys: string[]) => Object.fromEntries(keys.map((key, i) => [key, i % 2 === 0 ? 'x' : 1]));
    const alike = { country: of('ant', 'bee'), id: null, rate: of('cat', 'dog') };
    const longer = { ...alike, rate: of('cat', 'dog', 'eel', 'fox') };
    const names = (value: unknown) =>
      Object.keys((schemaOf(value) as { properties?: object }).properties ?? {});
    expect(names(longer)).toEqual(['country', 'id', 'rate']);
    expect(names(alike)).toEqual(names(longer));
  });

  it('keys that differ from record to record are a map', () => {
    expect(schemaOf([{ ant: 1 }, { bee: 2 }, { cat: 3 }])).toEqual({ type: 'array', items: map(integer) });
    expect(
      schemaOf({
        rows: [
          { id: 1, by: { ant: 1 } },
          { id: 2, by: { bee: 2 } },
        ],
      }),
    ).toMatchObject({
      properties: { rows: { items: { properties: { by: map(integer) } } } },
    });
  });

  it('keys that differ beside fields that stay are a map beside fields', () => {
    const rows = names.map((name, id) => ({ id, title: 'x', [name]: 1 }));
    expect(schemaOf(rows).items).toMatchObject({
      required: ['id', 'title'],
      additionalProperties: integer,
      description: 'further keys are data',
    });
    expect(describeSources([source(rows)]).text).not.toMatch(/ant|bee|tit":\{"type":"integer"/u);
  });

  it('keys that differ below keys that are data are found', () => {
    const value = { 'a@b.com': { ant: 1 }, 'c@d.com': { bee: 2 } };
    expect(schemaOf(value)).toEqual(map(map(integer)));
  });

  it('thousands of keys are a map, whatever their values', () => {
    const letters = (number: number) =>
      [...number.toString(26)].map((c) => 'abcdefghijklmnopqrstuvwxyz'[Number.parseInt(c, 26)]);
    const keys = Array.from({ length: 2_100 }, (_, i) => `of_${letters(i).join('')}`);
    const value = Object.fromEntries(keys.map((key, i) => [key, i % 2 === 0 ? i : 'x']));
    expect(schemaOf(value)).toEqual(map({ type: ['string', 'integer'] }));
  });
});

describe('keys that are field names', () => {
  it.each([
    ['a small answer', { total: 1, currency: 'EUR' }],
    ['numbers only', { total: 1, count: 2, average: 1.5 }],
    ['an address', { line1: 'x', line2: 'y', city: 'z', postal_code: '1', country: 'DE', state: '' }],
    ['digits in names', { sha256: 'x', md5: 'y', address1: 'z', address2: 'z', pm2_5: 1, iso8601Date: 'x' }],
    [
      'units in names',
      { temperature_2m: 1, wind_speed_180m: 2, utc_offset_15min: 3, temperature_1000hPa: 4 },
    ],
    ['camel case', { containerPort: 80, hostIP: 'x', podIPs: ['y'], qosClass: 'z', oauth2Token: 'x' }],
    ['words that codes are made of', { id: 1, may: 2, march: 'x', all: true }],
    ['long names', { active_lock_reason_of_the_conversation: 'x', authenticationMethodReferenceValues: 'y' }],
    [
      'optional fields',
      [
        { id: 1, email: 'x' },
        { id: 2, phone: 'y' },
        { id: 3, email: 'z', note: null },
      ],
    ],
    ['two records in one', { billing: { city: 'x', zip: 'y' }, shipping: { city: 'x', zip: 'y' } }],
    ['links', { self: { href: 'x' }, html: { href: 'y' }, issue: { href: 'z' }, comments: { href: 'w' } }],
    [
      'a spreadsheet row',
      [
        { Name: 'x', 'Order Date': 'y' },
        { Name: 'x', 'Order Date': 'y' },
        { Name: 'x', 'Order Date': 'y' },
      ],
    ],
  ])('%s', (_, value) => {
    const found = new Set<string>();
    JSON.stringify(value, (key, inner: unknown) => {
      if (key !== '' && !/^\d$/u.test(key)) found.add(key);
      return inner;
    });
    const { text } = describeSources([source(value)]);
    for (const name of found) expect(text).toContain(`"${name}":`);
    expect(text).not.toContain('additionalProperties');
  });
});

describe('what the caller says about keys', () => {
  it('fields: names are shown even where they look like data', () => {
    expect(schemaOf({ '2026-11-30': 1, EUR: { ant: 2 } }, { keys: 'fields' })).toEqual({
      type: 'object',
      properties: {
        '2026-11-30': integer,
        EUR: { type: 'object', properties: { ant: integer }, required: ['ant'] },
      },
      required: ['2026-11-30', 'EUR'],
    });
  });

  it('data: no name is shown, at any depth', () => {
    expect(schemaOf({ orders: [{ id: 1, total: 2.5 }] }, { keys: 'data' })).toEqual(
      map({ type: 'array', items: map({ type: 'number' }) }),
    );
  });
});
