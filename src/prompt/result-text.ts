import type { ResultAsk, ResultType } from '../contract/result-type.ts';

/** How to return each type from Python. What the result check admits is in `result/check.ts`. */
const RETURN = {
  number: 'a number: an int, float or Decimal, never a bool, NaN or infinity',
  integer: 'an integer: an int, never a bool; no fraction',
  string: 'a string: a str',
  boolean: 'a boolean: exactly True or False',
  array: 'an array: a list',
  object: 'an object: a dict whose keys are strings',
  decimal:
    'an exact decimal: a decimal.Decimal. Compute in Decimal throughout, and make one from a float only as Decimal(str(x))',
  date: 'a date: a datetime.date (or its text, YYYY-MM-DD)',
  datetime:
    'a moment: a datetime.datetime that has a time zone (or its RFC 3339 text with an offset). Give a naive one the zone UTC',
  table:
    'a table: {"columns": [{"name": "…", "type": "…"}], "rows": [[…], …]}. Each column\'s type is one of number, integer, string, boolean, array, object, decimal, date, datetime, any; every row is a list with one cell a column, in the order of the columns; a missing cell is None',
  any: 'whatever JSON value answers the instruction best: a number, a string, a bool, a list, a dict or None',
} as const satisfies Record<ResultType, string>;

/** Sentences that say what `compute` must return. */
export function resultText({ type, nullable }: ResultAsk): string {
  const returned = `Return ${RETURN[type]}.`;
  if (type === 'any') return returned;
  return nullable
    ? `${returned} Return None where the data holds no answer, such as the average of no values.`
    : `${returned} Never return None. Where the data holds no answer, such as the average of no values, raise ValueError with a short fixed text; the sum or count of nothing is 0.`;
}

/** The caller's JSON Schema for the result, verbatim in its block, or nothing. */
export function resultSchemaText({ schema }: ResultAsk): string {
  return schema === null
    ? ''
    : `\n\nThe result must also satisfy this JSON Schema (2020-12):\n\n<result_schema>\n${JSON.stringify(schema)}\n</result_schema>`;
}
