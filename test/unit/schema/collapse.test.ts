import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeSources } from '../../../src/schema/describe.ts';
import { schemaOf, source } from './shapes.ts';

interface Measured {
  readonly about: string;
  readonly answer: unknown;
  /** Keys that are data, by what they look like to a person. Every other key of the answer is a field. */
  readonly data: readonly string[];
  /** What `auto` gets wrong, measured: data keys that are shown, fields that are not. */
  readonly out?: readonly string[];
  readonly lost?: readonly string[];
}

const record = (n: number) => ({ orders: n, last_order: 'x' });
const WORDS = 'anna bert cleo dora emil fritz'.split(' ');

const MEASURED: readonly Measured[] = [
  {
    about: 'records by e-mail address',
    answer: { by_customer: { 'bob@corp.example': record(1), 'eve+1@corp.example': record(2) } },
    data: ['bob@corp.example', 'eve+1@corp.example'],
  },
  {
    about: 'a map with one e-mail address',
    answer: { total: 1, by_customer: { 'bob@corp.example': 12.5 } },
    data: ['bob@corp.example'],
  },
  {
    about: 'records by user name, three of them',
    answer: { users: { anna: record(1), bert: record(2), cleo: record(3) } },
    data: ['anna', 'bert', 'cleo'],
  },
  {
    about: 'numbers by first name',
    answer: { scores: { Anna: 1, Bert: 2.5 }, best: { Cleo: 3 } },
    data: ['Anna', 'Bert', 'Cleo'],
  },
  {
    about: 'numbers by full name',
    answer: { scores: { 'Anna Schmidt': 1 }, hours: { 'bob van dyke': 2, 'Eve O': 1 } },
    data: ['Anna Schmidt', 'bob van dyke', 'Eve O'],
  },
  {
    about: 'records by customer id',
    answer: {
      totals: { cust_81: record(1), cust_92: record(2) },
      open: { C1: 1, C2: 2 },
      late: { cus_NffrFeUfNV2Hib: 1 },
    },
    data: ['cust_81', 'cust_92', 'C1', 'C2', 'cus_NffrFeUfNV2Hib'],
  },
  {
    about: 'stock by SKU',
    answer: {
      stock: { 'TSHIRT-RED-M': 5, 'MUG-WHITE': 6 },
      one: { 'CAP-BLK-L': { qty: 1, bin: 'x' } },
      short: { A12: 1, B7: 2 },
    },
    data: ['TSHIRT-RED-M', 'MUG-WHITE', 'CAP-BLK-L', 'A12', 'B7'],
  },
  {
    about: 'weather by city',
    answer: {
      now: { Berlin: 3.5, 'New York': 2 },
      records: { Berlin: { high: 1, low: 2 }, Lima: { high: 1, low: 2 } },
      other_scripts: { 東京: 3, 大阪: 2 },
      accents: { Köln: 1, Düsseldorf: 2 },
    },
    data: ['Berlin', 'New York', 'Lima', '東京', '大阪', 'Köln', 'Düsseldorf'],
  },
  {
    about: 'feature flags by tenant, three of them',
    answer: {
      flags: {
        acme: { dark_mode: true, beta: false },
        globex: { dark_mode: true, beta: true },
        initech: { dark_mode: false, beta: true },
      },
    },
    data: ['acme', 'globex', 'initech'],
  },
  {
    about: 'records whose keys differ from record to record',
    answer: WORDS.map((name, index) => ({
      id: index,
      title: 'x',
      votes: { [name]: index, [WORDS[(index + 1) % 6] ?? '']: 1 },
    })),
    data: WORDS,
  },
  {
    about: 'keys that differ beside fields that stay',
    answer: WORDS.map((name, index) => ({ id: index, title: 'x', [name]: index })),
    data: WORDS,
  },
  {
    about: 'maps in maps in maps',
    answer: {
      'a@x.example': { '2026-01-01': { 'MUG-WHITE-1': 3 } },
      'b@x.example': { '2026-01-02': { 'CAP-BLACK-2': 1 } },
    },
    data: ['a@x.example', 'b@x.example', '2026-01-01', '2026-01-02', 'MUG-WHITE-1', 'CAP-BLACK-2'],
  },
  {
    about: 'hosts and orders with numbers',
    answer: { load: { 'web-01': 1, 'db-01': 2 }, orders: { 'order-17': record(1), 'order-18': record(2) } },
    data: ['web-01', 'db-01', 'order-17', 'order-18'],
  },
  {
    about: 'plates, account numbers, diagnoses, ids of chat users',
    answer: {
      plates: { 'B-AB 1234': 1 },
      accounts: { DE89370400440532013000: 1 },
      diagnoses: { 'F32.1': 3, 'J45.9': 1 },
      chat: { U024BE7LH: 1 },
    },
    data: ['B-AB 1234', 'DE89370400440532013000', 'F32.1', 'J45.9', 'U024BE7LH'],
  },
  {
    about: 'an order as shops give it',
    answer: {
      id: 1,
      order_number: 'x',
      shipping_address: { line1: 'x', line2: null, city: 'x' },
      items: [{ sku: 'x', qty: 1, unit_price: 1.5 }],
      totals: { net: 1.5, gross: 2.5, tax: 1 },
    },
    data: [],
  },
  {
    about: 'a page of records in PascalCase',
    answer: {
      Count: 2,
      NextToken: null,
      Items: [
        { OrderId: 'x', Total: 1, Paid: true },
        { OrderId: 'y', Total: 2, Paid: false },
      ],
    },
    data: [],
  },

  // What `auto` cannot tell from fields, or takes for data. The caller says `keys` or gives `schema` there.
  {
    about: 'a few lower-case names with plain values: they look like any other fields',
    answer: { scores: { anna: 1, bert: 2, cleo: 3 }, one: { dora: { count: 1 } } },
    data: ['anna', 'bert', 'cleo', 'dora'],
    out: ['anna', 'bert', 'cleo', 'dora'],
  },
  {
    about: 'two tenants with the same flags: they look like billing and shipping',
    answer: { acme: { dark_mode: true, beta: false }, globex: { dark_mode: false, beta: true } },
    data: ['acme', 'globex'],
    out: ['acme', 'globex'],
  },
  {
    about: 'two records whose keys overlap: they look like optional fields',
    answer: [{ votes: { anna: 1, bert: 2 } }, { votes: { bert: 2, cleo: 3 } }],
    data: ['anna', 'bert', 'cleo'],
    out: ['anna', 'bert', 'cleo'],
  },
  {
    about: 'a pivot table with the same columns in every row',
    answer: ['x', 'y', 'z'].map((month) => ({ month, Berlin: 5, Paris: 6 })),
    data: ['Berlin', 'Paris'],
    out: ['Berlin', 'Paris'],
  },
  {
    about: 'names in lower case with hyphens or dots',
    answer: { visits: { 'anna-maria': 1, 'bob.jones': 2 }, stock: { 'tshirt-red-m': 1, 'mug-white': 2 } },
    data: ['anna-maria', 'bob.jones', 'tshirt-red-m', 'mug-white'],
    out: ['anna-maria', 'bob.jones', 'tshirt-red-m', 'mug-white'],
  },
  {
    about: 'text by city: forms have such fields too',
    answer: { mayor: { Berlin: 'x', Paris: 'y' } },
    data: ['Berlin', 'Paris'],
    out: ['Berlin', 'Paris'],
  },
  {
    about: 'fields that look like a map: numbers under capitalised names, records of one form, codes',
    answer: {
      size: { Width: 1, Height: 2 },
      states: { open: record(1), paid: record(2), late: record(3) },
      air: { PM10: 1, NO2: 2 },
    },
    data: [],
    lost: ['Width', 'Height', 'open', 'paid', 'late', 'PM10', 'NO2'],
  },
];

