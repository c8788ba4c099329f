import type { ProblemDocument } from '../contract/answer.ts';

/**
 * The service refused: an RFC 9457 problem (docs/errors.md). `retryable`: the same request may do better later, after
 * `retryAfterSeconds` where that is said. Codes that are newer than this client come through as they are.
 */
export class ComputeStepProblem extends Error {
  override readonly name = 'ComputeStepProblem';
  readonly code: ProblemDocument['code'];
  readonly status: number;
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | null;
  /** It is the answer kept for the Idempotency-Key: only a new key leads to another one. */
  readonly replayed: boolean;
  /** The whole document, with the members that only some codes have, such as `meter`, `used` and `limit`. */
  readonly document: ProblemDocument;

  constructor(status: number, document: ProblemDocument, retryAfterSeconds: number | null, replayed = false) {
    super(`${document.code}: ${document.detail}`);
    this.code = document.code;
    this.status = status;
    this.retryable = document.retryable;
    this.retryAfterSeconds = retryAfterSeconds;
    this.replayed = replayed;
    this.document = document;
  }
}

/**
 * Why there is no answer: the connection failed, the time was up, or what came is not an answer of the service (an
 * error page of a proxy, a redirect, more bytes than `answerMaxBytes`).
 */
export type ConnectionFault = 'network' | 'timeout' | 'answer';

/**
 * No answer of the service came. Whether it did the work is not known: send the same request again with the same
 * Idempotency-Key, and nothing runs or counts twice. The message holds nothing of what was sent or received.
 */
export class ComputeStepConnectionError extends Error {
  override readonly name = 'ComputeStepConnectionError';
  readonly reason: ConnectionFault;
  /** HTTP status of what came, or null where nothing did. */
  readonly status: number | null;

  constructor(reason: ConnectionFault, message: string, status: number | null = null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.status = status;
  }
}

/** Reads a problem out of an answer's text; null where it is none. */
export function readProblem(status: number, text: string, headers: Headers): ComputeStepProblem | null {
  const document = parsed(text);
  if (typeof document !== 'object' || document === null) return null;
  const { code, detail, retryable, retry_after_seconds: seconds } = document as Partial<ProblemDocument>;
  if (typeof code !== 'string' || typeof detail !== 'string' || typeof retryable !== 'boolean') return null;
  const retryAfter = headers.get('retry-after');
  const inHeader = /^\d{1,9}$/.test(retryAfter ?? '') ? Number(retryAfter) : null;
  const wait = typeof seconds === 'number' ? seconds : inHeader;
  const replayed = headers.get('idempotency-replayed') === 'true';
  return new ComputeStepProblem(status, document as ProblemDocument, wait, replayed);
}

/** JSON, or undefined. The parser's own error is dropped: it quotes the text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
