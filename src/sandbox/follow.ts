import type { Clock } from '../clock.ts';
import { abortedByDeadline } from './abort.ts';
import type { ContainerStream } from './container-stream.ts';
import type { Engine } from './engine.ts';
import type { MeasuredUsage } from './engine-replies.ts';
import { exitVerdict, observeExit } from './exit.ts';
import { FRAME_ANSWER, FrameReader } from './frames.ts';
import type { ContainerJob } from './job.ts';
import type { KillReason } from './port.ts';

/** How a job ended, judged from outside: our clock, our byte count, the engine's report. */
export type Ending = {
  /** From the first byte sent until answer, exit or kill. */
  readonly wallNs: bigint;
  readonly outputBytes: number;
  readonly exitCode: number | null;
  /**
   * What the engine measured, where the run was ended by us. One that answers is gone within some 30 ms, and of a
   * container that has ended the engine tells nothing; to ask about it first would hold up its answer by the 6 ms that
   * asking takes at the least (Docker 20.10; a second where another reading is under way), as long as a small run. So an
   * answer has the harness's own reading.
   */
  readonly measured: MeasuredUsage | null;
} & (
  | { readonly kind: 'answered'; readonly payload: Buffer }
  | { readonly kind: 'killed'; readonly reason: KillReason }
);

/** A harness that has answered exits within some 30 ms: one that has not by then did not write that answer. */
export const EXIT_GRACE_MS = 800;

/** A look at a run's usage before its end, for which it may go on so much longer; past it there is none. */
const USAGE_MAX_MS = 150;

/** A container that is ready, and the engine it runs on. */
export interface JobSite {
  readonly id: string;
  readonly stream: ContainerStream;
  readonly engine: Engine;
  readonly clock: Clock;
}

/**
 * Sends the job, which makes the container untrusted from its first byte on, and follows it to its end. An answer
 * counts if it is sealed, or if the container then exits with 0 and without another byte. Never rejects.
 */
export async function followJob(site: JobSite, job: ContainerJob, signal: AbortSignal): Promise<Ending> {
  const { clock, stream } = site;
  const reader = new FrameReader(FRAME_ANSWER, job.answerMaxBytes);
  stream.expect(reader, job.outputMaxBytes);
  const startNs = clock.monotonicNs();
  stream.send(job.frame);
  const end = await stream.until(() => reader.state === 'complete' || stream.overrun, job.wallMs, signal);
  const wallNs = clock.monotonicNs() - startNs;
  if (end === 'aborted') {
    return kill(site, abortReason(signal), wallNs);
  }
  if (end === 'late') {
    // Charged for its limit, not for how early or late our timer was.
    return kill(site, 'timeout', BigInt(Math.round(job.wallMs * 1e6)));
  }
  if (stream.overrun) {
    return kill(site, 'output_too_large', wallNs);
  }
  if (end === 'done' && reader.trailingBytes === 0 && job.sealed(reader.payload())) {
    // The seal is the harness's word that it exits with 0 next.
    return answered(site, reader, 0, wallNs);
  }
  return confirm(site, reader, wallNs, job.wallMs, signal);
}

/** The stream has ended, or there is an answer that a clean end must confirm. */
async function confirm(
  site: JobSite,
  reader: FrameReader,
  wallNs: bigint,
  wallMs: number,
  signal: AbortSignal,
): Promise<Ending> {
  const { clock, engine, id, stream } = site;
  const end = await stream.until(() => stream.overrun, EXIT_GRACE_MS, signal);
  if (end === 'aborted') {
    return kill(site, abortReason(signal), wallNs);
  }
  if (end === 'done') {
    return kill(site, 'output_too_large', wallNs);
  }
  if (end === 'late') {
    return kill(site, 'sandbox_crashed', wallNs);
  }
  const exit = await observeExit(engine, id, clock);
  const { outputBytes } = stream;
  if (exit.kind === 'lost') {
    return { kind: 'killed', reason: 'sandbox_lost', exitCode: null, wallNs, outputBytes, measured: null };
  }
  if (exit.exitCode === 0 && reader.state === 'complete' && reader.trailingBytes === 0) {
    return answered(site, reader, exit.exitCode, wallNs);
  }
  // Past its limit it was ended by a backstop inside, before our timer came to it on a machine in trouble.
  const late = wallNs >= BigInt(Math.round(wallMs * 1e6));
  const reason = late ? 'timeout' : exitVerdict(exit);
  return { kind: 'killed', reason, exitCode: exit.exitCode, wallNs, outputBytes, measured: null };
}

function answered(site: JobSite, reader: FrameReader, exitCode: number, wallNs: bigint): Ending {
  const { outputBytes } = site.stream;
  return { kind: 'answered', payload: reader.payload(), exitCode, wallNs, outputBytes, measured: null };
}

/** SIGKILL: Python as PID 1 does not hear SIGTERM. The verdict is ours, whatever the container does meanwhile. */
async function kill(site: JobSite, verdict: KillReason, wallNs: bigint): Promise<Ending> {
  const { engine, id, stream } = site;
  // Let go of first: the engine does not see a container's end while output waits for a reader who has stopped.
  stream.drop();
  const measured = await engine.usage(id, USAGE_MAX_MS).catch(() => null);
  const killed = await killOrPing(engine, id);
  // Our clock cannot tell a function that spins from an engine that went away with its answer.
  const reason = verdict === 'timeout' && !killed ? 'sandbox_lost' : verdict;
  return { kind: 'killed', reason, exitCode: null, wallNs, outputBytes: stream.outputBytes, measured };
}

/** Kills a container; false if the engine has gone. One that is only too busy to confirm in time has not. */
async function killOrPing(engine: Engine, id: string): Promise<boolean> {
  try {
    await engine.kill(id);
    return true;
  } catch {
    return engine.ping().then(
      () => true,
      () => false,
    );
  }
}

function abortReason(signal: AbortSignal): KillReason {
  return abortedByDeadline(signal) ? 'timeout' : 'cancelled';
}