/** All keys of an answer, in order, once. */
function keysOf(answer: unknown): readonly string[] {
  const keys = new Set<string>();
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) keys.add(key);
      walk(inner);
    }
  };
  walk(answer);
  return [...keys];
}

function shownOf(answer: unknown): ReadonlySet<string> {
  const { text } = describeSources([source(answer)]);
  return new Set(keysOf(answer).filter((key) => text.includes(`${JSON.stringify(key)}:`)));
}

describe('under auto', () => {
  it.each(MEASURED)('$about', ({ answer, data, out = [], lost = [] }) => {
    const shown = shownOf(answer);
    expect(data.filter((key) => shown.has(key))).toEqual(out);
    expect(keysOf(answer).filter((key) => !data.includes(key) && !shown.has(key))).toEqual(lost);
  });

  it('what a caller says ends every doubt', () => {
    for (const { answer, data } of MEASURED) {
      const declared = { type: 'object' };
      const { text } = describeSources([
        source(answer, { declared }),
        source(answer, { keys: 'data', name: 'other' }),
      ]);
      for (const key of data) expect(text, key).not.toContain(`${JSON.stringify(key)}:`);
    }
  });

  it('every sample of a real API is described in full, or what is not is a key of data', () => {
    const samples = new URL('./samples/', import.meta.url);
    const files = readdirSync(samples);
    expect(files.length).toBeGreaterThanOrEqual(8);
    const hidden = files.flatMap((file) => {
      const { answer } = JSON.parse(readFileSync(new URL(file, samples), 'utf8')) as { answer: unknown };
      const shown = shownOf(answer);
      return keysOf(answer).filter((key) => !shown.has(key));
    });
    // `+1` and `-1` are field names, of reactions to an issue; the rest are data.
    const days = ['2026-11-02', '2026-11-03', '00', '01'];
    const ids = [
      '0b5a7e0e-6a6f-4b0e-9b7a-0f5a5d3f6c11',
      'f1d0c7aa-1f3b-4e55-8f3e-1a5b7b0d2c22',
      '9f8e7d6',
      'a1b2c3d',
    ];
    const people = ['Anna', 'Bert', 'Cleo', 'Dora', 'bob@corp.example', 'eve@corp.example'];
    const others = ['GBP', 'JPY', 'USD', 'prometheus.io/scrape', '+1', '-1'];
    expect(hidden.sort()).toEqual([...days, ...ids, ...people, ...others].sort());
  });
});

describe('names with numbers', () => {
  it.each([
    ['two lines of an address', { line_1: 'x', line_2: 'y' }, 2],
    ['digests', { sha256: 'x', sha512: 'y' }, 2],
    ['two numbered customers', { cust_81: 1, cust_92: 1 }, 0],
    ['two rows with low numbers', { row_1: 1, row_2: 2 }, 2],
  ])('%s', (_, answer, shown) => {
    expect(shownOf(answer).size).toBe(shown);
  });

  it('are columns where three records have them all', () => {
    const items = schemaOf(Array(3).fill({ p_50: 1, p_95: 2 })).items as { properties: object };
    expect(Object.keys(items.properties)).toEqual(['p_50', 'p_95']);
  });
});
