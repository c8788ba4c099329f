import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Engine } from './engine.ts';

/** How a container's process ended, as the engine reports it; `lost` where the engine cannot tell. */
export type Exit =
  | { readonly kind: 'exited'; readonly exitCode: number; readonly oomKilled: boolean }
  | { readonly kind: 'lost' };

/** The stream has ended already: the report follows within some 5 ms, or the engine has let go of a live container. */
const EXIT_REPORT_MAX_MS = 800;
/** 128 + SIGKILL. */
const EXIT_SIGKILL = 137;
/**
 * The kernel's out-of-memory report travels apart from the exit. Seen 15 ms behind it on a busy machine: then the
 * engine never sets its flag (moby #38352), and only its list of events has it. Where the report is lost for good
 * (about 1 in 100 on a machine at six times its load) the verdict is a crash: nothing else could not be forged.
 */
const OOM_REPORT_PAUSES_MS = [10, 20, 40, 80, 150];

/** Asks the engine how a container ended whose stream has ended. Bounded; never rejects. */
export async function observeExit(engine: Engine, id: string, clock: Clock): Promise<Exit> {
  try {
    await engine.wait(id, EXIT_REPORT_MAX_MS);
    const { running, exitCode, oomKilled } = await engine.state(id);
    if (running) {
      return { kind: 'lost' };
    }
    const late = exitCode === EXIT_SIGKILL && !oomKilled && (await lateOomReport(engine, id, clock));
    return { kind: 'exited', exitCode, oomKilled: oomKilled || late };
  } catch {
    return { kind: 'lost' };
  }
}

async function lateOomReport(engine: Engine, id: string, clock: Clock): Promise<boolean> {
  try {
    for (const pauseMs of OOM_REPORT_PAUSES_MS) {
      await delay(pauseMs);
      if (await engine.reportedOom(id, clock.now())) {
        return true;
      }
    }
  } catch {
    // An engine without such events: its flag is all there is.
  }
  return false;
}

/**
 * The verdict on a container that ended by itself and left no valid answer. Out of memory takes both signs: the
 * flag alone is also set when only a child died, and an exit code alone can be chosen by the function.
 */
export function exitVerdict(exit: Extract<Exit, { kind: 'exited' }>): 'out_of_memory' | 'sandbox_crashed' {
  return exit.oomKilled && exit.exitCode === EXIT_SIGKILL ? 'out_of_memory' : 'sandbox_crashed';
}
