import type { JsonObject } from '../contract/result-type.ts';

/** Steps of a path that are shown; what follows shows as `…`. */
const MAX_STEPS = 20;

/** Keywords whose schema (or list of schemas) speaks about the same value. */
const SAME_PLACE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'] as const;
/** Keywords whose schema speaks about any element. */
const ELEMENT = ['items', 'prefixItems', 'contains', 'additionalItems', 'unevaluatedItems'] as const;
/** Keywords that hold schemas by name for the same value, when a property is there. */
const DEPENDENT = ['dependentSchemas', 'dependencies'] as const;
/** Keywords whose schema speaks about the values of keys that are not declared by name. */
const OTHER_KEYS = ['additionalProperties', 'unevaluatedProperties'] as const;

/**
 * A path into a result as it may be shown: `$.*[].total`. An index is `[]`; a key shows only if `schema` declares
 * it by name at that very place (`properties`), else it is `*`, since keys and positions can carry data.
 */
export function maskPath(path: readonly (string | number)[], schema: JsonObject | null): string {
  let shown = '$';
  let place = samePlace(schema === null ? [] : [schema], schema);
  for (const step of path.slice(0, MAX_STEPS)) {
    if (typeof step === 'number') {
      shown += '[]';
      place = samePlace(below(place, ELEMENT), schema);
      continue;
    }
    const declared = [...place].filter((node) => hasOwn(node.properties, step));
    shown += declared.length > 0 ? `.${plainKey(step)}` : '.*';
    const next =
      declared.length > 0
        ? declared.map((node) => (node.properties as JsonObject)[step])
        : [
            ...below(place, OTHER_KEYS),
            ...[...place].flatMap((node) =>
              isObject(node.patternProperties) ? Object.values(node.patternProperties) : [],
            ),
          ];
    place = samePlace(next, schema);
  }
  return path.length > MAX_STEPS ? `${shown}…` : shown;
}

/** A declared key as a path shows it: plain names as they are, others as a JSON string, cut at 64 characters. */
function plainKey(key: string): string {
  const cut = key.length > 64 ? `${key.slice(0, 64)}…` : key;
  return /^[\p{L}\p{N}_-]+$/u.test(cut) ? cut : JSON.stringify(cut);
}

/** What the keywords hold under the schemas of one place; lists are flattened. */
function below(place: ReadonlySet<JsonObject>, keywords: readonly string[]): unknown[] {
  return [...place].flatMap((node) => keywords.flatMap((keyword) => node[keyword]));
}

/**
 * The schemas that speak about one place: those given, and those they lead to by composition and by `$ref`
 * within the schema. Each is visited once, so a reference loop ends; at most as many as the schema has.
 */
function samePlace(start: readonly unknown[], root: JsonObject | null): ReadonlySet<JsonObject> {
  const place = new Set<JsonObject>();
  const waiting = [...start];
  for (let node = waiting.pop(); node !== undefined || waiting.length > 0; node = waiting.pop()) {
    if (!isObject(node) || place.has(node)) {
      continue;
    }
    place.add(node);
    waiting.push(...below(new Set([node]), SAME_PLACE));
    for (const keyword of DEPENDENT) {
      const named = node[keyword];
      waiting.push(...(isObject(named) ? Object.values(named) : []));
    }
    waiting.push(resolve(node.$ref, root));
  }
  return place;
}

/** What a `#` or `#/…` reference points to. Other references are not followed: keys under them show as `*`. */
function resolve(ref: unknown, root: JsonObject | null): unknown {
  if (typeof ref !== 'string' || !ref.startsWith('#') || root === null) {
    return undefined;
  }
  let node: unknown = root;
  for (const part of ref.split('/').slice(1)) {
    const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(node)) {
      node = node[Number(key)];
    } else if (isObject(node) && Object.hasOwn(node, key)) {
      node = node[key];
    } else {
      return undefined;
    }
  }
  // `#name` is an anchor, not the root.
  return ref === '#' || ref.startsWith('#/') ? node : undefined;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function isObject(node: unknown): node is JsonObject {
  return typeof node === 'object' && node !== null && !Array.isArray(node);
}

function hasOwn(node: unknown, key: string): boolean {
  return isObject(node) && Object.hasOwn(node, key);
}
