/** The most names of one kind in a hint. */
const NEAR_MAX = 3;
const LISTED_MAX = 20;
/** A misspelling is at most this many letters off, and fewer in short names. */
const MAX_OFF = 2;
/** Longer keys are compared by their first characters: no field of the schema has a longer name. */
const COMPARED_CHARS = 64;

/** Whether a key surely is a misspelling of a name: other case or separators, or one or two letters off. */
export function isMisspelling(key: string, name: string): boolean {
  return lettersOff(key, name) <= MAX_OFF;
}

/** The names that a key may have meant: the misspelt ones first, then those that have a word in common with it. */
export function nearNames(key: string, names: readonly string[]): readonly string[] {
  return names
    .map((name) => ({ name, off: lettersOff(key, name) }))
    .filter(({ name, off }) => off <= MAX_OFF || shareWord(key, name))
    .map(({ name, off }) => ({ name, rank: off <= MAX_OFF ? off : longer(key, name) + MAX_OFF }))
    .sort((one, other) => one.rank - other.rank)
    .slice(0, NEAR_MAX)
    .map(({ name }) => name);
}

/** What to write instead of a key: the names near it, else the names there. All of them stand in the prompt. */
export function keyHint(key: string, names: readonly string[]): string {
  const near = nearNames(key, names);
  if (near.length > 0) return `Use ${near.map(quoted).join(' or ')}.`;
  const listed = names.slice(0, LISTED_MAX).map(quoted).join(', ');
  const more = names.length - LISTED_MAX;
  return `Use a field that is there: ${listed}${more > 0 ? ` and ${more} more` : ''}.`;
}

const quoted = (name: string) => JSON.stringify(name);

const plain = (name: string) =>
  name
    .slice(0, COMPARED_CHARS)
    .toLowerCase()
    .replace(/[ _.-]/g, '');

function words(name: string): ReadonlySet<string> {
  const parted = name.slice(0, COMPARED_CHARS).replace(/([a-z0-9])([A-Z])/g, '$1 $2');
  const all = parted.toLowerCase().split(/[ _.-]+/);
  return new Set(all.filter((word) => word.length > 2).map((word) => word.replace(/s$/, '')));
}

function shareWord(one: string, other: string): boolean {
  const known = words(other);
  return [...words(one)].some((word) => known.has(word));
}

const longer = (one: string, other: string) => Math.abs(one.length - other.length) + 1;

/** How many letters apart two names are, as many as may be for names of their length; else more than MAX_OFF. */
function lettersOff(key: string, name: string): number {
  const [one, other] = [plain(key), plain(name)];
  if (one === other) return 0;
  const shorter = Math.min(key.length, name.length);
  const bound = shorter >= 6 ? MAX_OFF : shorter >= 3 ? 1 : 0;
  const off = distance(one, other, bound);
  return off <= bound ? off : MAX_OFF + 1;
}

/**
 * Edit distance, two letters that changed places counting once; more than `bound` where it is more. Looks at no more
 * than `bound` letters to either side, so that long names in great number stay cheap.
 */
function distance(one: string, other: string, bound: number): number {
  if (longer(one, other) - 1 > bound) return bound + 1;
  let before: number[] = [];
  let last = Array.from({ length: Math.min(other.length, bound) + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const next: number[] = [];
    for (let column = Math.max(0, row - bound); column <= Math.min(other.length, row + bound); column += 1) {
      const same = column > 0 && one[row - 1] === other[column - 1];
      const swapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      next[column] = Math.min(
        at(last, column) + 1,
        at(next, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
        swapped ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, last] = [last, next];
  }
  return at(last, other.length);
}

const at = (row: readonly number[], index: number) => row[index] ?? Number.POSITIVE_INFINITY;
