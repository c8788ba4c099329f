import type Docker from 'dockerode';
import type { Clock } from '../clock.ts';
import { ContainerStream } from './container-stream.ts';
import type { Engine } from './engine.ts';
import { EngineError } from './engine-call.ts';
import type { Fleet, Place } from './fleet.ts';
import { type Ending, EXIT_GRACE_MS, followJob } from './follow.ts';
import { FRAME_READY, FrameReader } from './frames.ts';
import type { ContainerJob } from './job.ts';

/** What a harness says of itself before it has seen anything of a request. */
export interface HarnessReport {
  readonly python: string;
  /** Modules of the setup that the image lacks, `m` or `m.name`. */
  readonly missing: readonly string[];
}

/** A container with a harness that waits for its job. It is used once, or never. */
export interface ReadyContainer {
  readonly id: string;
  /** Id of its image. */
  readonly image: string;
  readonly harness: HarnessReport;
  /** False once its stream has ended: it has died, or the engine has gone. */
  readonly alive: boolean;
  /** Resolves when `alive` turns false. */
  readonly ended: Promise<void>;
  /** Sends the job and follows it to its end, which `signal` brings forward. Called once. Never rejects. */
  run(job: ContainerJob, signal: AbortSignal): Promise<Ending>;
  /** Removes it; resolves when that is confirmed or given up. */
  retire(): Promise<void>;
}

export interface StartOptions {
  readonly engine: Engine;
  readonly fleet: Fleet;
  /** Taken from the fleet; given back if nothing was created. */
  readonly place: Place;
  readonly clock: Clock;
  readonly spec: Docker.ContainerCreateOptions;
  /** SETUP frame. */
  readonly setup: Buffer;
  readonly signal: AbortSignal;
}

/** From start to READY: importing takes some 30 ms, seconds on a busy machine. Past it the start has failed. */
const READY_MAX_MS = 15_000;
const READY_MAX_BYTES = 64 * 1024;

/** A container whose harness has said that it is ready, before it is known what for. */
export interface StartedHarness {
  readonly id: string;
  readonly stream: ContainerStream;
  readonly report: HarnessReport;
}

/**
 * Creates, attaches to and starts one container and waits for its harness: create -> attach (before the start, so
 * that no byte is missed) -> start -> SETUP -> READY. Rejects with an EngineError, and removes what it created.
 */
export async function startHarness(options: StartOptions): Promise<StartedHarness> {
  const { engine, fleet, place, spec, signal } = options;
  let id: string;
  try {
    id = await engine.create(spec);
  } catch (error) {
    place.cancel();
    throw error;
  }
  place.created(id);
  let stream: ContainerStream | null = null;
  try {
    const reader = new FrameReader(FRAME_READY, READY_MAX_BYTES);
    stream = new ContainerStream(await engine.attach(id, signal), reader, READY_MAX_BYTES);
    await engine.start(id, signal);
    stream.send([options.setup]);
    return { id, stream, report: await harnessReport(stream, reader, signal) };
  } catch (error) {
    stream?.drop();
    void fleet.retire(id);
    throw error;
  }
}

/** The same for a container that takes one job. */
export async function startContainer(options: StartOptions): Promise<ReadyContainer> {
  const { id, stream, report } = await startHarness(options);
  return readyContainer(options, id, stream, report);
}

function readyContainer(
  options: StartOptions,
  id: string,
  stream: ContainerStream,
  harness: HarnessReport,
): ReadyContainer {
  const { engine, fleet, clock, spec, signal } = options;
  let answered = false;
  return {
    id,
    image: spec.Image ?? '',
    harness,
    get alive() {
      return stream.alive;
    },
    ended: stream.ended,
    async run(job, caller) {
      const ending = await followJob({ id, stream, engine, clock }, job, caller);
      answered = ending.kind === 'answered';
      return ending;
    },
    async retire() {
      if (answered) {
        // A harness that exits by itself is cheaper to remove than one that must be killed.
        await stream.until(() => stream.overrun, EXIT_GRACE_MS, signal);
      }
      stream.drop();
      await fleet.retire(id);
    },
  };
}

/** Waits for READY. Rejects if the container ends, says something else or takes too long. */
async function harnessReport(
  stream: ContainerStream,
  reader: FrameReader,
  signal: AbortSignal,
): Promise<HarnessReport> {
  const end = await stream.until(() => reader.state !== 'reading' || stream.overrun, READY_MAX_MS, signal);
  if (end === 'ended') {
    throw new EngineError('refused', 'the container ended before it was ready');
  }
  if (end !== 'done') {
    throw new EngineError(end === 'aborted' ? 'cancelled' : 'timeout', 'the container was not ready in time');
  }
  const report = readReady(reader);
  if (report === null) {
    throw new EngineError('refused', 'the container said something else than that it is ready');
  }
  return report;
}

/** A READY frame's content, or null: `{"protocol": 1, "python", "missing", "pid"}` and nothing behind it. */
function readReady(reader: FrameReader): HarnessReport | null {
  try {
    const ready: unknown = JSON.parse(reader.payload().toString('utf8'));
    const { protocol, python, missing } = ready as Record<string, unknown>;
    const fits =
      protocol === 1 && typeof python === 'string' && Array.isArray(missing) && reader.trailingBytes === 0;
    return fits ? { python, missing: missing.map(String) } : null;
  } catch {
    return null;
  }
}
