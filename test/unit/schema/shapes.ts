import type { JsonObject } from '../../../src/contract/result-type.ts';
import type { KeyPolicy } from '../../../src/contract/source.ts';
import { scanValue } from '../../../src/json/scan.ts';
import type { Shape } from '../../../src/json/shape.ts';
import { type DescribedSource, type DescribeLimits, describeSources } from '../../../src/schema/describe.ts';

/** The shape of JSON text. */
export function shapeOf(text: string): Shape {
  const scanned = scanValue(Buffer.from(text), { maxDepth: 64, shape: true });
  if (scanned.kind === 'fault') throw new Error(scanned.message);
  return scanned.shape as Shape;
}

/** One source of the description, from a value. */
export function source(
  value: unknown,
  more: { readonly keys?: KeyPolicy; readonly declared?: JsonObject; readonly name?: string } = {},
): DescribedSource {
  const { keys = 'auto', declared = null, name = 'data' } = more;
  return { name, shape: shapeOf(JSON.stringify(value)), keys, declared };
}

/** The schema of one source alone. */
export function schemaOf(
  value: unknown,
  more: { readonly keys?: KeyPolicy; readonly declared?: JsonObject } = {},
  limits: DescribeLimits = {},
): JsonObject {
  const { json } = describeSources([source(value, more)], limits);
  return (json.properties as { data: JsonObject }).data;
}
