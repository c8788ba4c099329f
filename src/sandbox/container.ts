import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import type { Clock } from '../clock.ts';
import { abortedByDeadline } from './abort.ts';
import { Demultiplexer } from './demultiplex.ts';
import type { Engine } from './engine.ts';
import { EngineError } from './engine-call.ts';
import { exitVerdict, observeExit } from './exit.ts';
import type { Fleet, Place } from './fleet.ts';
import { FRAME_ANSWER, FRAME_READY, FrameReader } from './frames.ts';
import type { KillReason } from './port.ts';

/** What a harness says of itself before it has seen anything of a request. */
export interface Readiness {
  readonly python: string;
  /** Modules of the setup that the image lacks, `m` or `m.name`. */
  readonly missing: readonly string[];
}

/** The one job of a container, and where it ends. */
export interface ContainerJob {
  readonly frame: readonly Buffer[];
  readonly wallMs: number;
  /** Largest ANSWER payload. */
  readonly answerMaxBytes: number;
  /** stdout and stderr together, in bytes; past it the container is killed. */
  readonly outputMaxBytes: number;
  /** Whether an ANSWER may be taken before the exit is known. */
  readonly sealed: (payload: Buffer) => boolean;
}

/** How a job ended, judged from outside: our clock, our byte count, the engine's report. */
export type Ending = {
  readonly wallNs: bigint;
  readonly outputBytes: number;
  readonly exitCode: number | null;
} & (
  | { readonly kind: 'answered'; readonly payload: Buffer }
  | { readonly kind: 'killed'; readonly reason: KillReason }
);

/** A container with a harness that waits for its job. It is used once, or never. */
export interface ReadyContainer {
  readonly id: string;
  /** Id of its image. */
  readonly image: string;
  readonly readiness: Readiness;
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
/** A harness that has answered exits at once: one that has not within this time did not write that answer. */
const EXIT_GRACE_MS = 800;

/**
 * Creates, attaches to and starts one container and waits for its harness: create -> attach (before the start, so
 * that no byte is missed) -> start -> SETUP -> READY. Rejects with an EngineError, and removes what it created.
 */
export async function startContainer(options: StartOptions): Promise<ReadyContainer> {
  const { engine, fleet, place, signal } = options;
  let id: string;
  try {
    id = await engine.create(options.spec);
  } catch (error) {
    place.cancel();
    throw error;
  }
  place.created(id);
  try {
    const stream = await engine.attach(id, signal);
    const container = new AttachedContainer(options, id, stream);
    try {
      await engine.start(id, signal);
      await container.becomeReady(options.setup, signal);
      return container;
    } catch (error) {
      container.drop();
      throw error;
    }
  } catch (error) {
    void fleet.retire(id);
    throw error;
  }
}

type Event = 'output' | 'ended';

class AttachedContainer implements ReadyContainer {
  readonly id: string;
  readonly image: string;
  readonly ended: Promise<void>;
  readonly #options: StartOptions;
  readonly #stream: Duplex;
  #reader = new FrameReader(FRAME_READY, READY_MAX_BYTES);
  #outputBytes = 0;
  #outputMaxBytes = READY_MAX_BYTES;
  #alive = true;
  #readiness: Readiness | null = null;
  #answered = false;
  #listener: (event: Event) => void = () => {};

