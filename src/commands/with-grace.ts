import closeWithGrace from 'close-with-grace';

/** What a command runs until it is told to end. */
export interface Ending {
  /** Logs what ended the process, when it was not a signal, or what kept it from closing. */
  failed(error: unknown): void;
  close(): Promise<void>;
}

/** How long closing may take after the grace of running steps; past it the process ends with 1 all the same. */
const CLOSE_MAX_MS = 15_000;

/**
 * Ends what `starting` comes to when a signal or an unexpected error tells the process to end: with 0 after a signal,
 * with 1 after an error, at the second signal, or when closing takes too long. From the first moment on: a signal
 * during the start is heeded when there is something to close. `skip`: signals that mean something else. `withdraw`
 * takes it back where nothing started.
 */
export function withGrace(
  graceSeconds: number,
  starting: Promise<Ending | { readonly faults: readonly string[] }>,
  options: { readonly ending?: () => void; readonly skip?: readonly 'SIGHUP'[] } = {},
): { withdraw(): void } {
  const handle = closeWithGrace(
    {
      delay: graceSeconds * 1000 + CLOSE_MAX_MS,
      skip: [...(options.skip ?? [])],
      logger: false,
      onSecondSignal: () => note('told twice to end: ends at once'),
      onTimeout: () => note('closing took too long: ends without it'),
    },
    async ({ err }) => {
      options.ending?.();
      const started = await starting.catch(failedStart);
      if ('faults' in started) {
        return;
      }
      if (err !== undefined) {
        started.failed(err);
      }
      await started.close().catch((error: unknown) => {
        started.failed(error);
        throw error;
      });
    },
  );
  return { withdraw: () => handle.uninstall() };
}

/** A bug or a broken installation, before there is a log: nothing else would say why the process ends. */
function failedStart(error: unknown): never {
  note(`the start failed: ${error instanceof Error ? error.stack : String(error)}`);
  throw error;
}

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
