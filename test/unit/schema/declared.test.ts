import { describe, expect, it } from 'vitest';
import { describeSources } from '../../../src/schema/describe.ts';
import { stripDeclared } from '../../../src/schema/strip-declared.ts';
import { schemaOf, source } from './shapes.ts';

const integer = { type: 'integer' };

describe('a declared schema', () => {
  it('decides alone which names are shown; the rest collapses, at any depth', () => {
    const declared = {
      type: 'object',
      properties: {
        orders: { type: 'array', items: { type: 'object', properties: { id: {}, '2026-11-30': {} } } },
      },
    };
    const value = { orders: [{ id: 1, secret: { deep: 2 }, '2026-11-30': 3 }], canary: [{ id: 4 }] };
    expect(schemaOf(value, { declared })).toEqual({
      type: 'object',
      description: 'further keys are not shown',
      properties: {
        orders: {
          type: 'array',
          items: {
            type: 'object',
            description: 'further keys are not shown',
            properties: { id: integer, '2026-11-30': integer },
            required: ['id', '2026-11-30'],
            additionalProperties: {
              type: 'object',
              description: 'further keys are not shown',
              additionalProperties: integer,
            },
          },
        },
      },
      required: ['orders'],
      additionalProperties: {
        type: 'array',
        items: { type: 'object', description: 'further keys are not shown', additionalProperties: integer },
      },
    });
    expect(describeSources([source(value, { declared })]).text).not.toMatch(/secret|deep|canary/u);
  });

  it.each([
    ['$ref', { $ref: '#/$defs/order', $defs: { order: { properties: { id: {} } } } }],
    ['an escaped $ref', { $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': { properties: { id: {} } } } }],
    ['a $ref to itself', { properties: { id: {} }, allOf: [{ $ref: '#' }] }],
    ['allOf', { allOf: [{ properties: { id: {} } }] }],
    ['oneOf', { oneOf: [{ properties: { x: {} } }, { properties: { id: {} } }] }],
    ['if and else', { if: {}, else: { properties: { id: {} } } }],
  ])('is followed through %s', (_, declared) => {
    const schema = schemaOf({ id: 1, secret: 2 }, { declared });
    expect(schema.properties).toEqual({ id: integer });
    expect(schema.additionalProperties).toEqual(integer);
  });

  it.each([
    ['patternProperties', { patternProperties: { '^x': { properties: { id: {} } } } }],
    ['additionalProperties', { additionalProperties: { properties: { id: {} } } }],
  ])('names fields below %s', (_, declared) => {
    expect(schemaOf({ x1: { id: 1, secret: 2 } }, { declared })).toMatchObject({
      additionalProperties: { properties: { id: integer }, additionalProperties: integer },
    });
  });

  it.each(['#/nowhere', '#/%', 'https://example.com/schema', '#anchor', '#/properties/toString'])(
    'with a reference %s that leads nowhere shows no name',
    ($ref) => {
      expect(schemaOf({ id: 1 }, { declared: { $ref } }).properties).toBeUndefined();
    },
  );

  it('does not take inherited members for declared names', () => {
    expect(
      schemaOf({ constructor: 1, toString: 2 }, { declared: { properties: {} } }).properties,
    ).toBeUndefined();
  });

  it('of any size and any tangle is read in bounded steps', () => {
    const parts = Array.from({ length: 200_000 }, () => ({ $ref: '#' }));
    const wide = Object.fromEntries(parts.map((part, index) => [`p${index}`, part]));
    const declared = {
      anyOf: parts,
      patternProperties: wide,
      items: parts,
      properties: { id: { $ref: '#' } },
    };
    const value = { id: { id: [{ id: 1 }] }, x: [[{ id: 1 }]] };
    expect(schemaOf(value, { declared }).properties).toMatchObject({ id: { properties: { id: {} } } });
  });

  it('does not outweigh keys: data', () => {
    expect(
      schemaOf({ id: 1 }, { declared: { properties: { id: {} } }, keys: 'data' }).properties,
    ).toBeUndefined();
  });

  it('still follows the name rule', () => {
    const { json } = describeSources([source({ 'a"b': 1 }, { declared: { properties: { 'a"b': {} } } })]);
    expect((json.properties as { data: { properties: object } }).data.properties).toEqual({
      '<key 1>': integer,
    });
  });

  it('stands in the schema without its values', () => {
    const declared = {
      title: 'Orders',
      properties: {
        status: { type: 'string', description: 'a </schema> of it', enum: ['canary1'], default: 'canary2' },
        default: { const: 'canary3', examples: ['canary4'], format: 'date' },
      },
    };
    const { json, text } = describeSources([source({ status: 'x' }, { declared })]);
    expect(json.$defs).toEqual({
      data: {
        title: 'Orders',
        properties: {
          status: { type: 'string', description: 'a </schema> of it' },
          default: { format: 'date' },
        },
      },
    });
    expect(JSON.parse(text)).toEqual(json);
    expect(text).not.toMatch(/canary|</u);
  });

  it('too large to be shown is left out and says so; its names still count', () => {
    const declared = { properties: { id: { description: 'x'.repeat(3_000) } } };
    const { json, text } = describeSources([source({ id: 1, y: 2 }, { declared })], { maxBytes: 4_000 });
    expect(json.$defs).toEqual({ data: { description: 'cut: too large to be shown' } });
    expect((json.properties as { data: { properties: object } }).data.properties).toEqual({ id: integer });
    expect(Buffer.byteLength(text)).toBeLessThan(4_000);
  });
});

describe('declared schemas', () => {
  it('share half of the room, in order', () => {
    const declared = { properties: { id: { description: 'x'.repeat(1_200) } } };
    const { json, text } = describeSources(
      [source({ id: 1 }, { declared, name: 'a' }), source({ id: 1 }, { declared, name: 'b' })],
      { maxBytes: 4_000 },
    );
    expect(json.$defs).toEqual({ a: declared, b: { description: 'cut: too large to be shown' } });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_000);
  });
});

describe('values in a declared schema', () => {
  it('are dropped wherever a schema can stand', () => {
    const leaf = { type: 'string', enum: ['v'], const: 'v', default: 'v', examples: ['v'], example: 'v' };
    const kept = { type: 'string' };
    const nest = (schema: unknown) => ({
      $defs: { a: schema },
      definitions: { enum: schema },
      properties: { const: schema, properties: { properties: { examples: schema } } },
      patternProperties: { '^x': schema },
      dependentSchemas: { default: schema },
      dependencies: { a: ['enum'] },
      items: [schema],
      prefixItems: [schema],
      additionalProperties: schema,
      anyOf: [schema, { not: schema }],
      if: schema,
      'x-note': { inner: schema },
      required: ['default', 'enum'],
    });
    expect(stripDeclared(nest(leaf))).toEqual(nest(kept));
  });

  it('are dropped from under an own __proto__ as well', () => {
    const declared = JSON.parse('{"properties":{"__proto__":{"default":1,"type":"null"}}}') as Record<
      string,
      unknown
    >;
    expect(JSON.stringify(stripDeclared(declared))).toBe('{"properties":{"__proto__":{"type":"null"}}}');
  });

  it('do not come back from under endless nesting', () => {
    let schema: Record<string, unknown> = { enum: ['v'] };
    for (let depth = 0; depth < 10_000; depth++) schema = { not: schema };
    expect(JSON.stringify(stripDeclared(schema))).not.toContain('enum');
  });
});
