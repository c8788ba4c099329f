import { decodedString } from '../python-string.ts';
import { partsOf, type SyntaxNode, unwrapped } from '../syntax-tree.ts';
import { elementsOf, fieldOf, onlyValuesOf, type Place } from './place.ts';

/**
 * What an expression surely holds of the data: a value at a place of the schema, or a list, a dictionary or a tuple
 * that the function made of such values. Null stands for everything that is not sure.
 */
export type Flowing = { readonly weight: number } & (
  | { readonly kind: 'place'; readonly place: Place }
  | { readonly kind: 'list'; readonly element: Flowing }
  | { readonly kind: 'map'; readonly value: Flowing }
  | { readonly kind: 'tuple'; readonly items: readonly (Flowing | null)[] }
);

/** How many parts a value may be made of: tuples of tuples double with every name. Past it nothing is sure. */
const MAX_WEIGHT = 64;

const bounded = (value: Flowing): Flowing | null => (value.weight > MAX_WEIGHT ? null : value);

export const placed = (place: Place | null): Flowing | null =>
  place === null ? null : { kind: 'place', place, weight: 1 };
export const listOf = (element: Flowing | null): Flowing | null =>
  element === null ? null : bounded({ kind: 'list', element, weight: element.weight + 1 });
export const mapOf = (value: Flowing | null): Flowing | null =>
  value === null ? null : bounded({ kind: 'map', value, weight: value.weight + 1 });

export function tupleOf(items: readonly (Flowing | null)[]): Flowing | null {
  if (items.every((item) => item === null)) return null;
  const weight = items.reduce((sum, item) => sum + (item?.weight ?? 1), 1);
  return bounded({ kind: 'tuple', items, weight });
}

/** What a loop over it gives. */
export function elementOf(value: Flowing | null): Flowing | null {
  if (value?.kind === 'list') return value.element;
  return value?.kind === 'place' ? placed(elementsOf(value.place)) : null;
}

/** What `.values()` gives, one by one. */
export function eachValueOf(value: Flowing | null): Flowing | null {
  if (value?.kind === 'map') return value.value;
  return value?.kind === 'place' ? placed(onlyValuesOf(value.place)) : null;
}

/** What the target at `index` of `a, b = value` gets. */
export function itemAt(value: Flowing | null, index: number): Flowing | null {
  return value?.kind === 'tuple' ? (value.items[index] ?? null) : elementOf(value);
}

/** What `value[key]` is. */
export function memberAt(value: Flowing | null, key: SyntaxNode, source: string): Flowing | null {
  if (value === null) return null;
  const index = unwrapped(key);
  if (index.type === 'slice') return value.kind === 'map' || value.kind === 'tuple' ? null : value;
  if (value.kind === 'map') return value.value;
  if (value.kind === 'tuple') return index.type === 'integer' ? itemAt(value, Number(index.text)) : null;
  const name = decodedString(index, source);
  if (value.kind === 'list') return value.element;
  if (name !== null) return placed(fieldOf(value.place, name));
  return elementOf(value) ?? eachValueOf(value);
}

/** Whether two values surely are of the same place and form. */
export function areSame(one: Flowing | null, other: Flowing | null): boolean {
  if (one === null || other === null) return one === other;
  if (one.kind === 'place') return other.kind === 'place' && one.place.schema === other.place.schema;
  if (one.kind === 'list') return other.kind === 'list' && areSame(one.element, other.element);
  if (one.kind === 'map') return other.kind === 'map' && areSame(one.value, other.value);
  return (
    other.kind === 'tuple' &&
    one.items.length === other.items.length &&
    one.items.every((item, index) => areSame(item, other.items[index] ?? null))
  );
}

/** Whether an expression is None or an empty literal: no field can be read of it. */
export function isEmptyLiteral(node: SyntaxNode): boolean {
  const { type } = unwrapped(node);
  if (type === 'none') return true;
  return ['list', 'dictionary', 'tuple'].includes(type) && partsOf(unwrapped(node)).length === 0;
}