  constructor(options: StartOptions, id: string, stream: Duplex) {
    this.#options = options;
    this.id = id;
    this.image = options.spec.Image ?? '';
    this.#stream = stream;
    const demultiplexer = new Demultiplexer((channel, piece) => {
      this.#outputBytes += piece.byteLength;
      // stderr counts against the cap and is dropped.
      if (channel === 'stdout') {
        this.#reader.push(piece);
      }
    });
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.#alive = false;
        this.#listener('ended');
        resolve();
      };
      stream.on('data', (chunk: Buffer) => {
        if (demultiplexer.push(chunk)) {
          this.#listener('output');
        } else {
          stream.destroy();
          end();
        }
      });
      stream.on('end', end);
      stream.on('close', end);
      // A reset is an end like any other: what it means is asked of the engine.
      stream.on('error', end);
    });
  }

  get alive(): boolean {
    return this.#alive;
  }

  get readiness(): Readiness {
    return this.#readiness ?? { python: '', missing: [] };
  }

  async becomeReady(setup: Buffer, signal: AbortSignal): Promise<void> {
    this.#stream.write(setup);
    const done = () => this.#reader.state !== 'reading' || this.#overrun();
    const event = await this.#until(done, READY_MAX_MS, signal);
    if (event === 'ended') {
      throw new EngineError('refused', 'the container ended before it was ready');
    }
    if (event !== 'done') {
      throw new EngineError(
        event === 'aborted' ? 'cancelled' : 'timeout',
        'the container was not ready in time',
      );
    }
    this.#readiness = readReady(this.#reader);
    if (this.#readiness === null) {
      throw new EngineError('refused', 'the container said something else than that it is ready');
    }
  }

  async run(job: ContainerJob, signal: AbortSignal): Promise<Ending> {
    const { clock } = this.#options;
    const reader = new FrameReader(FRAME_ANSWER, job.answerMaxBytes);
    this.#reader = reader;
    this.#outputBytes = 0;
    this.#outputMaxBytes = job.outputMaxBytes;
    const startNs = clock.monotonicNs();
    this.#send(job.frame);
    const event = await this.#until(() => reader.state === 'complete' || this.#overrun(), job.wallMs, signal);
    const wallNs = clock.monotonicNs() - startNs;
    if (event === 'aborted') {
      return this.#kill(abortReason(signal), wallNs);
    }
    if (event === 'late') {
      // Charged for its limit, not for how early or late our timer was.
      return this.#kill('timeout', BigInt(Math.round(job.wallMs * 1e6)));
    }
    if (this.#overrun()) {
      return this.#kill('output_too_large', wallNs);
    }
    if (event === 'done' && reader.trailingBytes === 0 && job.sealed(reader.payload())) {
      this.#answered = true;
      return {
        kind: 'answered',
        payload: reader.payload(),
        exitCode: 0,
        wallNs,
        outputBytes: this.#outputBytes,
      };
    }
    return this.#finish(reader, wallNs, signal);
  }

  /** The stream has ended, or an answer is there that must be confirmed by a clean end. */
  async #finish(reader: FrameReader, wallNs: bigint, signal: AbortSignal): Promise<Ending> {
    const event = this.#alive ? await this.#until(() => this.#overrun(), EXIT_GRACE_MS, signal) : 'ended';
    if (event === 'aborted') {
      return this.#kill(abortReason(signal), wallNs);
    }
    if (event === 'done') {
      return this.#kill('output_too_large', wallNs);
    }
    if (event === 'late') {
      return this.#kill('sandbox_crashed', wallNs);
    }
    const exit = await observeExit(this.#options.engine, this.id);
    const outputBytes = this.#outputBytes;
    if (exit.kind === 'lost') {
      return { kind: 'killed', reason: 'sandbox_lost', exitCode: null, wallNs, outputBytes };
    }
    const { exitCode } = exit;
    if (exitCode === 0 && reader.state === 'complete' && reader.trailingBytes === 0) {
      return { kind: 'answered', payload: reader.payload(), exitCode, wallNs, outputBytes };
    }
    return { kind: 'killed', reason: exitVerdict(exit), exitCode, wallNs, outputBytes };
  }

  /** SIGKILL: Python as PID 1 does not hear SIGTERM. The verdict is ours, whatever the container does meanwhile. */
  async #kill(verdict: KillReason, wallNs: bigint): Promise<Ending> {
    // Let go of first: the engine does not see a container's end while output waits for a reader who has stopped.
    this.drop();
    const killed = await killOrPing(this.#options.engine, this.id);
    // Our clock cannot tell a function that spins from an engine that went away with its answer.
    const reason = verdict === 'timeout' && !killed ? 'sandbox_lost' : verdict;
    return { kind: 'killed', reason, exitCode: null, wallNs, outputBytes: this.#outputBytes };
  }

  #overrun(): boolean {
    return this.#outputBytes > this.#outputMaxBytes;
  }

  #send(pieces: readonly Buffer[]): void {
    this.#stream.cork();
    for (const piece of pieces) {
      this.#stream.write(piece);
    }
    this.#stream.uncork();
  }

  /** Waits until `done` holds after some output, the stream ends, `ms` have passed or `signal` is aborted. */
  #until(
    done: () => boolean,
    ms: number,
    signal: AbortSignal,
  ): Promise<'done' | 'ended' | 'late' | 'aborted'> {
    return new Promise((resolve) => {
      const finish = (event: 'done' | 'ended' | 'late' | 'aborted'): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#listener = () => {};
        resolve(event);
      };
      const onAbort = (): void => finish('aborted');
      const timer = setTimeout(() => finish('late'), ms);
      this.#listener = (event) => {
        if (done()) {
          finish('done');
        } else if (event === 'ended') {
          finish('ended');
        }
      };
      if (signal.aborted) {
        finish('aborted');
      } else if (!this.#alive) {
        this.#listener('ended');
      } else {
        signal.addEventListener('abort', onAbort, { once: true });
      }
    });
  }

  async retire(): Promise<void> {
    // A harness that exits by itself is cheaper to remove than one that must be killed.
    if (this.#answered) {
      await this.#until(() => this.#overrun(), EXIT_GRACE_MS, this.#options.signal);
    }
    this.drop();
    await this.#options.fleet.retire(this.id);
  }

  drop(): void {
    this.#stream.destroy();
  }
}

/** A READY frame's content, or null: `{"protocol": 1, "python", "missing", "pid"}` and nothing behind it. */
function readReady(reader: FrameReader): Readiness | null {
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
