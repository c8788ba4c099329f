import type { Shape } from './shape.ts';

/** One source after the scan: its JSON text exactly as it came, known to be valid, and its shape. */
export interface ScannedSource {
  readonly name: string;
  readonly bytes: Buffer;
  readonly shape: Shape;
}
