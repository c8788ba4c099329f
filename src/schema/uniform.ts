import { type FieldShape, type Shape, TYPE } from '../json/shape.ts';

/** What values of one kind are: `records` have fields of their own in common, `plain` is everything else. */
export type Uniform = 'records' | 'plain' | null;

/**
 * Whether values are all of one kind, as the values of a map are; null if not. Null and empty arrays fit anything,
 * integers and numbers are one kind.
 */
export function uniform(shapes: readonly Shape[]): Uniform {
  const real = shapes.filter((shape) => kindOf(shape) !== 0);
  const [first] = real;
  if (first === undefined) return 'plain';
  const kind = kindOf(first);
  if (real.some((shape) => kindOf(shape) !== kind)) return null;
  if (kind === TYPE.array) return uniform(real.flatMap((shape) => shape.items ?? []));
  if (kind !== TYPE.object) return 'plain';
  const fieldLists = real.map((shape) => shape.object?.fields ?? []).filter((fields) => fields.length > 0);
  if (haveNamesInCommon(fieldLists))
    return fieldLists.every((fields) => fields.length >= 2) ? 'records' : 'plain';
  return uniform(fieldLists.flat().map((field) => field.shape)) === null ? null : 'plain';
}

function kindOf(shape: Shape): number {
  const types = shape.types & ~TYPE.null;
  return (types & TYPE.integer) === 0 ? types : (types & ~TYPE.integer) | TYPE.number;
}

/**
 * Whether each list has at least half of all the names, and some name stands in more than one. Without the latter two
 * maps with no key in common would be records if they happened to be of one length.
 */
function haveNamesInCommon(fieldLists: readonly (readonly FieldShape[])[]): boolean {
  const names = fieldLists.flatMap((fields) => fields.map((field) => field.name));
  const all = new Set(names).size;
  if (fieldLists.length > 1 && all === names.length) return false;
  return fieldLists.every((fields) => fields.length * 2 >= all);
}
