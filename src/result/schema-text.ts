import type { JsonObject } from '../contract/result-type.ts';

export const SCHEMA_MAX_BYTES = 64 * 1024;
const SCHEMA_MAX_DEPTH = 64;

const DRAFT = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;
/** Keywords whose content is data, in which `$ref` is only a member's name. */
const DATA_KEYWORDS = new Set(['enum', 'const', 'default', 'examples']);

/** Why a `result_schema` cannot be used. `message` names the keyword and the fix, never a value. */
export interface SchemaFault {
  readonly kind: 'fault';
  /**
   * `invalid`: the schema is at fault. `timeout`: it cannot be compiled in time. `busy`: too many schemas are
   * waiting. `cancelled`: the caller's signal, or the checker was closed.
   */
  readonly code: 'invalid' | 'timeout' | 'busy' | 'cancelled';
  readonly message: string;
}

export function invalidSchema(message: string): SchemaFault {
  return { kind: 'fault', code: 'invalid', message };
}

/**
 * A schema as text, if it is small and speaks of itself only: at most 64 KiB and 64 levels, JSON Schema 2020-12,
 * references only to `#…` (nothing is ever fetched), no `$id` below the root, no `$async` (with it ajv would
 * answer a promise, which passes for "valid"), no member that ajv does not look at.
 */
export function schemaText(schema: JsonObject): string | SchemaFault {
  const fault = firstFault(schema);
  if (fault !== null) {
    return invalidSchema(fault);
  }
  const text = JSON.stringify(schema);
  return Buffer.byteLength(text) <= SCHEMA_MAX_BYTES
    ? text
    : invalidSchema('result_schema is larger than 64 KiB; shorten it');
}

/** Walks by list, not by recursion: the depth of what comes in is not known yet. */
function firstFault(root: JsonObject): string | null {
  const waiting: { node: object; depth: number }[] = [{ node: root, depth: 1 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, depth } = next;
    if (depth > SCHEMA_MAX_DEPTH) {
      return `result_schema is nested deeper than ${SCHEMA_MAX_DEPTH} levels; flatten it`;
    }
    for (const [keyword, value] of Object.entries(node)) {
      const fault = Array.isArray(node) ? null : keywordFault(keyword, value, node === root);
      if (fault !== null) {
        return fault;
      }
      if (typeof value === 'object' && value !== null && !DATA_KEYWORDS.has(keyword)) {
        waiting.push({ node: value, depth: depth + 1 });
      }
    }
  }
  return null;
}

function keywordFault(keyword: string, value: unknown, atRoot: boolean): string | null {
  switch (keyword) {
    case '$ref':
    case '$dynamicRef':
      return typeof value === 'string' && !value.startsWith('#')
        ? `result_schema: ${keyword} must begin with "#"; put what it refers to into $defs`
        : null;
    case '$schema':
      // Below the root an object under this name may be a property's schema.
      return (typeof value === 'string' && !DRAFT.test(value)) || (typeof value !== 'string' && atRoot)
        ? 'result_schema: $schema must be https://json-schema.org/draft/2020-12/schema, or be left out'
        : null;
    case '$id':
      return typeof value === 'string' && !atRoot
        ? 'result_schema: $id is taken only at the root; remove the others and refer by "#/…"'
        : null;
    case '$async':
      return value === true ? 'result_schema: $async is not a keyword of JSON Schema; remove it' : null;
    case '__proto__':
      // ajv passes over it, so a result would count as checked that was not.
      return 'result_schema: a member named __proto__ cannot be checked; leave it out';
    default:
      return null;
  }
}
