import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Problem } from '../contract/problem.ts';
import { problemAnswer } from './errors.ts';
import type { HttpLimits } from './limits.ts';

/** How much of a body is thrown away after its answer. */
export type Discard = Pick<HttpLimits, 'discardBytes' | 'discardMs'>;

/**
 * Answers a request whose body is still coming, and closes its connection when the rest has come, within bounds. The
 * whole answer is out before that. A connection that is closed on a sender gets a reset instead (RFC 9112, 9.6), and
 * then many clients report a broken pipe and never look at the answer.
 */
export function sendEarlyProblem(reply: FastifyReply, what: Problem, discard: Discard): FastifyReply {
  const { status, headers, bytes } = closing(what);
  return reply
    .code(status)
    .headers(headers)
    .send(Readable.from(answerThenRest(bytes, reply.request.raw, discard), { objectMode: false }));
}

/** The same while the framework waits for the body: it does not hand the request on any more. */
export function endEarly(reply: FastifyReply, what: Problem, discard: Discard): void {
  const { status, headers, bytes } = closing(what);
  reply.hijack();
  reply.raw.writeHead(status, headers);
  reply.raw.write(bytes);
  void discarded(reply.request.raw, discard).then(() => reply.raw.end());
}

function closing(what: Problem) {
  const { status, headers, body } = problemAnswer(what);
  const bytes = Buffer.from(body);
  return {
    status,
    bytes,
    headers: { ...headers, connection: 'close', 'content-length': String(bytes.byteLength) },
  };
}

async function* answerThenRest(
  answer: Buffer,
  request: IncomingMessage,
  discard: Discard,
): AsyncGenerator<Buffer> {
  yield answer;
  await discarded(request, discard);
}

/** Reads the rest of a body and keeps nothing; resolves when it is there, gone, too long or too slow. */
function discarded(request: IncomingMessage, { discardBytes, discardMs }: Discard): Promise<void> {
  return new Promise((resolve) => {
    let left = discardBytes;
    const timer = setTimeout(done, discardMs);
    function done(): void {
      clearTimeout(timer);
      request.off('data', count).off('end', done).off('close', done).off('error', done);
      resolve();
    }
    function count(chunk: Buffer): void {
      left -= chunk.byteLength;
      if (left < 0) {
        done();
      }
    }
    if (request.complete || request.destroyed) {
      done();
      return;
    }
    request.on('data', count).on('end', done).on('close', done).on('error', done).resume();
  });
}

/** Whether more of a request's body is to come. */
export function bodyIsComing(request: IncomingMessage): boolean {
  return !request.complete && !request.readableEnded;
}
