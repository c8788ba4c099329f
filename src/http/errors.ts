import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply } from 'fastify';
import { isProblem, PROBLEMS, type Problem, problem } from '../contract/problem.ts';
import type { StepObserver } from '../step/observer.ts';
import { type HttpAnswer, sendAnswer } from './http-answer.ts';

const MEDIA_TYPE = 'application/problem+json; charset=utf-8';
const DOCS = 'https://github.com/compute-step/compute-step/blob/main/docs/errors.md';

/** Told with these where whoever made the problem knows no better: nothing says that it would take long. */
const RETRY_AFTER_SECONDS = 1;
const WAITS: ReadonlySet<number> = new Set([429, 503]);

/** Seconds after which to try again, as far as that helps: always with 429 and 503. */
function retryAfterOf({ code, retryAfterSeconds }: Problem): number | undefined {
  return retryAfterSeconds ?? (WAITS.has(PROBLEMS[code].status) ? RETRY_AFTER_SECONDS : undefined);
}

/** A Problem as the body of an RFC 9457 answer. Its `cause` is left behind: that is for the log. */
export function problemBody(what: Problem): Record<string, unknown> {
  const { status, title, retryable } = PROBLEMS[what.code];
  const retryAfter = retryAfterOf(what);
  return {
    type: `${DOCS}#${what.code}`,
    title,
    status,
    code: what.code,
    detail: what.detail,
    retryable,
    ...(retryAfter === undefined ? {} : { retry_after_seconds: retryAfter }),
    ...what.extra,
  };
}

/** A Problem as an answer: its status, media type and `Retry-After`. */
export function problemAnswer(what: Problem): HttpAnswer {
  const retryAfter = retryAfterOf(what);
  return {
    status: PROBLEMS[what.code].status,
    headers: {
      'content-type': MEDIA_TYPE,
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
      ...(what.code === 'unauthorized' ? { 'www-authenticate': 'Bearer' } : {}),
    },
    body: JSON.stringify(problemBody(what)),
  };
}

/** Sends a Problem. */
export function sendProblem(reply: FastifyReply, what: Problem): FastifyReply {
  return sendAnswer(reply, problemAnswer(what));
}

/** Answers on a socket whose request could not even be parsed (slow, overlong or malformed), and closes it. */
export type AnswerUnparsed = (error: Error & { readonly code?: string }, socket: Socket) => void;

/** In place of an error's code: a request that was understood, but that node has no answer for. */
const CONNECT = 'CONNECT';

/**
 * Answers CONNECT as bytes that are no request. Node would close the connection without a word, under the answers that
 * are still to go out on it.
 */
export function refuseConnect(server: Server, answer: AnswerUnparsed): void {
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    // From here on node looks after nothing on this connection: not its errors, and not whether its client is there.
    socket.on('error', () => {}).resume();
    answer(Object.assign(new Error('CONNECT'), { code: CONNECT }), socket);
  });
}

/**
 * Makes it for one listener. Requests that came whole before get their answers first (RFC 9112, 9.3.2); whoever keeps
 * its side open for `ms` milliseconds after its own is cut off.
 */
export function unparsedAnswers(ms: number): AnswerUnparsed {
  const waiting = new WeakSet<Socket>();
  const answer: AnswerUnparsed = (error, socket) => {
    const { _httpMessage: answering } = socket as Socket & { readonly _httpMessage?: ServerResponse | null };
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
    } else if (answering?.req.complete === true) {
      // Each further piece of the same bytes is an error too.
      if (!waiting.has(socket)) {
        waiting.add(socket);
        // Behind node's own listener, which gives the socket to the next answer.
        answering.once('finish', () => {
          waiting.delete(socket);
          if (socket.writable) {
            answer(error, socket);
          }
        });
      }
    } else if (answering?.headersSent === true) {
      // Another head would be read as part of this answer.
      socket.destroy();
    } else {
      socket.end(problemBytes(unparsed(error.code)));
      // Who never ends its own side would keep the connection for ever: nothing that node times is open on it.
      const late = setTimeout(() => socket.destroy(), ms);
      socket.once('close', () => clearTimeout(late));
    }
  };
  return answer;
}

/** A Problem as an answer that closes its connection, where there is nobody to write the head. */
function problemBytes(what: Problem): string {
  const { status, title } = PROBLEMS[what.code];
  const body = JSON.stringify(problemBody(what));
  return `HTTP/1.1 ${status} ${title}\r\ncontent-type: ${MEDIA_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`;
}

function unparsed(code: string | undefined): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return problem('request_header_fields_too_large', 'The header fields must be at most 16 KiB together.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problem('request_timeout', 'Send the header fields and the body without long pauses.');
    case CONNECT:
      return problem('invalid_request', 'CONNECT is for proxies, and this service is none.');
    default:
      return problem('invalid_request', 'This is not a valid HTTP/1.1 request.');
  }
}

/** A Problem on its way through code that can only throw, such as a hook or a parser of the framework. */
export class ProblemError extends Error {
  readonly problem: Problem;
  constructor(what: Problem) {
    super(what.code);
    this.problem = what;
  }
}

/**
 * The public twin of an error. What the framework refuses gets its code by the framework's own; anything else is
 * a bug and tells the caller nothing, as its message may hold data.
 */
export function problemOf(error: unknown, bodyMaxBytes: number): Problem {
  if (error instanceof ProblemError) {
    return error.problem;
  }
  if (isProblem(error as object)) {
    return error as Problem;
  }
  const code = (error as Partial<FastifyError> | null)?.code;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return bodyTooLarge(bodyMaxBytes);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return problem('unsupported_media_type', 'Send the body with content-type: application/json.');
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return problem(
        'invalid_request',
        'The body must be a JSON document of the length that content-length says.',
      );
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      return problem('unsupported_media_type', 'Send the body with content-type: application/json.');
    case 'ECONNRESET':
      return problem('invalid_request', 'The connection closed before the body was complete.');
    case 'FST_ERR_MAX_PARAM_LENGTH':
    case 'FST_ERR_BAD_URL':
      return problem('not_found', 'The path is not a valid URL path.');
    default:
      return problem('internal_error', 'The service has a fault; its log has the id of this request.', {
        cause: error,
      });
  }
}

/** What is thrown, as its caller is told it. A bug is told to whoever operates the service too, under the same id. */
export function thrownProblem(
  error: unknown,
  id: string,
  { bodyMaxBytes, observer }: { readonly bodyMaxBytes: number; readonly observer: StepObserver },
): Problem {
  const what = problemOf(error, bodyMaxBytes);
  if (what.code !== 'internal_error') {
    return what;
  }
  observer.unexpected('http', error, id);
  return withId(what, id);
}

/** A problem with the id of its line in the log: whoever operates the service finds the cause there. */
export function withId(what: Problem, id: string): Problem {
  return { ...what, extra: { ...what.extra, id } };
}

/** `body_too_large`, which says how large a body may be. */
export function bodyTooLarge(bodyMaxBytes: number): Problem {
  return problem('body_too_large', `The body must be at most ${bodyMaxBytes} bytes (BODY_MAX_BYTES).`);
}
