/**
 * What can be wrong with JSON that came in: a closed set. Scanning functions answer a position, or one of these
 * packed into a negative number with its offset, so that the hot loops allocate nothing.
 */
export const JSON_FAULTS = {
  not_json: 'is not valid JSON (RFC 8259)',
  byte_order_mark: 'starts with a byte order mark; send it without one',
  bad_utf8: 'is not valid UTF-8; encode it again as UTF-8, without lone surrogates',
  too_deep: 'is nested more deeply than JSON_MAX_DEPTH allows; flatten it',
  duplicate_key: 'repeats a key within one object; give each key once',
  not_finite: 'has NaN or Infinity, which JSON does not have; send null or a string',
  number_out_of_range: 'has a decimal number past the range of a double; send it as a string',
  too_many_keys: 'has an object with too many keys; send an array of records instead',
  too_many_sources: 'has too many elements; join sources or ask in several steps',
  envelope_too_large: 'is too large apart from its source data; put data into sources[].result',
} as const satisfies Record<string, string>;

export type JsonFaultCode = keyof typeof JSON_FAULTS;
export const JSON_FAULT_CODES = Object.keys(JSON_FAULTS) as JsonFaultCode[];

/** A refusal of bytes. The message names the place and the fix; it never holds a key or a value of the data. */
export interface JsonFault {
  readonly kind: 'fault';
  readonly code: JsonFaultCode;
  /** Index in `sources`, or null where the fault is not in a source. */
  readonly source: number | null;
  /** Byte offset: in the body, or, for `result_json`, in the text that the string holds. */
  readonly offset: number;
  readonly message: string;
}

/** Makes a fault at a place such as `the body` or `sources[1].result`. */
export function jsonFault(
  code: JsonFaultCode,
  place: string,
  offset: number,
  source: number | null = null,
): JsonFault {
  const message = `${place}: ${JSON_FAULTS[code]} (at byte ${offset}).`;
  return { kind: 'fault', code, source, offset, message };
}

const CODE_SLOTS = 16;

/** Packs a fault into a negative number: what a scanning function answers instead of a position. */
export function packFault(code: JsonFaultCode, offset: number): number {
  return -(offset * CODE_SLOTS + JSON_FAULT_CODES.indexOf(code) + 1);
}

/** Reads a packed fault back. */
export function unpackFault(packed: number): { readonly code: JsonFaultCode; readonly offset: number } {
  const number = -packed - 1;
  const code = JSON_FAULT_CODES[number % CODE_SLOTS] ?? 'not_json';
  return { code, offset: Math.floor(number / CODE_SLOTS) };
}
