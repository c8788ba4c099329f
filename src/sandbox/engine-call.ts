/** Why a call to the engine failed. `refused`: it answered with an error status. */
export type EngineFault = 'timeout' | 'cancelled' | 'unreachable' | 'refused';

/** The longest part of an engine's message that is kept: it goes into one line of a log. */
const MESSAGE_MAX_CHARS = 300;

/** A failed call to the engine. The message is for the log; it is the engine's own or a connection's. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly fault: EngineFault;
  /** The engine's HTTP status where it answered, else null. */
  readonly status: number | null;

  constructor(fault: EngineFault, message: string, status: number | null = null) {
    super(message.slice(0, MESSAGE_MAX_CHARS));
    this.fault = fault;
    this.status = status;
  }
}

/** Any failure of a call as an EngineError: with a status it was an answer, without one the engine is away. */
export function toEngineError(error: unknown): EngineError {
  if (error instanceof EngineError) {
    return error;
  }
  const message = error instanceof Error ? error.message.trim() : 'unknown error';
  const status =
    error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
      ? error.statusCode
      : null;
  return new EngineError(status === null ? 'unreachable' : 'refused', message, status);
}

/**
 * Makes one call to the engine that ends: with its answer, after `ms` milliseconds (`timeout`) or when `parent`
 * is aborted (`cancelled`), whichever is first. Rejects with an EngineError only. dockerode by itself waits for
 * ever, and an abort does not end a call whose answer broke off half-way; hence the race besides the signal.
 */
export function boundedCall<T>(
  ms: number,
  parent: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    let open = true;
    const end = (): boolean => {
      const first = open;
      open = false;
      clearTimeout(timer);
      parent?.removeEventListener('abort', onAbort);
      return first;
    };
    const giveUp = (error: EngineError): void => {
      if (end()) {
        reject(error);
        controller.abort();
      }
    };
    const onAbort = (): void => giveUp(new EngineError('cancelled', 'the call was cancelled'));
    const timer = setTimeout(
      () => giveUp(new EngineError('timeout', `the engine did not answer within ${ms} ms`)),
      ms,
    );
    if (parent?.aborted === true) {
      onAbort();
      return;
    }
    parent?.addEventListener('abort', onAbort, { once: true });
    call(controller.signal).then(
      (value) => {
        if (end()) {
          resolve(value);
        }
      },
      (error: unknown) => {
        if (end()) {
          reject(toEngineError(error));
        }
      },
    );
  });
}
