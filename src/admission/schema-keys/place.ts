import type { JsonObject } from '../../contract/result-type.ts';

/** A place of the shown schema, and the way to it: `orders[].lines[]`; '' is `data` itself. */
export interface Place {
  readonly schema: JsonObject;
  readonly path: string;
}

/** Longest path in a message, in UTF-16 units; of a longer one the end is shown. */
const PATH_MAX_CHARS = 120;

/** The place of `data` itself, whose fields are the sources. */
export const rootPlace = (shown: JsonObject): Place => ({ schema: shown, path: '' });

/** The place of a field that the schema names, or of the values of a map; null if the schema tells of none. */
export function fieldOf(place: Place, name: string): Place | null {
  const field = namedField(place, name);
  return field === null ? mapValueOf(place) : { schema: field, path: pathOf(place, name) };
}

/** The values under keys that the schema does not name, or null. */
export function mapValueOf(place: Place): Place | null {
  const { additionalProperties } = place.schema;
  return isSchema(additionalProperties)
    ? { schema: additionalProperties, path: shortened(`${place.path}[*]`) }
    : null;
}

/** The values of a map all of whose keys are data; null where fields are named or nothing is told. */
export function onlyValuesOf(place: Place): Place | null {
  return place.schema.properties === undefined ? mapValueOf(place) : null;
}

/** The elements of an array, or null. */
export function elementsOf(place: Place): Place | null {
  const { items } = place.schema;
  return isSchema(items) ? { schema: items, path: shortened(`${place.path}[]`) } : null;
}

/**
 * The names of all the fields that objects at this place have; null where there may be further ones: keys that are
 * data, places that were cut, names that are hidden as `<key n>`, several kinds of value under `anyOf`, no object.
 */
export function closedNames(place: Place): readonly string[] | null {
  const { properties, additionalProperties, anyOf, description } = place.schema;
  if (!isSchema(properties) || additionalProperties !== undefined || anyOf !== undefined) return null;
  // Only the schema as a whole has a description that tells of no further keys: that of its `$defs`.
  const isWhole = place.schema.$defs !== undefined && typeof description === 'string';
  if (description !== undefined && !(isWhole && !/\bcut\b/.test(description))) return null;
  const names = Object.keys(properties);
  return names.length === 0 || names.some((name) => name.startsWith('<')) ? null : names;
}

/** Every name and text that stands anywhere in a schema. */
export function namesIn(schema: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  const waiting: unknown[] = [schema];
  while (waiting.length > 0) {
    const at = waiting.pop();
    if (typeof at === 'string') names.add(at);
    if (typeof at !== 'object' || at === null) continue;
    for (const [name, value] of Object.entries(at)) {
      names.add(name);
      waiting.push(value);
    }
  }
  return names;
}

/** Whether a declared schema was too large to be shown: then it is not known what it names. */
export function isDeclaredCut(shown: JsonObject): boolean {
  const definitions = isSchema(shown.$defs) ? Object.values(shown.$defs) : [];
  return definitions.some(
    (each) => isSchema(each) && Object.keys(each).length === 1 && String(each.description).startsWith('cut'),
  );
}

function namedField({ schema }: Place, name: string): JsonObject | null {
  const { properties } = schema;
  if (!isSchema(properties) || !Object.hasOwn(properties, name)) return null;
  const field = properties[name];
  return isSchema(field) ? field : null;
}

function pathOf(place: Place, name: string): string {
  return shortened(place.path === '' ? name : `${place.path}.${name}`);
}

function shortened(path: string): string {
  return path.length <= PATH_MAX_CHARS ? path : `…${path.slice(1 - PATH_MAX_CHARS)}`;
}

function isSchema(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
