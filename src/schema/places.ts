import type { JsonObject } from '../contract/result-type.ts';
import type { KeyPolicy } from '../contract/source.ts';
import { mergeShapes, type Shape } from '../json/shape.ts';
import { DeclaredPlace } from './declared-place.ts';
import { splitKeys } from './keys.ts';
import { isShowable } from './names.ts';

/** A source as it is described. */
export interface DescribedSource {
  readonly name: string;
  readonly shape: Shape;
  readonly keys: KeyPolicy;
  /** The tool's declared output schema: then only its property names are shown. */
  readonly declared: JsonObject | null;
}

/** A field as it is shown. */
export interface NamedPlace {
  readonly name: string;
  readonly required: boolean;
  readonly place: number;
}

/** One place of the description. Other places are referred to by their number. */
export interface DescribedPlace {
  readonly shape: Shape;
  items: number | null;
  readonly named: NamedPlace[];
  /** Values of all keys that are not named. */
  others: number | null;
  /** Why keys are not named: they are data, or only declared or a bounded number of names is shown. */
  othersAreData: boolean;
  /** Whether something was left out here. */
  cut: boolean;
}

export interface Places {
  /** Level by level from the sources down, so that a cut takes what is deepest. */
  readonly places: readonly DescribedPlace[];
  readonly sources: readonly NamedPlace[];
}

interface Open {
  readonly place: DescribedPlace;
  readonly keys: KeyPolicy;
  readonly declared: DeclaredPlace | null;
}

/**
 * Lays out what there is to describe: level by level, in order of first appearance, until `maxNames` field names
 * are used up (further fields are left out) or `maxPlaces` (nothing further is looked into).
 */
export function layPlaces(sources: readonly DescribedSource[], maxNames: number, maxPlaces: number): Places {
  const queue: Open[] = [];
  let names = 0;
  let hidden = 0;

  function add(shape: Shape, keys: KeyPolicy, declared: DeclaredPlace | null): number {
    const place = { shape, items: null, named: [], others: null, othersAreData: false, cut: false };
    queue.push({ place, keys, declared });
    return queue.length - 1;
  }

  const roots = sources.map(({ name, shape, keys, declared }): NamedPlace => {
    const view = declared === null ? null : DeclaredPlace.root(declared);
    return { name, required: true, place: add(shape, keys, view) };
  });
  for (let next = 0; next < queue.length; next++) {
    const { place, keys, declared } = queue[next] as Open;
    const { items, object } = place.shape;
    if (queue.length >= maxPlaces) {
      place.cut = items !== null || object !== null;
      continue;
    }
    if (items !== null) place.items = add(items, keys, declared?.items() ?? null);
    if (object === null) continue;
    const { named, unnamed } = splitKeys(object, keys, declared);
    for (const field of named) {
      if (names >= maxNames || queue.length >= maxPlaces) {
        place.cut = true;
        break;
      }
      names++;
      // Numbered over the whole schema, so that no two labels in one object are the same.
      const name = isShowable(field.name) ? field.name : `<key ${++hidden}>`;
      const required = field.seen === object.records;
      const below = declared?.property(field.name) ?? null;
      place.named.push({ name, required, place: add(field.shape, keys, below) });
    }
    if (unnamed.length > 0) {
      place.othersAreData = keys === 'data' || (keys === 'auto' && declared === null);
      place.others = add(mergeShapes(unnamed), keys, declared?.others() ?? null);
    }
  }
  return { places: queue.map((open) => open.place), sources: roots };
}
