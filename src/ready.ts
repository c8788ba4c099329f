import { type Clock, elapsedMs } from './clock.ts';
import type { CheckState } from './contract/readiness.ts';
import type { Meter } from './metering/permit.ts';
import type { Sandbox } from './sandbox/port.ts';
import type { StepObserver } from './step/observer.ts';

/** The state of everything a step needs, each part at most two seconds old. */
export type Ready = () => Promise<readonly CheckState[]>;

type LedgerState = Awaited<ReturnType<Meter['ready']>>;

/** How long a good answer of the ledger holds: it is a write to its disk, and nobody needs a key to ask for one. */
const LEDGER_FRESH_MS = 250;

/** Asks the sandbox (engine, image, self-test) and the ledger. A pack that cannot be read stops the start. */
export function readyOf(sandbox: Sandbox, meter: Meter, clock: Clock, observer: StepObserver): Ready {
  let good: { readonly ledger: LedgerState; readonly atNs: bigint } | null = null;
  let asking: Promise<LedgerState> | null = null;
  const ask = async (): Promise<LedgerState> => {
    const atNs = clock.monotonicNs();
    const ledger = await meter.ready();
    good = ledger.ok ? { ledger, atNs } : null;
    return ledger;
  };
  const ledgerState = async (): Promise<LedgerState> => {
    if (good !== null && elapsedMs(clock, good.atNs) < LEDGER_FRESH_MS) {
      return good.ledger;
    }
    // Probes that come at once share one answer: a slow ledger would get as many writes as there are connections.
    asking ??= ask().finally(() => {
      asking = null;
    });
    return asking;
  };
  return async () => {
    const [states, ledger] = await Promise.all([sandbox.readiness(), ledgerState()]);
    const all: readonly CheckState[] = [
      ...states,
      { check: 'pack', ok: true, detail: 'loaded' },
      { check: 'ledger', ...ledger },
    ];
    for (const state of all) {
      observer.readiness(state);
    }
    return all;
  };
}
