import type { ScannedSource } from '../json/source.ts';

/** The argument of `compute(data)` as JSON text in pieces: the sources' bytes exactly as they came. */
export interface SandboxData {
  readonly chunks: readonly Buffer[];
  readonly byteLength: number;
}

/**
 * Joins scanned sources to the JSON object `{"<name>": <bytes>, …}` without copying them. Names are
 * `SOURCE_NAME`s, so they need no escaping; the bytes were scanned, so each is one JSON value.
 */
export function sandboxData(sources: readonly ScannedSource[]): SandboxData {
  const chunks: Buffer[] = [];
  for (const [index, source] of sources.entries()) {
    chunks.push(Buffer.from(`${index === 0 ? '{' : ','}"${source.name}":`), source.bytes);
  }
  chunks.push(Buffer.from(sources.length === 0 ? '{}' : '}'));
  return { chunks, byteLength: chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0) };
}
