import type { JsonObject } from '../contract/result-type.ts';

/** Schemas that may hold at one place together; further ones are not looked at, so fewer names are shown. */
const SCHEMAS_MAX = 256;
const IN_PLACE_LISTS = ['allOf', 'anyOf', 'oneOf'] as const;
const IN_PLACE = ['if', 'then', 'else'] as const;

/** A place of a declared JSON Schema: what it says about the names there and below. */
export class DeclaredPlace {
  private readonly root: JsonObject;
  private readonly schemas: readonly JsonObject[];

  private constructor(root: JsonObject, schemas: readonly unknown[]) {
    this.root = root;
    this.schemas = applicable(root, schemas);
  }

  static root(declared: JsonObject): DeclaredPlace {
    return new DeclaredPlace(declared, [declared]);
  }

  /** Whether a property of this name is declared. */
  names(name: string): boolean {
    return this.schemas.some((schema) => own(schema.properties, name) !== undefined);
  }

  property(name: string): DeclaredPlace {
    return this.below((schema) => [own(schema.properties, name)]);
  }

  items(): DeclaredPlace {
    return this.below((schema) => [schema.items, schema.prefixItems].flat());
  }

  /** The values of keys that are not declared by name. */
  others(): DeclaredPlace {
    return this.below(({ additionalProperties, patternProperties }) => [
      additionalProperties,
      ...(isObject(patternProperties) ? Object.values(patternProperties).slice(0, SCHEMAS_MAX) : []),
    ]);
  }

  private below(pick: (schema: JsonObject) => readonly unknown[]): DeclaredPlace {
    const schemas: unknown[] = [];
    for (const schema of this.schemas) {
      if (schemas.length >= SCHEMAS_MAX) break;
      schemas.push(...pick(schema).slice(0, SCHEMAS_MAX));
    }
    return new DeclaredPlace(this.root, schemas);
  }
}

/** The object schemas among these, and those they apply in place: local `$ref`, `allOf` and its like. */
function applicable(root: JsonObject, schemas: readonly unknown[]): readonly JsonObject[] {
  const found = new Set<JsonObject>();
  const open = [...schemas];
  for (let next = 0; next < open.length && next < 2 * SCHEMAS_MAX; next++) {
    const schema = open[next];
    if (!isObject(schema) || found.has(schema)) continue;
    found.add(schema);
    if (typeof schema.$ref === 'string') open.push(pointed(root, schema.$ref));
    for (const name of IN_PLACE_LISTS) {
      const list: unknown = schema[name];
      if (Array.isArray(list)) open.push(...list.slice(0, SCHEMAS_MAX));
    }
    for (const name of IN_PLACE) open.push(schema[name]);
  }
  return [...found];
}

/** What a local reference such as `#/$defs/order` points to (RFC 6901); anything else is undefined. */
function pointed(root: JsonObject, reference: string): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return undefined;
  let at: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    at = Array.isArray(at) ? at[Number(name)] : own(at, name);
  }
  return at;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function own(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
