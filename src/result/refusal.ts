import type { JsonType } from './json-type.ts';

/** Why a result was refused, in types and places only: neither its values nor its keys and positions. */
export interface ResultRefusal {
  readonly kind: 'refusal';
  readonly code: 'result_type_mismatch' | 'result_schema_timeout';
  /** Masked: `$.rows[][]`. */
  readonly path: string;
  /** A type, or the rule of the result type or keyword of `result_schema` that was not met. */
  readonly wanted: string;
  readonly got: JsonType;
}

/** A mismatch at a masked path. */
export function mismatch(path: string, wanted: string, got: JsonType): ResultRefusal {
  return { kind: 'refusal', code: 'result_type_mismatch', path, wanted, got };
}
