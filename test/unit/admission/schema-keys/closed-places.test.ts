import { beforeAll, describe, expect, it } from 'vitest';
import type { Admission } from '../../../../src/admission/admit.ts';
import { closedNames } from '../../../../src/admission/schema-keys/place.ts';
import type { JsonObject } from '../../../../src/contract/result-type.ts';
import { type DescribeLimits, describeSources } from '../../../../src/schema/describe.ts';
import { compute } from '../../../fakes/python-functions.ts';
import { source } from '../../schema/shapes.ts';
import { packAdmission } from '../corpus.ts';
import { shownFor, told } from './shown.ts';

let admission: Admission;
beforeAll(async () => {
  admission = await packAdmission();
});

const READS = compute('return data["one"]["kez"]');
const REFUSED = ['schema-keys: kez 2:23'];
const shown = (value: unknown, more: Parameters<typeof source>[1] = {}, limits: DescribeLimits = {}) =>
  describeSources([source(value, { ...more, name: 'one' })], limits).json;

/** What the schema tells of the place, whether it names all of its fields, and that schema. */
const PLACES: readonly (readonly [what: string, closed: boolean, shown: () => JsonObject])[] = [
  ['an object', true, () => shown({ key: 1 })],
  ['an object or null', true, () => shownFor({ one: { key: 1 } })],
  [
    'keys that are fields by order of the caller',
    true,
    () => shown({ key: 1, '2024': 2 }, { keys: 'fields' }),
  ],
  ['further keys that are data', false, () => shown({ key: { a: 1 }, 'a@b.c': 'x', x: 1, y: [] })],
  ['only keys that are data', false, () => shown({ key: 1 }, { keys: 'data' })],
  ['a hidden name', false, () => shown({ key: 1, 'a"b': [1] }, { keys: 'fields' })],
  ['fields that were cut', false, () => shown({ key: 1, a: 2, b: 3 }, {}, { maxNames: 2 })],
  ['no field', false, () => shown({})],
  ['null', false, () => shown(null)],
  [
    'a declared schema that names the fields',
    true,
    () => shown({ key: 1 }, { declared: { properties: { key: {} } } }),
  ],
  [
    'a declared schema that names this one',
    false,
    () => shown({ key: 1 }, { declared: { properties: { key: {}, kez: {} } } }),
  ],
  [
    'a declared schema that requires this one',
    false,
    () => shown({ key: 1 }, { declared: { properties: { key: {} }, required: ['kez'] } }),
  ],
  [
    'a declared schema that names none of the fields',
    false,
    () => shown({ key: 1 }, { declared: { properties: { a: {} } } }),
  ],
  [
    'a declared schema that is too large to be shown',
    false,
    () => shown({ key: 1 }, { declared: { properties: { key: {} }, description: 'x'.repeat(30_000) } }),
  ],
];

describe('a place', () => {
  it.each(PLACES)('with %s is closed: %s', (_what, closed, schema) => {
    expect(told(admission, READS, schema())).toEqual(closed ? REFUSED : []);
  });

  it.each([
    ['further keys', { additionalProperties: { type: 'string' } }],
    ['several forms', { anyOf: [{ type: 'array' }] }],
    ['a note', { description: 'cut: more is here than is shown' }],
  ])('with fields and %s has no known names', (_what, more) => {
    const schema = { type: 'object', properties: { key: {} } };
    expect(closedNames({ schema, path: 'one' })).toEqual(['key']);
    expect(closedNames({ schema: { ...schema, ...more }, path: 'one' })).toBeNull();
  });

  it('that is an object in some records and a list in others is left alone', () => {
    const code = compute('return [r["one"]["kez"] for r in data["rows"]]');
    const rows = [{ one: { key: 1 } }, { one: [{ key: 1 }] }];
    expect(told(admission, code, shownFor({ rows }))).toEqual([]);
    expect(told(admission, code, shownFor({ rows: [rows[0]] }))).toEqual(['schema-keys: kez 2:21']);
  });

  it('of the sources is left alone where a source may have been cut', () => {
    const code = compute('return data["tow"]');
    const sources = [source({ key: 1 }, { name: 'one' }), source({ key: 1, other: 2 }, { name: 'two' })];
    expect(told(admission, code, describeSources(sources).json)).toEqual(['schema-keys: tow 2:16']);
    const cut = describeSources(sources, { maxNames: 2 }).json;
    expect(cut.description).toContain('cut');
    expect(told(admission, code, cut)).toEqual([]);
    const declared = source(
      { key: 1, other: 2 },
      { name: 'two', declared: { properties: { key: {}, other: {} } } },
    );
    const both = [source({ key: 1 }, { name: 'one' }), declared];
    expect(told(admission, code, describeSources(both).json)).toEqual(['schema-keys: tow 2:16']);
    expect(told(admission, code, describeSources(both, { maxNames: 2 }).json)).toEqual([]);
  });

  it('of the sources is closed also where tools declare their schemas', () => {
    const schema = shown({ key: 1 }, { declared: { properties: { key: {} } } });
    expect(told(admission, compute('return data["onne"]'), schema)).toEqual(['schema-keys: onne 2:16']);
  });
});

describe('within bounds', () => {
  const DATA = { rows: [{ id: 1, price: 2 }] };
  const over = (code: string) => told(admission, code, shownFor(DATA));

  it('names follow each other only so far', () => {
    const chain = (length: number) =>
      compute(
        'n0 = data',
        ...Array.from({ length }, (_, i) => `n${i + 1} = n${i}`),
        `return n${length}["rwos"]`,
      );
    expect(over(chain(20))).toHaveLength(1);
    expect(over(chain(3000))).toEqual([]);
  });

  it('tuples of tuples do not double for ever', () => {
    const lines = Array.from({ length: 26 }, (_, i) => `n${i + 1} = (n${i}, n${i})`);
    expect(over(compute('n0 = data', ...lines, 'return n26[0][0]["rwos"]'))).toEqual([]);
    expect(over(compute('n0 = data', 'n1 = (n0, n0)', 'return n1[0]["rwos"]'))).toHaveLength(1);
  });

  it('a name that is bound to itself is not followed', () => {
    expect(over(compute('a = b', 'b = a', 'return a["rwos"]'))).toEqual([]);
  });

  it('names that are bound to each other many times are looked at once', () => {
    const lines = Array.from({ length: 12 }, () => ['a = b', 'b = a']).flat();
    expect(over(compute(...lines, 'return a["rwos"]'))).toEqual([]);
  });

  it('only the first refusals are told', () => {
    const lines = Array.from({ length: 60 }, (_, i) => `print(data["rows"][0]["pric${i}"])`);
    const found = over(compute(...lines, 'return 1'));
    expect(found).toHaveLength(20);
    expect(found[0]).toBe('schema-keys: pric0 2:26');
  });

  it('keys are compared with so many names, and the rest is left alone', () => {
    const wide = Object.fromEntries(Array.from({ length: 1900 }, (_, i) => [`field_name_${i}_x`, i]));
    const described = [source(wide, { name: 'wide', keys: 'fields' as const })];
    const schema = describeSources(described, { maxBytes: 256 * 1024 }).json;
    const branch = Array.from({ length: 40 }, (_, i) => `    print(data["wide"]["zz${i}"])`);
    const code = (lines: readonly string[]) => compute('if data["wide"]:', ...lines, 'return data["wdie"]');
    expect(told(admission, code(branch.slice(0, 5)), schema)).toEqual(['schema-keys: wdie 8:16']);
    expect(told(admission, code(branch), schema)).toEqual([]);
  });
});
