import { createEventReader, type ProgressEvent } from './events.ts';
import type { Operation } from './operations.ts';
import { ComputeStepConnectionError, parsed } from './problem.ts';
import { LONGEST_TIMER_MS } from './retries.ts';

/** What every exchange of a client shares. */
export interface Connection {
  readonly baseUrl: URL;
  readonly apiKey: string;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  readonly answerMaxBytes: number;
}

/** What is told of an answer besides its body, whatever its status. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: Headers;
}

/** One request as it is sent. */
export interface Outgoing {
  readonly operation: Operation;
  /** With its parameters filled in, and the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Asks for events, and is told of each phase. What it throws ends the call. */
  readonly onProgress: ((event: ProgressEvent) => void) | undefined;
}

export interface Incoming extends AnswerHead {
  readonly text: string;
}

/**
 * Sends one request and reads its answer as text, within one deadline over connecting, sending and reading. Follows no
 * redirect: the data goes to the configured service and nowhere else. A caller's abort throws the signal's reason.
 */
export async function exchange(connection: Connection, outgoing: Outgoing): Promise<Incoming> {
  const { operation, signal } = outgoing;
  signal?.throwIfAborted();
  const ending = new AbortController();
  const hangUp = () => ending.abort();
  signal?.addEventListener('abort', hangUp, { once: true });
  let late = false;
  const thrown: unknown[] = [];
  const tell = (event: ProgressEvent): void => {
    try {
      outgoing.onProgress?.(event);
    } catch (error) {
      thrown.push(error);
      throw error;
    }
  };
  const timer = setTimeout(
    () => {
      late = true;
      hangUp();
    },
    Math.min(outgoing.timeoutMs, LONGEST_TIMER_MS),
  );
  try {
    const response = await connection.fetch(addressOf(connection.baseUrl, outgoing.path), {
      method: operation.method,
      headers: {
        accept: outgoing.onProgress === undefined ? 'application/json' : 'text/event-stream',
        ...(operation.key ? { authorization: `Bearer ${connection.apiKey}` } : {}),
        ...(outgoing.body === null ? {} : { 'content-type': 'application/json' }),
        ...outgoing.headers,
      },
      ...(outgoing.body === null ? {} : { body: outgoing.body }),
      redirect: 'manual',
      signal: ending.signal,
    });
    const { status, headers } = response;
    const pieces = piecesOf(response, connection.answerMaxBytes);
    if (headers.get('content-type')?.startsWith('text/event-stream') === true) {
      return { ...(await readEvents(pieces, tell, status)), headers };
    }
    let text = '';
    for await (const piece of pieces) text += piece;
    return { status, headers, text };
  } catch (error) {
    if (thrown.length > 0) throw thrown[0];
    signal?.throwIfAborted();
    if (late) {
      throw new ComputeStepConnectionError('timeout', `no answer within ${outgoing.timeoutMs} ms`);
    }
    if (error instanceof ComputeStepConnectionError) throw error;
    throw new ComputeStepConnectionError('network', 'the service could not be reached', null, error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', hangUp);
    // Whatever of the answer is still to come is not waited for.
    hangUp();
  }
}

/** The base may have a path of its own, such as that of a gateway. */
function addressOf(baseUrl: URL, path: string): string {
  return `${baseUrl.origin}${baseUrl.pathname.replace(/\/+$/, '')}${path}`;
}

/** The status and the text that the answer would have had without events: those of its last one. */
async function readEvents(
  pieces: AsyncIterable<string>,
  onProgress: (event: ProgressEvent) => void,
  status: number,
): Promise<{ readonly status: number; readonly text: string }> {
  const reader = createEventReader(onProgress);
  for await (const piece of pieces) {
    reader.push(piece);
    // Not the end of the stream, which a proxy may keep open: the answer is here.
    if (reader.last !== null) break;
  }
  const { last } = reader;
  if (last === null) {
    throw new ComputeStepConnectionError('network', 'the events ended before the answer', status);
  }
  // A problem that comes when the head of the answer is out has its status in the document.
  const told =
    last.kind === 'problem' ? (parsed(last.text) as { status?: unknown } | undefined)?.status : 200;
  return { status: typeof told === 'number' ? told : 500, text: last.text };
}

/** The body as text, piece by piece; past `maxBytes`, or when its reader stops, the rest is not read. */
async function* piecesOf(response: Response, maxBytes: number): AsyncGenerator<string> {
  if (response.body === null) return;
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = response.body.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        yield decoded(decoder, undefined, response.status);
        return;
      }
      bytes += value.byteLength;
      if (bytes > maxBytes) {
        throw new ComputeStepConnectionError(
          'answer',
          `the answer is larger than ${maxBytes} bytes: raise answerMaxBytes`,
          response.status,
        );
      }
      yield decoded(decoder, value, response.status);
    }
  } finally {
    // Whoever stopped early wants no more of it. Nobody waits for that: it may take as long as the other side likes.
    reader.cancel().catch(() => {});
  }
}

function decoded(
  decoder: InstanceType<typeof TextDecoder>,
  value: Uint8Array | undefined,
  status: number,
): string {
  try {
    return decoder.decode(value, { stream: value !== undefined });
  } catch {
    throw new ComputeStepConnectionError('answer', 'the answer is not UTF-8', status);
  }
}
