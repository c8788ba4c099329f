import type { Readable } from 'node:stream';
import { type buildConnector, Client } from 'undici';
import type { AddressFault } from './address.ts';
import { AddressRefused, ConnectFailed, errorCode } from './connect.ts';
import type { ModelFailureReason } from './failure.ts';

/** What is sent. The body is a string so that the bytes signed are the bytes sent. */
export interface Outgoing {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How one request to a webhook ended. */
export type Exchange =
  | { readonly kind: 'answered'; readonly contentType: string; readonly text: string }
  | { readonly kind: 'address_refused'; readonly fault: AddressFault }
  | {
      readonly kind: 'failed';
      readonly reason: ModelFailureReason;
      /** For the log. */
      readonly code?: string;
      readonly status?: number;
      /** The `Retry-After` field as it came; for `retryAfterMs`, not for showing. */
      readonly retryAfter?: string;
    };

/** Answers are read up to this many bytes; a longer one is dropped at once, whatever its Content-Length says. */
export const ANSWER_MAX_BYTES = 1024 * 1024;

/** An answer's header block is read up to this many bytes; past it the request fails. */
const HEADER_MAX_BYTES = 16 * 1024;

/**
 * One POST on a connection of its own, closed afterwards: an address is judged for every request, and no idle
 * connection can be half closed when the next request needs it. Follows no redirect, never reads the body of
 * an error, accepts no content encoding. `signal` is the only time limit and covers connect, headers and body.
 */
export async function exchange(
  outgoing: Outgoing,
  connect: buildConnector.connector,
  signal: AbortSignal,
): Promise<Exchange> {
  const client = new Client(outgoing.url.origin, {
    connect,
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: HEADER_MAX_BYTES,
  });
  // undici hears a signal only once it has a connection; destroying the client ends resolving and connecting too.
  const destroy = () => void client.destroy().catch(() => {});
  signal.addEventListener('abort', destroy);
  try {
    if (signal.aborted) return { kind: 'failed', reason: 'timeout' };
    const { statusCode, headers, body } = await client.request({
      method: 'POST',
      path: `${outgoing.url.pathname}${outgoing.url.search}`,
      headers: outgoing.headers,
      body: outgoing.body,
    });
    if (statusCode < 200 || statusCode > 299) {
      const retryAfter = single(headers['retry-after']);
      return {
        kind: 'failed',
        reason: statusCode > 299 && statusCode < 400 ? 'redirect' : 'http_status',
        status: statusCode,
        ...(retryAfter === '' ? {} : { retryAfter }),
      };
    }
    const encoding = single(headers['content-encoding']).trim().toLowerCase();
    if (encoding !== '' && encoding !== 'identity') {
      return { kind: 'failed', reason: 'content_encoding', status: statusCode };
    }
    if (Number(single(headers['content-length'])) > ANSWER_MAX_BYTES) {
      return { kind: 'failed', reason: 'answer_too_large', status: statusCode };
    }
    const read = await readCapped(body);
    if (read === 'answer_too_large' || read === 'answer_not_utf8') {
      return { kind: 'failed', reason: read, status: statusCode };
    }
    return { kind: 'answered', contentType: single(headers['content-type']), text: read.text };
  } catch (error) {
    if (error instanceof AddressRefused) return { kind: 'address_refused', fault: error.fault };
    if (signal.aborted) return { kind: 'failed', reason: 'timeout' };
    if (error instanceof ConnectFailed) return { kind: 'failed', reason: 'connect_failed', code: error.code };
    return { kind: 'failed', reason: 'connection_lost', code: errorCode(error) };
  } finally {
    signal.removeEventListener('abort', destroy);
    // Ends the socket in every case: an endless or dripping body stops here.
    destroy();
  }
}

/** A header's value; of a repeated one the first. */
function single(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

async function readCapped(
  body: Readable,
): Promise<{ text: string } | 'answer_too_large' | 'answer_not_utf8'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_MAX_BYTES) return 'answer_too_large';
    chunks.push(chunk);
  }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks)) };
  } catch {
    return 'answer_not_utf8';
  }
}
