import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/contract/result-type.ts';
import { maskPath } from '../../../src/result/path.ts';

const number = { type: 'number' };

describe('a path as it may be shown', () => {
  const rows: readonly (readonly [string, (string | number)[], JsonObject | null, string])[] = [
    ['the result itself', [], null, '$'],
    ['no schema: every key is masked', ['total', 3, 'x'], null, '$.*[].*'],
    ['a declared key', ['total'], { properties: { total: number } }, '$.total'],
    ['a key that is not declared', ['bob@corp.com'], { properties: { total: number } }, '$.*'],
    ['an index', [17], { items: number }, '$[]'],
    ['a key of digits is a key', ['17'], { items: number }, '$.*'],
    ['below an element', [0, 'total'], { items: { properties: { total: number } } }, '$[].total'],
    ['below a tuple', [1, 'total'], { prefixItems: [{}, { properties: { total: number } }] }, '$[].total'],
    [
      'below keys that are data',
      ['bob@corp.com', 2, 'total'],
      { additionalProperties: { items: { properties: { total: number } } } },
      '$.*[].total',
    ],
    [
      'below a pattern',
      ['k1', 'total'],
      { patternProperties: { '^k': { properties: { total: number } } } },
      '$.*.total',
    ],
    ['a key that a pattern names only', ['k1'], { patternProperties: { k1: number } }, '$.*'],
    [
      'declared elsewhere only',
      ['inner'],
      { properties: { outer: { properties: { inner: number } } } },
      '$.*',
    ],
    ['declared above only', ['a', 'a'], { properties: { a: {} } }, '$.a.*'],
    ['required does not declare', ['total'], { required: ['total'] }, '$.*'],
    [
      'enum does not declare',
      ['total'],
      { enum: [{ properties: { total: 1 } }], const: { total: 1 } },
      '$.*',
    ],
    [
      'composition',
      ['a', 'b'],
      { allOf: [{ anyOf: [{ properties: { a: { oneOf: [{ properties: { b: {} } }] } } }] }] },
      '$.a.b',
    ],
    ['conditions', ['a'], { if: {}, else: { properties: { a: {} } } }, '$.a'],
    ['dependent schemas', ['a'], { dependentSchemas: { x: { properties: { a: {} } } } }, '$.a'],
    ['a reference', ['a'], { $ref: '#/$defs/x', $defs: { x: { properties: { a: {} } } } }, '$.a'],
    [
      'an escaped reference',
      ['a'],
      { $ref: '#/$defs/x~1y%20z', $defs: { 'x/y z': { properties: { a: {} } } } },
      '$.a',
    ],
    [
      'a recursive schema',
      ['child', 'child', 'n'],
      { properties: { child: { $ref: '#' }, n: {} } },
      '$.child.child.n',
    ],
    ['a reference loop', ['a'], { $ref: '#/$defs/x', $defs: { x: { $ref: '#/$defs/x' } } }, '$.*'],
    ['a reference to nothing', ['a'], { $ref: '#/$defs/__proto__/x' }, '$.*'],
    ['names of prototypes', ['constructor', '__proto__'], { properties: { total: {} } }, '$.*.*'],
    ['a declared name that is not plain', ['a b.c'], { properties: { 'a b.c': {} } }, '$."a b.c"'],
    ['schemas that are not objects', ['a', 'b'], { properties: { a: true } }, '$.a.*'],
    ['properties that are not an object', ['0'], { properties: ['a'] }, '$.*'],
  ];
  test.each(rows)('%s', (_, path, schema, shown) => {
    expect(maskPath(path, schema)).toBe(shown);
  });

  test('is cut after 20 steps', () => {
    expect(maskPath(Array(20).fill(0), null)).toBe(`$${'[]'.repeat(20)}`);
    expect(maskPath(Array(21).fill(0), null)).toBe(`$${'[]'.repeat(20)}…`);
  });

  test('a long declared name is cut', () => {
    const name = 'n'.repeat(1000);
    expect(maskPath([name], { properties: { [name]: {} } }).length).toBeLessThan(80);
  });

  test('never shows a key or index of the data', () => {
    const schema: JsonObject = {
      properties: { total: { additionalProperties: { items: { properties: { total: {} } } } } },
      patternProperties: { '^canary': { properties: { total: {} } } },
      items: { $ref: '#' },
    };
    const step = fc.oneof(
      fc.constant('total'),
      fc.nat().map((n) => n + 1000),
      fc.string().map((text) => `canary${text}`),
    );
    fc.assert(
      fc.property(fc.array(step), (path) => {
        expect(maskPath(path, schema)).toMatch(/^\$(?:\.total|\.\*|\[\])*…?$/);
      }),
    );
  });
});
