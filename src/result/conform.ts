import type { ResultType } from '../contract/result-type.ts';
import { isDate, isDateTime } from './calendar.ts';
import { integralToken } from './integral.ts';
import { type JsonType, jsonTypeOf } from './json-type.ts';

/** An exact decimal as Python's `str(Decimal)` writes finite ones. */
const DECIMAL = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** No date or time is longer, not even with every character escaped; it saves unescaping megabytes to say no. */
const MAX_TIME_TOKEN = 1024;

/**
 * One JSON token against a result type, apart from null and `table`. Answers the token to write: the same, or for
 * `integer` the integer form of an integral number, and for `decimal` the digits of a number as a string. Null:
 * it is not of that type. Digits never go through a JavaScript number.
 */
export function conform(token: string, type: Exclude<ResultType, 'table'>): string | null {
  const is = jsonTypeOf(token);
  switch (type) {
    case 'any':
      return token;
    case 'number':
      return isNumber(is) ? token : null;
    case 'integer':
      return isNumber(is) ? integralToken(token) : null;
    case 'string':
    case 'boolean':
    case 'array':
    case 'object':
      return is === type ? token : null;
    case 'decimal':
      if (isNumber(is)) {
        return `"${token}"`;
      }
      return is === 'string' && DECIMAL.test(stringOf(token)) ? token : null;
    case 'date':
      return is === 'string' && token.length <= MAX_TIME_TOKEN && isDate(stringOf(token)) ? token : null;
    case 'datetime':
      return is === 'string' && token.length <= MAX_TIME_TOKEN && isDateTime(stringOf(token)) ? token : null;
  }
}

function isNumber(is: JsonType): boolean {
  return is === 'integer' || is === 'number';
}

function stringOf(stringToken: string): string {
  return JSON.parse(stringToken) as string;
}
