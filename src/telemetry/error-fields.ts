/** What a log line tells of an error: never its message, which can hold a piece of the data it was about. */
export interface ErrorFields {
  readonly name: string;
  readonly code?: string | number;
  /** An HTTP status, such as the engine's. */
  readonly status?: number;
  readonly frames?: readonly string[];
  readonly cause?: ErrorFields;
}

const MAX_CAUSES = 3;
const MAX_FRAMES = 12;
const NAME = /^[A-Za-z][A-Za-z0-9]{0,63}$/;
const CODE = /^[A-Z][A-Z0-9_]{1,63}$/;
const FRAME = /^ {4}at (?:[\w$.<>#[\] ]{1,120} \()?((?:node:|file:\/\/|\/)[^()\s]{1,200}:\d+:\d+)\)?$/;

/** An error as class, code and stack frames, down to the third cause. Anything that is no Error is its type. */
export function errorFields(error: unknown, depth = 0): ErrorFields {
  if (!(error instanceof Error)) {
    return { name: error === null ? 'null' : typeof error };
  }
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  const frames = stackFrames(error);
  return {
    name: NAME.test(error.name) ? error.name : 'Error',
    ...((typeof code === 'string' && CODE.test(code)) || Number.isSafeInteger(code)
      ? { code: code as string | number }
      : {}),
    ...(Number.isSafeInteger(statusCode) ? { status: statusCode as number } : {}),
    ...(frames.length > 0 ? { frames } : {}),
    ...(error.cause !== undefined && depth < MAX_CAUSES - 1
      ? { cause: errorFields(error.cause, depth + 1) }
      : {}),
  };
}

/**
 * The frames below the message. A message may have lines that look like frames, so it is cut off as a whole by
 * its own text; a stack that does not begin with its message (it was changed later) tells nothing.
 */
function stackFrames(error: Error): string[] {
  const { stack, message } = error;
  if (typeof stack !== 'string' || typeof message !== 'string') {
    return [];
  }
  const start = message === '' ? 0 : stack.indexOf(message);
  const header = stack.slice(0, Math.max(start, 0));
  // Before the message stands its class only: `TypeError: `, `TypeError [ERR_X]: `.
  if (start === -1 || !/^(?:[\w$]{1,64}(?: \[\w{1,64}\])?: )?$/.test(header)) {
    return [];
  }
  const rest = stack.slice(start + message.length).split('\n');
  if (message === '' ? !/^[\w$]{1,64}(?: \[\w{1,64}\])?$/.test(rest[0] ?? '') : rest[0] !== '') {
    return [];
  }
  return rest
    .slice(1, MAX_FRAMES + 1)
    .map((line) => FRAME.exec(line)?.[1])
    .filter((place) => place !== undefined);
}
