/** The JSON types that occur at a place, as bits. `unknown`: the place was not looked into (a bound was met). */
export const TYPE = {
  null: 1,
  boolean: 2,
  integer: 4,
  number: 8,
  string: 16,
  array: 32,
  object: 64,
  unknown: 128,
} as const;

/**
 * What occurs at one place of a document, merged over all records. Plain data, so that it can come back from a
 * worker. It holds no value; its counts are for judging keys and stay inside: only `schema/` reads a Shape.
 */
export interface Shape {
  /** TYPE bits. 0: nothing was ever there (the elements of an empty array). */
  readonly types: number;
  /** All elements of all arrays at this place; null where none had an element. */
  readonly items: Shape | null;
  readonly object: ObjectShape | null;
}

export interface ObjectShape {
  /** How many objects were at this place, and how many of them had no key. */
  readonly records: number;
  readonly empty: number;
  /** In order of first appearance. */
  readonly fields: readonly FieldShape[];
  /** Values of keys that were not kept: past the bounds of `shape-builder.ts`, or too long for a name. */
  readonly rest: Shape | null;
}

export interface FieldShape {
  readonly name: string;
  /** In how many of the records the key was. */
  readonly seen: number;
  readonly shape: Shape;
}

/** Merges places into one, as if all their values had stood at it. Field order: first appearance. */
export function mergeShapes(shapes: readonly Shape[]): Shape {
  const [first, second] = shapes;
  if (first !== undefined && second === undefined) return first;
  const items = shapes.flatMap((shape) => shape.items ?? []);
  const objects = shapes.flatMap((shape) => shape.object ?? []);
  return {
    types: shapes.reduce((bits, shape) => bits | shape.types, 0),
    items: items.length === 0 ? null : mergeShapes(items),
    object: objects.length === 0 ? null : mergeObjects(objects),
  };
}

function mergeObjects(objects: readonly ObjectShape[]): ObjectShape {
  const [first, second] = objects;
  if (first !== undefined && second === undefined) return first;
  const byName = new Map<string, FieldShape[]>();
  for (const field of objects.flatMap((object) => object.fields)) {
    const same = byName.get(field.name);
    if (same === undefined) byName.set(field.name, [field]);
    else same.push(field);
  }
  const rests = objects.flatMap((object) => object.rest ?? []);
  return {
    records: objects.reduce((sum, object) => sum + object.records, 0),
    empty: objects.reduce((sum, object) => sum + object.empty, 0),
    fields: [...byName].map(([name, same]) => ({
      name,
      seen: same.reduce((sum, field) => sum + field.seen, 0),
      shape: mergeShapes(same.map((field) => field.shape)),
    })),
    rest: rests.length === 0 ? null : mergeShapes(rests),
  };
}
