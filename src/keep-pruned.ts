import type { Clock } from './clock.ts';
import type { Ledger } from './metering/ledger.ts';
import type { StepObserver } from './step/observer.ts';

const PRUNE_EVERY_MS = 24 * 3600 * 1000;

/** Removes journal rows past their retention, now and daily. */
export function keepPruned(
  ledger: Ledger,
  days: number,
  clock: Clock,
  observer: StepObserver,
): NodeJS.Timeout {
  const prune = (): void => {
    const before = new Date(clock.now().getTime() - days * 24 * 3600 * 1000);
    ledger.prune(before).catch((error: unknown) => observer.unexpected('ledger_prune', error));
  };
  prune();
  return setInterval(prune, PRUNE_EVERY_MS).unref();
}
