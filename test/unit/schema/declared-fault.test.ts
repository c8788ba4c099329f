import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/result-type.ts';
import { declaredFault } from '../../../src/schema/declared-fault.ts';

const SCHEMA = 'must be a JSON Schema: an object, true or false';
const LIST = 'must be a list of JSON Schemas';
const MAP = 'must be an object of JSON Schemas by name';

/** Nested by turns in a map and in a list. */
function deep(levels: number): JsonObject {
  let schema: JsonObject = {};
  for (let level = 1; level < levels; level += 1) {
    schema = level % 2 === 0 ? { properties: { canary: schema } } : { allOf: [schema] };
  }
  return schema;
}

describe('a declared schema', () => {
  it.each<[string, JsonObject]>([
    ['an empty one', {}],
    ['one with booleans', { properties: { a: true }, additionalProperties: false, items: true }],
    ['items as a list', { items: [{}, { type: 'string' }] }],
    ['types as a list', { type: ['integer', 'null'] }],
    [
      'keywords that it does not know',
      { nullable: true, exclusiveMinimum: true, 'x-note': 5, format: 'uuid' },
    ],
    [
      'properties that are called like keywords',
      { properties: { type: {}, required: {}, $ref: {}, items: {} } },
    ],
    [
      'values that look like schemas',
      { enum: [{ type: 5 }], default: { properties: 5 }, const: { items: 5 } },
    ],
    ['members of the prototype', { toString: 5, constructor: 5 }],
    ['64 levels', deep(64)],
  ])('may be %s', (_, schema) => {
    expect(declaredFault(schema)).toBeNull();
  });

  it.each<[JsonObject, string, string]>([
    [{ properties: ['canary'] }, '.properties', MAP],
    [{ properties: { canary: 'canary' } }, '.properties.*', SCHEMA],
    [{ patternProperties: 5 }, '.patternProperties', MAP],
    [{ $defs: { canary: null } }, '.$defs.*', SCHEMA],
    [{ definitions: true }, '.definitions', MAP],
    [{ dependentSchemas: [] }, '.dependentSchemas', MAP],
    [{ allOf: {} }, '.allOf', LIST],
    [{ anyOf: ['canary'] }, '.anyOf', SCHEMA],
    [{ oneOf: 5 }, '.oneOf', LIST],
    [{ prefixItems: {} }, '.prefixItems', LIST],
    [{ items: 'canary' }, '.items', SCHEMA],
    [{ items: [5] }, '.items', SCHEMA],
    [{ additionalItems: 5 }, '.additionalItems', SCHEMA],
    [{ additionalProperties: 'canary' }, '.additionalProperties', SCHEMA],
    [{ unevaluatedItems: 5 }, '.unevaluatedItems', SCHEMA],
    [{ unevaluatedProperties: 5 }, '.unevaluatedProperties', SCHEMA],
    [{ contains: [] }, '.contains', SCHEMA],
    [{ propertyNames: 5 }, '.propertyNames', SCHEMA],
    [{ not: null }, '.not', SCHEMA],
    [{ if: 5 }, '.if', SCHEMA],
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    [{ then: 5 }, '.then', SCHEMA],
    [{ else: 5 }, '.else', SCHEMA],
    [
      { type: 'float' },
      '.type',
      'must be null, boolean, object, array, number, integer, string, or a list of these',
    ],
    [
      { items: { properties: { canary: { type: ['string', 5] } } } },
      '.items.properties.*.type',
      'must be null, boolean, object, array, number, integer, string, or a list of these',
    ],
    [{ required: true }, '.required', 'must be a list of names'],
    [{ required: [5] }, '.required', 'must be a list of names'],
    [{ $ref: {} }, '.$ref', 'must be a string'],
    [deep(65), '', 'is nested deeper than 64 levels; flatten it'],
  ])('may not be %j', (schema, place, fix) => {
    expect(declaredFault(schema)).toEqual({ place, fix });
  });
});
