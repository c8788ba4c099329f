import { type JsonFault, jsonFault, packFault, unpackFault } from './fault.ts';
import { Scanner, skipSpace } from './scanner.ts';
import { type Shape, TYPE } from './shape.ts';
import { finishShape, Place, PlaceBudget } from './shape-builder.ts';

/** Places that one document's shape may have. */
export const DOCUMENT_PLACES_MAX = 6_000;

/** The JSON type of a whole document, integers apart from other numbers. */
export type JsonTop = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';

export interface Scanned {
  readonly kind: 'scanned';
  readonly top: JsonTop;
  /** Only where it was asked for. */
  readonly shape?: Shape;
}

export interface ScanOptions {
  /** Most containers around a value; `[]` has depth 1. */
  readonly maxDepth: number;
  /** Whether to answer the shape; default false. */
  readonly shape?: boolean;
  /** What a fault's message calls the document; default `the document`. */
  readonly place?: string;
  /** Index in `sources` for a fault. */
  readonly source?: number;
  /** Places of the shape; default DOCUMENT_PLACES_MAX. */
  readonly places?: number;
}

/**
 * Checks that bytes are exactly one JSON document: RFC 8259, strict UTF-8 without a mark, unique keys, no number
 * past a double (integers of any length are fine). For sources and for hostile results alike.
 */
export function scanValue(bytes: Uint8Array, options: ScanOptions): Scanned | JsonFault {
  const fail = (packed: number): JsonFault => {
    const { code, offset } = unpackFault(packed);
    return jsonFault(code, options.place ?? 'the document', offset, options.source ?? null);
  };
  if (hasByteOrderMark(bytes)) return fail(packFault('byte_order_mark', 0));
  const budget = new PlaceBudget(options.places ?? DOCUMENT_PLACES_MAX);
  const root = new Place();
  const after = new Scanner(bytes, budget).value(0, root, options.maxDepth);
  if (after < 0) return fail(after);
  const rest = skipSpace(bytes, after, bytes.length);
  if (rest < bytes.length) return fail(packFault('not_json', rest));
  const top = topOf(root.types);
  return options.shape === true
    ? { kind: 'scanned', top, shape: finishShape(root, budget) }
    : { kind: 'scanned', top };
}

/** UTF-8's mark U+FEFF in front: RFC 8259 forbids to send it, and Python's parser refuses it. */
export function hasByteOrderMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function topOf(types: number): JsonTop {
  const tops: readonly JsonTop[] = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'];
  return tops.find((name) => (types & TYPE[name]) !== 0) ?? 'null';
}
