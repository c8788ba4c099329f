import { type FieldShape, type ObjectShape, type Shape, TYPE } from './shape.ts';
import { type KeyWords, keyWords } from './words.ts';

/** Distinct keys that are kept at one place: as many names as a prompt may show. Further keys share one place. */
export const FIELDS_MAX = 2_000;
/** Longer keys are not kept as names: no such name could be shown (names have at most 64 characters). */
export const NAME_MAX_BYTES = 256;
/** Containers below this depth are not described: what is read here is later walked by recursion. */
const SHAPE_DEPTH_MAX = 256;

/**
 * How many places may still be made. When it is used up, what would need a new place goes to one shared place that
 * is not described, so 400,000 distinct keys or hostile bytes cost no more memory than this.
 */
export class PlaceBudget {
  left: number;
  /** Where everything past the budget goes: its own element, and the home of all its objects' keys. */
  readonly sink: Place;

  constructor(places: number) {
    this.left = places;
    this.sink = new Place();
    this.sink.items = this.sink;
    this.sink.object = new ObjectPlace();
    this.sink.object.rest = this.sink;
  }

  place(depth: number): Place {
    if (this.left <= 0 || depth >= SHAPE_DEPTH_MAX) return this.sink;
    this.left--;
    return new Place();
  }
}

/** One place while it is scanned. */
export class Place {
  types = 0;
  items: Place | null = null;
  object: ObjectPlace | null = null;
}

export class ObjectPlace {
  records = 0;
  empty = 0;
  rest: Place | null = null;
  readonly fields: Field[] = [];
  /** Fields by hash, chained; made when `fields` is too long to be searched. */
  private byHash: Map<number, Field> | null = null;

  /** The field with exactly these bytes, or null. */
  find(bytes: Uint8Array, start: number, end: number, hash: number): Field | null {
    if (this.byHash === null) {
      for (const field of this.fields) {
        if (field.hash === hash && sameBytes(field.bytes, bytes, start, end)) return field;
      }
      return null;
    }
    let field = this.byHash.get(hash) ?? null;
    while (field !== null && !sameBytes(field.bytes, bytes, start, end)) field = field.nextSameHash;
    return field;
  }

  add(field: Field): void {
    field.index = this.fields.length;
    this.fields.push(field);
    if (this.byHash !== null) this.chain(field, this.byHash);
    else if (this.fields.length > 8) {
      this.byHash = new Map();
      for (const known of this.fields) this.chain(known, this.byHash);
    }
  }

  private chain(field: Field, byHash: Map<number, Field>): void {
    field.nextSameHash = byHash.get(field.hash) ?? null;
    byHash.set(field.hash, field);
  }
}

/** A key that is kept, with the place of its values. */
export class Field {
  /** The key after unescaping. */
  readonly bytes: Uint8Array;
  /** As it stands in a document, if `plain`. */
  readonly words: KeyWords;
  readonly hash: number;
  readonly place: Place;
  /** Whether the key stands between quotes as it is: then it can be recognised without looking for escapes. */
  readonly plain: boolean;
  index = 0;
  seen = 0;
  /** Number of the last object that had it: the second time in one object is a duplicate. */
  lastObject = -1;
  nextSameHash: Field | null = null;

  constructor(bytes: Uint8Array, hash: number, place: Place) {
    this.bytes = bytes;
    this.words = keyWords(bytes);
    this.hash = hash;
    this.place = place;
    this.plain = bytes.every(
      (byte, at) => byte >= 0x20 && byte !== 0x22 && byte !== 0x5c && !isSurrogate(bytes, at),
    );
  }
}

/** Whether the bytes of a surrogate begin at `at`: it can only have been escaped, as in UTF-8 it may not stand. */
function isSurrogate(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0xed && (bytes[at + 1] as number) >= 0xa0;
}

function sameBytes(key: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  const length = key.length;
  if (length !== end - start) return false;
  for (let at = 0; at < length; at++) if (key[at] !== bytes[start + at]) return false;
  return true;
}

/** The plain Shape of a scanned place. */
export function finishShape(place: Place, budget: PlaceBudget): Shape {
  if (place === budget.sink) return { types: TYPE.unknown, items: null, object: null };
  return {
    types: place.types,
    items: place.items === null ? null : finishShape(place.items, budget),
    object: place.object === null ? null : finishObject(place.object, budget),
  };
}

function finishObject(object: ObjectPlace, budget: PlaceBudget): ObjectShape {
  const fields: FieldShape[] = object.fields.map((field) => ({
    name: Buffer.from(field.bytes).toString('utf8'),
    seen: field.seen,
    shape: finishShape(field.place, budget),
  }));
  const rest = object.rest === null ? null : finishShape(object.rest, budget);
  return { records: object.records, empty: object.empty, fields, rest };
}
