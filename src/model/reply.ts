declare const draftBrand: unique symbol;

/**
 * A function as a model or a caller wrote it: LF line ends, one newline at the end, no fence around it.
 * Not admitted yet. Only `readReply` and `draftOf` make one.
 */
export interface Draft {
  readonly source: string;
  readonly [draftBrand]: true;
}

/** Why there is no function in a reply. Closed set. */
export type NoFunctionReason = 'empty_reply' | 'no_function' | 'reply_too_large';

/** A reply without a function in it: an expected outcome, not an error. */
export interface NoFunction {
  readonly kind: 'no_function';
  readonly reason: NoFunctionReason;
}

/** Code that a caller hands in, as a Draft: CRLF becomes LF, the text ends in one newline; nothing else changes. */
export function draftOf(code: string): Draft {
  return { source: `${code.replaceAll('\r\n', '\n').replace(/\n+$/, '')}\n` } as Draft;
}

/** The function out of a model's reply. */
export function readReply(text: string): Draft | NoFunction {
  if (text.trim() === '') return { kind: 'no_function', reason: 'empty_reply' };
  return draftOf(text);
}
