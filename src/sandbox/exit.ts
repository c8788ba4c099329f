import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from './engine.ts';

/** How a container's process ended, as the engine reports it; `lost` where the engine cannot tell. */
export type Exit =
  | { readonly kind: 'exited'; readonly exitCode: number; readonly oomKilled: boolean }
  | { readonly kind: 'lost' };

/** The stream has ended already: the report follows within some 5 ms, or the engine has let go of a live container. */
const EXIT_REPORT_MAX_MS = 800;
/** 128 + SIGKILL. */
const EXIT_SIGKILL = 137;
/** The kernel's out-of-memory report travels apart from the exit and may come after it. */
const OOM_REPORT_PAUSES_MS = [10, 20, 40, 80];

/** Asks the engine how a container ended whose stream has ended. Bounded; never rejects. */
export async function observeExit(engine: Engine, id: string): Promise<Exit> {
  try {
    await engine.wait(id, EXIT_REPORT_MAX_MS);
    let state = await engine.state(id);
    for (const pauseMs of OOM_REPORT_PAUSES_MS) {
      if (state.exitCode !== EXIT_SIGKILL || state.oomKilled) {
        break;
      }
      await delay(pauseMs);
      state = await engine.state(id);
    }
    return state.running
      ? { kind: 'lost' }
      : { kind: 'exited', exitCode: state.exitCode, oomKilled: state.oomKilled };
  } catch {
    return { kind: 'lost' };
  }
}

/**
 * The verdict on a container that ended by itself and left no valid answer. Out of memory takes both signs: the
 * flag alone is also set when only a child died, and an exit code alone can be chosen by the function.
 */
export function exitVerdict(exit: Extract<Exit, { kind: 'exited' }>): 'out_of_memory' | 'sandbox_crashed' {
  return exit.oomKilled && exit.exitCode === EXIT_SIGKILL ? 'out_of_memory' : 'sandbox_crashed';
}
