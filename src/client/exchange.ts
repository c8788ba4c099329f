import type { Operation } from './operations.ts';
import { ComputeStepConnectionError } from './problem.ts';

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
  const timer = setTimeout(() => {
    late = true;
    hangUp();
  }, outgoing.timeoutMs);
  try {
    const response = await connection.fetch(addressOf(connection.baseUrl, outgoing.path), {
      method: operation.method,
      headers: {
        accept: 'application/json',
        ...(operation.key ? { authorization: `Bearer ${connection.apiKey}` } : {}),
        ...(outgoing.body === null ? {} : { 'content-type': 'application/json' }),
        ...outgoing.headers,
      },
      ...(outgoing.body === null ? {} : { body: outgoing.body }),
      redirect: 'manual',
      signal: ending.signal,
    });
    const text = await readText(response, connection.answerMaxBytes);
    return { status: response.status, headers: response.headers, text };
  } catch (error) {
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

/** The body as text; past `maxBytes` the rest is not read. */
async function readText(response: Response, maxBytes: number): Promise<string> {
  if (response.body === null) return '';
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = response.body.getReader();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoded(decoder, undefined, response.status);
    bytes += value.byteLength;
    if (bytes > maxBytes) {
      throw new ComputeStepConnectionError(
        'answer',
        `the answer is larger than ${maxBytes} bytes: raise answerMaxBytes`,
        response.status,
      );
    }
    text += decoded(decoder, value, response.status);
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
