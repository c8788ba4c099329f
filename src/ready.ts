import type { CheckState } from './contract/readiness.ts';
import type { Meter } from './metering/permit.ts';
import type { Sandbox } from './sandbox/port.ts';
import type { StepObserver } from './step/observer.ts';

/** The state of everything a step needs, each part at most two seconds old. */
export type Ready = () => Promise<readonly CheckState[]>;

/** Asks the sandbox (engine, image, self-test) and the ledger. A pack that cannot be read stops the start. */
export function readyOf(sandbox: Sandbox, meter: Meter, observer: StepObserver): Ready {
  return async () => {
    const [states, ledger] = await Promise.all([sandbox.readiness(), meter.ready()]);
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
