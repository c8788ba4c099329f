import { LedgerUnavailable } from './ledger.ts';

/** Told, for the log: how many writes are kept, or why one was given up. */
export interface KeptWritesEvents {
  readonly kept: (waiting: number) => void;
  readonly dropped: (reason: unknown) => void;
}

/** Writes that must reach the ledger some time, in the order they came in. */
export interface KeptWrites {
  readonly size: number;
  /** Writes now, or keeps `write` and goes on trying. Never throws. */
  write(write: () => Promise<void>): Promise<void>;
  /** Tries what is kept, oldest first. False: something is left. Never throws. */
  flush(): Promise<boolean>;
  /** A last try; what is left then is dropped, and recovery settles it. */
  close(): Promise<void>;
}

/**
 * The most that is kept. The meter opens no permit while something is, so this is several times the permits that
 * can be open at once. At the bound a write is dropped: its run stays *started* in the ledger, and the next
 * recovery charges it.
 */
const KEPT_MAX = 10_000;
const RETRY_FIRST_MS = 250;
const RETRY_MOST_MS = 5000;

/** Makes an empty keeper; its timer does not keep the process alive. */
export function createKeptWrites(events: KeptWritesEvents): KeptWrites {
  const waiting: (() => Promise<void>)[] = [];
  let flushing: Promise<boolean> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let retryMs = RETRY_FIRST_MS;
  let closed = false;

  /** True: written, or given up because trying again cannot help. */
  async function attempt(write: () => Promise<void>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (error) {
      if (error instanceof LedgerUnavailable) return false;
      // A fault of ours would be one each time, and block everything behind it.
      events.dropped(error);
      return true;
    }
  }

  async function drain(): Promise<boolean> {
    for (let head = waiting[0]; head !== undefined; head = waiting[0]) {
      if (!(await attempt(head))) {
        schedule();
        return false;
      }
      waiting.shift();
      retryMs = RETRY_FIRST_MS;
    }
    return true;
  }

  function flush(): Promise<boolean> {
    flushing ??= drain().finally(() => {
      flushing = null;
    });
    return flushing;
  }

  function schedule(): void {
    if (closed || timer !== null) return;
    timer = setTimeout(() => {
      timer = null;
      void flush();
    }, retryMs);
    timer.unref();
    retryMs = Math.min(retryMs * 2, RETRY_MOST_MS);
  }

  return {
    get size() {
      return waiting.length;
    },
    async write(write) {
      // Behind what is kept already: an outcome is amended after its run was settled.
      if (waiting.length === 0 && (await attempt(write))) return;
      if (closed || waiting.length >= KEPT_MAX) {
        events.dropped(new LedgerUnavailable('Nothing more can be kept for the ledger.'));
        return;
      }
      waiting.push(write);
      events.kept(waiting.length);
      if (waiting.length === 1) schedule();
      else await flush();
    },
    flush,
    async close() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      closed = true;
      await flush();
      for (const _ of waiting.splice(0)) events.dropped(new LedgerUnavailable('The meter is closed.'));
    },
  };
}
