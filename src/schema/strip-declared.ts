import type { JsonObject } from '../contract/result-type.ts';

/** Keywords that hold values, which may come from data. */
const VALUE_KEYWORDS: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'example']);
/** Keywords whose members are names, each with a schema: there, a property may be called `default`. */
const NAMED_SCHEMAS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);
/** Deeper parts of a declared schema are left out. */
const DEPTH_MAX = 128;

/**
 * A declared source schema as it may stand in a prompt: verbatim, without `enum`, `const`, `default`, `examples`
 * and `example` at any depth.
 */
export function stripDeclared(declared: JsonObject): JsonObject {
  return strippedSchema(declared, 0) as JsonObject;
}

function strippedSchema(schema: unknown, depth: number): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (depth > DEPTH_MAX) return {};
  if (Array.isArray(schema)) return schema.map((item) => strippedSchema(item, depth + 1));
  // fromEntries makes own members even of `__proto__`.
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => !VALUE_KEYWORDS.has(keyword))
      .map(([keyword, value]) => [
        keyword,
        NAMED_SCHEMAS.has(keyword) ? strippedMembers(value, depth + 1) : strippedSchema(value, depth + 1),
      ]),
  );
}

function strippedMembers(members: unknown, depth: number): unknown {
  if (typeof members !== 'object' || members === null || Array.isArray(members)) {
    return strippedSchema(members, depth);
  }
  return Object.fromEntries(
    Object.entries(members).map(([name, schema]) => [name, strippedSchema(schema, depth + 1)]),
  );
}
