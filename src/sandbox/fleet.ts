import type { Engine } from './engine.ts';
import { toEngineError } from './engine-call.ts';
import type { SandboxObserver } from './observer.ts';

/** A container's place in the fleet, held from before it is created until its removal is confirmed. */
export interface Place {
  /** The container was created: from here on its removal is what frees the place. */
  created(id: string): void;
  /** It never was created, as far as is known. */
  cancel(): void;
}

/** Pauses between attempts at a removal: after the last one the container is left to the reaper, and counted. */
const RETRY_PAUSES_MS = [50, 200, 500, 1000, 2000, 4000] as const;

/**
 * The containers this instance has on the engine, and their removal. A place is free again only when the engine
 * has confirmed that its container is gone: else a slow engine would be given ever more to run.
 */
export class Fleet {
  readonly #engine: Engine;
  readonly #observer: SandboxObserver;
  readonly #onFree: () => void;
  readonly #removals = new Map<string, Promise<void>>();
  readonly #ids = new Set<string>();
  #uncreated = 0;
  #closed = false;

  /** `onFree` is called after each place that became free. */
  constructor(engine: Engine, observer: SandboxObserver, onFree: () => void) {
    this.#engine = engine;
    this.#observer = observer;
    this.#onFree = onFree;
  }

  /** Containers that there are or may be, those being removed included. */
  get size(): number {
    return this.#ids.size + this.#uncreated;
  }

  get removing(): number {
    return this.#removals.size;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  reserve(): Place {
    this.#uncreated += 1;
    let open = true;
    const settle = (): boolean => {
      const first = open;
      if (first) {
        this.#uncreated -= 1;
      }
      open = false;
      return first;
    };
    return {
      created: (id) => {
        if (settle()) {
          this.#ids.add(id);
        }
      },
      cancel: () => {
        if (settle()) {
          this.#onFree();
        }
      },
    };
  }

  /**
   * Removes a container by force, with retries; resolves when that is confirmed or given up, never rejects.
   * Asking again while it is under way waits for the same removal.
   */
  retire(id: string): Promise<void> {
    const underWay = this.#removals.get(id);
    if (underWay !== undefined) {
      return underWay;
    }
    const removal = this.#remove(id).finally(() => {
      this.#removals.delete(id);
      this.#ids.delete(id);
      this.#observer.containers('removing', this.#removals.size);
      this.#onFree();
    });
    this.#removals.set(id, removal);
    this.#observer.containers('removing', this.#removals.size);
    return removal;
  }

  /** Removes all there are, for the last time: an engine that is away is not waited for. */
  async retireAll(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#ids].map((id) => this.retire(id)));
  }

  async #remove(id: string): Promise<void> {
    for (let failures = 0; ; ) {
      try {
        await this.#engine.remove(id);
        return;
      } catch (error) {
        const { fault } = toEngineError(error);
        // An engine that is away has not refused: it is asked until it is back, and nothing can be started meanwhile.
        failures += fault === 'unreachable' && !this.#closed && failures === RETRY_PAUSES_MS.length ? 0 : 1;
        const pauseMs = RETRY_PAUSES_MS[failures - 1];
        if (pauseMs === undefined) {
          this.#observer.removalFailed();
          this.#observer.unexpected('container removal', error);
          return;
        }
        // 409: a removal is in progress, which on a busy engine takes seconds. 500: seen where the engine found its own
        // directory not yet empty.
        await pause(pauseMs);
      }
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
