import type { KeyPolicy } from '../contract/source.ts';
import { type FieldShape, type ObjectShape, type Shape, TYPE } from '../json/shape.ts';
import { FIELDS_MAX } from '../json/shape-builder.ts';
import { areCodes, looksLikeData } from './data-keys.ts';
import type { DeclaredPlace } from './declared-place.ts';
import { isShowable } from './names.ts';
import { uniform } from './uniform.ts';

/** An object's keys, parted: fields that are named, and the values of keys that are not. */
export interface KeySplit {
  readonly named: readonly FieldShape[];
  readonly unnamed: readonly Shape[];
}

/** So many keys whose values are of one kind are a map, in one record or in records that differ. */
const MANY_PLAIN = 17;
const MANY_RECORDS = 3;
/** The same where several records all have the very same keys, as the columns of a table are. */
const MANY_STEADY = 64;
/** So many proper names with values of one kind are a map; texts need more, since forms have such fields too. */
const MANY_PROPER_NUMBERS = 1;
const MANY_PROPER = 2;
const MANY_PROPER_TEXTS = 4;
/** So many names that differ in a number at their end (`user_1`) or inside are a list, not fields. */
const NUMBERED_AT_END = 3;
/** A number of two digits after a separator (`cust_81`) counts no fields: two such names are enough. */
const NUMBERED_HIGH = 2;
const NUMBERED_INSIDE = 5;

/**
 * Decides which keys of an object are field names and which are data. `fields`: all are names; `data`: none is;
 * `auto`: by their look and by how they vary, and when unsure, data. A declared schema decides alone: its names.
 */
export function splitKeys(object: ObjectShape, policy: KeyPolicy, declared: DeclaredPlace | null): KeySplit {
  const rest = object.rest === null ? [] : [object.rest];
  if (policy === 'data') return part(object.fields, () => false, rest);
  if (declared !== null) return part(object.fields, (field) => declared.names(field.name), rest);
  if (policy === 'fields') return part(object.fields, () => true, rest);
  const data = dataFields(object);
  return part(object.fields, (field) => !data.has(field), rest);
}

function part(
  fields: readonly FieldShape[],
  isName: (field: FieldShape) => boolean,
  rest: readonly Shape[],
): KeySplit {
  const unnamed = fields.filter((field) => !isName(field)).map((field) => field.shape);
  return { named: fields.filter(isName), unnamed: [...unnamed, ...rest] };
}

function dataFields(object: ObjectShape): ReadonlySet<FieldShape> {
  const { fields } = object;
  const all = new Set(fields);
  const data = new Set(fields.filter((field) => looksLikeData(field.name)));
  // A rest that was looked into holds keys past the bounds: far too many, or far too long.
  const overlong = object.rest !== null && (object.rest.types & TYPE.unknown) === 0 ? 1 : 0;
  if (fields.length >= FIELDS_MAX || data.size === fields.length) return all;
  if (data.size + overlong > 0) {
    if (uniform(shapesOf(fields)) !== null) return all;
    if (data.size * 2 >= fields.length) return alike(fields, data);
  }
  const others = fields.filter((field) => !data.has(field));
  if (isMap(object, others)) return all;
  const list = numbered(object, others);
  if (list.length * 2 > fields.length) return alike(fields, new Set([...data, ...list]));
  for (const field of [...list, ...sparse(object, others)]) data.add(field);
  return data;
}

function shapesOf(fields: Iterable<FieldShape>): readonly Shape[] {
  return [...fields].map((field) => field.shape);
}

/**
 * Where data keys are the most, the names between them may be data too (`anna` among e-mail addresses), but not if
 * their values are of another kind (`region` beside years).
 */
function alike(fields: readonly FieldShape[], data: ReadonlySet<FieldShape>): ReadonlySet<FieldShape> {
  const known = shapesOf(data);
  if (uniform(known) === null) return new Set(fields);
  return new Set(fields.filter((field) => data.has(field) || uniform([...known, field.shape]) !== null));
}

function isSteady(object: ObjectShape, fields: readonly FieldShape[]): boolean {
  return object.records - object.empty >= 3 && fields.every((field) => field.seen === object.records);
}

/** Whether the keys are those of a map although each alone could be a field. */
function isMap(object: ObjectShape, fields: readonly FieldShape[]): boolean {
  const kind = uniform(shapesOf(fields));
  if (kind !== null) {
    if (areCodes(fields.map((field) => field.name))) return true;
    const many = kind === 'records' ? MANY_RECORDS : MANY_PLAIN;
    if (fields.length >= (isSteady(object, fields) ? MANY_STEADY : many)) return true;
    // Names that cannot be shown would tell how many there are and nothing else.
    const hidden = fields.filter((field) => !isShowable(field.name)).length;
    if (hidden === fields.length || (hidden >= 2 && hidden * 2 >= fields.length)) return true;
    if (fields.length >= manyProper(fields) && !isSteady(object, fields) && fields.every(isProperName))
      return true;
  }
  // Keys that differ from record to record: none is in all of them, and most records lack most keys.
  const records = object.records - object.empty;
  if (records < 2 || fields.some((field) => field.seen === records)) return false;
  const seen = fields.reduce((sum, field) => sum + field.seen, 0);
  return seen * 2 <= records * fields.length;
}

/** A capitalised word, several words, or a word of a script without case, as names of people and places are. */
function isProperName(field: FieldShape): boolean {
  return /^\p{Lu}\p{Ll}+$|\s|\p{Lo}/u.test(field.name);
}

function manyProper(fields: readonly FieldShape[]): number {
  const only = (types: number) => fields.every((field) => (field.shape.types & ~types) === 0);
  if (only(TYPE.string | TYPE.null)) return MANY_PROPER_TEXTS;
  return only(TYPE.integer | TYPE.number | TYPE.boolean | TYPE.null) ? MANY_PROPER_NUMBERS : MANY_PROPER;
}

/** Fields whose names are one name with different numbers. */
function numbered(object: ObjectShape, fields: readonly FieldShape[]): readonly FieldShape[] {
  if (isSteady(object, fields)) return [];
  const groups = new Map<string, FieldShape[]>();
  for (const field of fields) {
    const form = field.name.replace(/\d+/gu, '#');
    if (form !== field.name) groups.set(form, [...(groups.get(form) ?? []), field]);
  }
  return [...groups].flatMap(([form, group]) => {
    const high = /[_ .]#$/u.test(form) && group.some(({ name }) => /\d\d$/u.test(name));
    const enough = high ? NUMBERED_HIGH : form.endsWith('#') ? NUMBERED_AT_END : NUMBERED_INSIDE;
    return group.length >= enough && uniform(shapesOf(group)) !== null ? group : [];
  });
}

/** Fields that few records have, of one kind: data keys beside ordinary fields. */
function sparse(object: ObjectShape, fields: readonly FieldShape[]): readonly FieldShape[] {
  const records = object.records - object.empty;
  const rare = fields.filter((field) => field.seen * 3 <= records);
  const once = rare.filter((field) => field.seen === 1);
  const enough = rare.length >= 8 || (records >= 4 && once.length >= 3);
  return enough && uniform(shapesOf(rare)) !== null ? rare : [];
}
