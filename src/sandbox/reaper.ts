import type { Clock } from '../clock.ts';
import { LABEL, LABEL_EXPIRES, LABEL_INSTANCE } from './container-spec.ts';
import type { Engine, ListedContainer } from './engine.ts';
import type { Fleet } from './fleet.ts';
import type { SandboxObserver } from './observer.ts';

export interface ReaperOptions {
  readonly engine: Engine;
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly instanceId: string;
  readonly observer: SandboxObserver;
}

const SWEEP_EVERY_MS = 30_000;
/** A container of ours this young may be one whose create call has not answered yet. */
const YOUNG_SECONDS = 60;

/**
 * Removes containers that nobody else will: past the expiry on their label, of this instance but not known to it,
 * or of any instance and found ended by two sweeps, since a live instance removes its own within seconds. Never one
 * that may be in use, and nothing without our label. Sweeps at `start` and every 30 s.
 */
export class Reaper {
  readonly #options: ReaperOptions;
  #timer: NodeJS.Timeout | null = null;
  #sweeping: Promise<void> | null = null;
  /** Those the last sweep found ended and left; at most as many as the engine has with our label. */
  #endedBefore: ReadonlySet<string> = new Set();

  constructor(options: ReaperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.sweep(), SWEEP_EVERY_MS);
    this.#timer.unref();
    void this.sweep();
  }

  stop(): void {
    if (this.#timer !== null) {
      clearInterval(this.#timer);
    }
  }

  /** Removes whatever carries this instance's label, known or not: for the end of its life. Never rejects. */
  async removeOwn(): Promise<void> {
    const { engine, fleet, instanceId } = this.#options;
    try {
      const own = await engine.list(`${LABEL_INSTANCE}=${instanceId}`);
      await Promise.all(own.map(({ id }) => fleet.retire(id)));
    } catch {
      // The engine is away: the next instance finds them by their expiry.
    }
  }

  /** One sweep; resolves when its removals have ended. Never rejects: an engine that is away is swept later. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = null;
    });
    return this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const { engine, fleet, clock } = this.#options;
    const nowSeconds = clock.now().getTime() / 1000;
    let found: readonly ListedContainer[];
    try {
      found = await engine.list(`${LABEL}=1`);
    } catch {
      return;
    }
    const endedBefore = this.#endedBefore;
    this.#endedBefore = new Set(found.filter(({ ended }) => ended).map(({ id }) => id));
    for (const container of found) {
      if (this.#isLost(container, nowSeconds) || this.#isHusk(container, endedBefore)) {
        await fleet.retire(container.id);
      }
    }
  }

  #isHusk({ id, ended }: ListedContainer, endedBefore: ReadonlySet<string>): boolean {
    return ended && endedBefore.has(id) && !this.#options.fleet.has(id);
  }

  #isLost({ id, labels, createdSeconds }: ListedContainer, nowSeconds: number): boolean {
    const { fleet, instanceId } = this.#options;
    if (fleet.has(id)) {
      return false;
    }
    const expires = labels[LABEL_EXPIRES] ?? '';
    if (/^\d{1,12}$/.test(expires) && Number(expires) < nowSeconds) {
      return true;
    }
    return labels[LABEL_INSTANCE] === instanceId && nowSeconds - createdSeconds > YOUNG_SECONDS;
  }
}
