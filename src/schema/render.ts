import type { JsonObject } from '../contract/result-type.ts';
import { type Shape, TYPE } from '../json/shape.ts';
import type { DescribedPlace, NamedPlace, Places } from './places.ts';

/** What a place says where more is there than is shown. */
const CUT = 'cut: more is here than is shown';
const KEYS_ARE_DATA = 'keys are data';
const MORE_KEYS_ARE_DATA = 'further keys are data';
const MORE_KEYS = 'further keys are not shown';

/** The order of types in a union. */
const UNION_ORDER = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'] as const;

/**
 * The JSON Schema of an object with one property a source, from the first `count` places. A reference to a later
 * one is left out, and the place that had it says that it was cut.
 */
export function renderPlaces({ places, sources }: Places, count: number): JsonObject {
  function schemaOf(index: number): JsonObject {
    const place = places[index] as DescribedPlace;
    const { types } = place.shape;
    if ((types & TYPE.unknown) !== 0) return { description: CUT };
    const isArray = (types & TYPE.array) !== 0;
    const isObject = (types & TYPE.object) !== 0;
    const scalars = typeNames(types & ~TYPE.array & ~TYPE.object);
    if (isArray && isObject) {
      const parts = [objectSchema(place), arraySchema(place)];
      return { anyOf: scalars.length === 0 ? parts : [...parts, { type: single(scalars) }] };
    }
    if (isObject) return { ...objectSchema(place), type: single(['object', ...scalars]) };
    if (isArray) return { ...arraySchema(place), type: single(['array', ...scalars]) };
    return scalars.length === 0 ? {} : { type: single(scalars) };
  }

  function objectSchema(place: DescribedPlace): JsonObject {
    const shown = place.named.filter((field) => field.place < count);
    const others = place.others !== null && place.others < count ? place.others : null;
    const cut = place.cut || shown.length < place.named.length || others !== place.others;
    const notes = [...(others === null ? [] : [othersNote(place)]), ...(cut ? [CUT] : [])];
    return {
      type: 'object',
      ...(notes.length === 0 ? {} : { description: notes.join('; ') }),
      ...members(shown),
      ...(others === null ? {} : { additionalProperties: schemaOf(others) }),
    };
  }

  function arraySchema(place: DescribedPlace): JsonObject {
    if (place.shape.items === null) return { type: 'array', items: {} };
    if (place.items === null || place.items >= count) return { type: 'array', description: CUT };
    return { type: 'array', items: schemaOf(place.items) };
  }

  function members(named: readonly NamedPlace[]): JsonObject {
    if (named.length === 0) return {};
    const required = named.filter((field) => field.required).map((field) => field.name);
    return {
      // fromEntries makes own members even of `__proto__`.
      properties: Object.fromEntries(named.map((field) => [field.name, schemaOf(field.place)])),
      ...(required.length === 0 ? {} : { required }),
    };
  }

  const shown = sources.filter((source) => source.place < count);
  const wasCut = count < places.length || places.some((place) => place.cut);
  return {
    type: 'object',
    ...(wasCut ? { description: 'cut to fit: places that say "cut" hold more than is shown' } : {}),
    properties: {},
    ...members(shown),
  };
}

function othersNote(place: DescribedPlace): string {
  if (!place.othersAreData) return MORE_KEYS;
  return place.named.length === 0 ? KEYS_ARE_DATA : MORE_KEYS_ARE_DATA;
}

/** Integers among other numbers are numbers. */
function typeNames(types: Shape['types']): readonly string[] {
  const bits = (types & TYPE.number) === 0 ? types : types & ~TYPE.integer;
  return UNION_ORDER.filter((name) => (bits & TYPE[name]) !== 0);
}

function single(names: readonly string[]): string | readonly string[] {
  return names.length === 1 ? (names[0] as string) : names;
}
