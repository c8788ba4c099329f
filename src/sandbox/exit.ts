import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Engine } from './engine.ts';

/** How a container's process ended, as the engine reports it; `lost` where the engine cannot tell. */
export type Exit =
  | {
      readonly kind: 'exited';
      readonly exitCode: number;
      readonly oomKilled: boolean;
      /** Another client of the engine asked it to kill the container. */
      readonly killedByOther: boolean;
    }
  | { readonly kind: 'lost' };

/**
 * The stream has ended already: the report follows within some 5 ms, or the engine has let go of a live container.
 * On an emulated machine it has been seen to take more than one second.
 */
const EXIT_REPORT_MAX_MS = 2000;
/** 128 + SIGKILL. */
export const EXIT_SIGKILL = 137;
/** The engine notes another client's kill after it has sent it: a moment behind the exit on a busy machine. */
const KILL_EVENT_PAUSES_MS = [0, 30, 100];

/** Asks the engine how a container ended that we did not kill and whose stream has ended. Bounded; never rejects. */
export async function observeExit(
  engine: Engine,
  id: string,
  clock: Clock,
  reportMaxMs = EXIT_REPORT_MAX_MS,
): Promise<Exit> {
  try {
    await engine.wait(id, reportMaxMs);
    const { running, exitCode, oomKilled } = await engine.state(id);
    if (running) {
      return { kind: 'lost' };
    }
    const unexplained = exitCode === EXIT_SIGKILL && !oomKilled;
    const cause = unexplained ? await reportedCause(engine, id, clock) : null;
    return {
      kind: 'exited',
      exitCode,
      oomKilled: oomKilled || cause === 'oom',
      killedByOther: cause === 'kill',
    };
  } catch {
    return { kind: 'lost' };
  }
}

/** What the engine's events say of a SIGKILL; null where nothing comes, also from an engine without such events. */
async function reportedCause(engine: Engine, id: string, clock: Clock): Promise<'oom' | 'kill' | null> {
  try {
    for (const pauseMs of KILL_EVENT_PAUSES_MS) {
      await delay(pauseMs);
      const { oom, kill } = await engine.reportedEnds(id, clock.now());
      if (oom || kill) {
        return oom ? 'oom' : 'kill';
      }
    }
  } catch {
    // The flag and the exit code are all there is then.
  }
  return null;
}

/**
 * The verdict on a container that ended by itself, within its time, and left no valid answer. Out of memory is a
 * SIGKILL that nobody sent: the engine loses about 1 in 100 of the kernel's reports on a machine at six times its
 * load (moby #38352), so its flag alone would call some of them crashes; and the flag is also set when only a child
 * died. The exit code cannot be chosen: the seccomp profile refuses to end with one from 128 on, PID 1 cannot be
 * killed from inside, and the CPU limit lies past the wall limit.
 */
export function exitVerdict(exit: Extract<Exit, { kind: 'exited' }>): 'out_of_memory' | 'sandbox_crashed' {
  return exit.exitCode === EXIT_SIGKILL && (exit.oomKilled || !exit.killedByOther)
    ? 'out_of_memory'
    : 'sandbox_crashed';
}
