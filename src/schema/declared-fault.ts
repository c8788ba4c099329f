import type { JsonObject } from '../contract/result-type.ts';

/** Where a declared schema is at fault, as keywords only (`.properties.*.type`), and what to do. */
export interface DeclaredFault {
  readonly place: string;
  readonly fix: string;
}

const DEPTH_MAX = 64;
const TYPES: ReadonlySet<unknown> = new Set([
  'null',
  'boolean',
  'object',
  'array',
  'number',
  'integer',
  'string',
]);

interface Part {
  readonly value: unknown;
  readonly place: string;
  readonly depth: number;
}

/** What a keyword holds: the schemas in it, or how it should be. Keywords of later and earlier drafts are let be. */
type Rule = (value: unknown) => readonly (readonly [place: string, schema: unknown])[] | string;

const schema: Rule = (value) => [['', value]];
const schemaList: Rule = (value) =>
  Array.isArray(value) ? value.map((one) => ['', one] as const) : 'must be a list of JSON Schemas';
const schemaMap: Rule = (value) =>
  isObject(value)
    ? Object.values(value).map((one) => ['.*', one] as const)
    : 'must be an object of JSON Schemas by name';

const RULES: Readonly<Record<string, Rule>> = {
  properties: schemaMap,
  patternProperties: schemaMap,
  $defs: schemaMap,
  definitions: schemaMap,
  dependentSchemas: schemaMap,
  allOf: schemaList,
  anyOf: schemaList,
  oneOf: schemaList,
  prefixItems: schemaList,
  // A list of schemas up to draft 2019-09.
  items: (value) => (Array.isArray(value) ? schemaList(value) : schema(value)),
  additionalItems: schema,
  additionalProperties: schema,
  unevaluatedItems: schema,
  unevaluatedProperties: schema,
  contains: schema,
  propertyNames: schema,
  not: schema,
  if: schema,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: schema,
  else: schema,
  type: (value) =>
    [value].flat().every((one) => TYPES.has(one))
      ? []
      : `must be ${[...TYPES].join(', ')}, or a list of these`,
  required: (value) =>
    Array.isArray(value) && value.every((one) => typeof one === 'string') ? [] : 'must be a list of names',
  $ref: (value) => (typeof value === 'string' ? [] : 'must be a string'),
};

/**
 * Why a source's declared schema is no JSON Schema, as far as its keywords are those of one; null: it may be shown.
 * What is below 64 levels is refused. Tells neither a name nor a value in it.
 */
export function declaredFault(declared: JsonObject): DeclaredFault | null {
  // By list, not by recursion; bounded by the size of the schema, which was looked at before.
  const open: Part[] = [{ value: declared, place: '', depth: 1 }];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const { value, place, depth } = part;
    if (depth > DEPTH_MAX) {
      return { place: '', fix: `is nested deeper than ${DEPTH_MAX} levels; flatten it` };
    }
    if (!isObject(value)) {
      if (typeof value !== 'boolean') {
        return { place, fix: 'must be a JSON Schema: an object, true or false' };
      }
      continue;
    }
    for (const [keyword, held] of Object.entries(value)) {
      const rule = Object.hasOwn(RULES, keyword) ? RULES[keyword] : undefined;
      const found = rule?.(held) ?? [];
      if (typeof found === 'string') {
        return { place: `${place}.${keyword}`, fix: found };
      }
      open.push(
        ...found.map(([below, one]) => ({
          value: one,
          place: `${place}.${keyword}${below}`,
          depth: depth + 1,
        })),
      );
    }
  }
  return null;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
