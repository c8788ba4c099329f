import fc from 'fast-check';

/**
 * What is at one place of a document and what may be filled in there. Two fillings of one plan have the same shape;
 * everything else of them differs: texts, digits, map keys, white space, escapes.
 */
export type Plan =
  | { readonly kind: 'string' | 'integer' | 'number' | 'boolean' | 'null' }
  | { readonly kind: 'array'; readonly items: readonly Plan[] }
  | { readonly kind: 'object'; readonly fields: readonly (readonly [string, Plan])[] }
  /** Keys are data; at least one entry for each of the plans. */
  | { readonly kind: 'map'; readonly values: readonly Plan[] };

/** How free a filling is beyond its values. */
export interface Freedom {
  /** Each element of an array and each entry of a map stands so many times, at least and at most. */
  readonly least: number;
  readonly most: number;
}

const FIELDS =
  'id name total created_at status unit_price customer line_items note country city quantity paid rate size'.split(
    ' ',
  );

const scalar: fc.Arbitrary<Plan> = fc
  .constantFrom('string', 'integer', 'number', 'boolean', 'null')
  .map((kind) => ({ kind }) as Plan);

/** Plans of documents: nested objects, arrays of several kinds of records, nullables, unions, maps. */
export const plans: fc.Arbitrary<Plan> = fc.letrec<{ plan: Plan }>((tie) => {
  const array = fc.array(tie('plan'), { maxLength: 4 }).map((items): Plan => ({ kind: 'array', items }));
  const map = fc
    .array(tie('plan'), { minLength: 1, maxLength: 3 })
    .map((values): Plan => ({ kind: 'map', values }));
  return {
    plan: fc.oneof(
      { depthSize: 'small', maxDepth: 5 },
      scalar,
      objectOf(tie('plan')),
      array,
      map,
      recordsOf(tie('plan')),
    ),
  };
}).plan;

/** Plans without optional fields: all objects at one place have the very same keys. */
export const steadyPlans: fc.Arbitrary<Plan> = fc.letrec<{ plan: Plan }>((tie) => {
  const more = fc.array(scalar, { maxLength: 2 });
  const list = fc.tuple(tie('plan'), more).map(([plan, others]) => [plan, ...others]);
  return {
    plan: fc.oneof(
      { depthSize: 'small', maxDepth: 3 },
      scalar,
      objectOf(tie('plan')),
      list.map((items): Plan => ({ kind: 'array', items })),
      list.map((values): Plan => ({ kind: 'map', values })),
    ),
  };
}).plan;

function objectOf(below: fc.Arbitrary<Plan>): fc.Arbitrary<Plan> {
  return fc
    .uniqueArray(fc.tuple(fc.constantFrom(...FIELDS), below), { selector: ([name]) => name, maxLength: 6 })
    .map((fields): Plan => ({ kind: 'object', fields }));
}

/** Records that share fields, some of them optional or null: the rows of a table. */
function recordsOf(below: fc.Arbitrary<Plan>): fc.Arbitrary<Plan> {
  return fc
    .tuple(
      fc.uniqueArray(fc.tuple(fc.constantFrom(...FIELDS), below), {
        selector: ([name]) => name,
        minLength: 1,
        maxLength: 5,
      }),
      fc.array(fc.array(fc.constantFrom('full', 'full', 'null', 'absent'), { minLength: 5, maxLength: 5 }), {
        minLength: 1,
        maxLength: 4,
      }),
    )
    .map(
      ([fields, patterns]): Plan => ({
        kind: 'array',
        items: patterns.map((pattern) => ({
          kind: 'object',
          fields: fields.flatMap(([name, plan], index): (readonly [string, Plan])[] =>
            pattern[index] === 'absent' ? [] : [[name, pattern[index] === 'null' ? { kind: 'null' } : plan]],
          ),
        })),
      }),
    );
}

/** A source of choices that is the same for the same seed: filling by it is pure. */
function choices(seed: number): (below: number) => number {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** JSON text of a document of this plan, filled by the seed. */
export function fill(plan: Plan, seed: number, freedom: Freedom): string {
  const pick = choices(seed);
  const one = <T>(of: readonly T[]): T => of[pick(of.length)] as T;
  const digits = (most: number) =>
    `${1 + pick(9)}${Array.from({ length: pick(most) }, () => pick(10)).join('')}`;
  const sign = () => one(['', '-']);
  const space = () => one(['', '', ' ', '\n', '\t ']);
  const repeated = <T>(of: readonly T[], { least, most }: Freedom): T[] =>
    of.flatMap((each) => Array.from({ length: least + pick(most - least + 1) }, () => each));

  function text(): string {
    const characters = [
      'a',
      'Z',
      '7',
      ' ',
      '@',
      '.',
      '"',
      '\\',
      '/',
      '<',
      '\u0000',
      '\n',
      'é',
      '😀',
      '\u202e',
      '</data_schema>',
    ];
    return Array.from({ length: pick(20) }, () => one(characters)).join('');
  }

  function quoted(value: string): string {
    if (pick(4) > 0) return JSON.stringify(value);
    const units = value.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
    return `"${units.map((unit) => `\\u${unit}`).join('')}"`;
  }

  /** Unlike any other: in one object no key may stand twice. */
  function dataKey(index: number): string {
    const own = String(index).padStart(3, '0');
    return one([
      `${digits(9)}.${own}@example.com`,
      `0b5a7e0e-6a6f-4b0e-9b7a-${own}${100_000_000 + pick(800_000_000)}`,
      `20${10 + pick(80)}-11-30T08:00:00.${digits(6)}${own}Z`,
      `${digits(12)}${own}`,
      `SKU-${own}-${100_000 + pick(800_000)}`,
      `https://example.com/${own}/${digits(5)}`,
      `a sentence of more than five words, number ${own} ${digits(4)}`,
    ]);
  }

  function value(at: Plan): string {
    switch (at.kind) {
      case 'string':
        return quoted(text());
      case 'integer':
        return one([`${sign()}${digits(3)}`, `${sign()}${digits(40)}`, '0', '-0']);
      case 'number':
        return one([
          `${sign()}${digits(5)}.${digits(12)}`,
          `${sign()}${digits(1)}e${sign()}${digits(2)}`,
          '0.0',
          '1E+2',
          '-0.5e-7',
        ]);
      case 'boolean':
        return one(['true', 'false']);
      case 'null':
        return 'null';
      case 'array':
        return `[${space()}${repeated(at.items, freedom)
          .map((item) => `${value(item)}${space()}`)
          .join(',')}]`;
      case 'object':
        return `{${space()}${at.fields
          .map(([name, below]) => `${quoted(name)}${space()}:${space()}${value(below)}${space()}`)
          .join(',')}}`;
      case 'map':
        return `{${space()}${repeated(at.values, freedom)
          .map((below, index) => `${quoted(dataKey(index))}:${space()}${value(below)}`)
          .join(`,${space()}`)}}`;
    }
  }
  return value(plan);
}
