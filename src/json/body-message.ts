import type { BodySource, ReadBody } from './body.ts';
import type { JsonFault } from './fault.ts';
import type { Shape } from './shape.ts';

/** What goes to the worker: the body, whose memory moves there, and its limits. */
export interface BodyJob {
  readonly body: ArrayBuffer;
  readonly limits: {
    readonly maxDepth: number;
    readonly maxSources: number;
    readonly maxEnvelopeBytes: number;
  };
}

/** A source on its way back: a span of the body, or, for an unescaped `result_json`, of memory of its own. */
interface SourceMessage {
  readonly index: number;
  readonly via: BodySource['via'];
  readonly own: ArrayBuffer | null;
  readonly start: number;
  readonly length: number;
  readonly shape: Shape;
}

/** What comes back. The body's memory comes back with it; after a fault nobody needs it. */
export type BodyAnswer =
  | JsonFault
  | {
      readonly kind: 'body';
      readonly body: ArrayBuffer;
      readonly envelope: unknown;
      readonly sources: readonly SourceMessage[];
    };

/** Takes a read body apart for the way between threads; `moved` is the memory to transfer, not to copy. */
export function packBody(
  read: ReadBody,
  body: ArrayBuffer,
): { readonly answer: BodyAnswer; readonly moved: ArrayBuffer[] } {
  const moved = [body];
  const sources = read.sources.map((source): SourceMessage => {
    const { index, via, bytes, shape } = source;
    const memory = bytes.buffer as ArrayBuffer;
    const own = memory === body ? null : memory;
    if (own !== null) moved.push(own);
    return { index, via, own, start: bytes.byteOffset, length: bytes.length, shape };
  });
  return { answer: { kind: 'body', body, envelope: read.envelope, sources }, moved };
}

/** Puts a read body together again, without copying. */
export function unpackBody(answer: BodyAnswer): ReadBody | JsonFault {
  if (answer.kind === 'fault') return answer;
  const sources = answer.sources.map((source): BodySource => {
    const { index, via, own, start, length, shape } = source;
    return { index, via, bytes: Buffer.from(own ?? answer.body, start, length), shape };
  });
  return { kind: 'body', envelope: answer.envelope, sources };
}
