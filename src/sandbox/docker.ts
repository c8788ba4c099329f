import { setTimeout as delay } from 'node:timers/promises';
import type { AdmittedFunction } from '../admission/admit.ts';
import type { Clock } from '../clock.ts';
import type { CheckState } from '../contract/readiness.ts';
import type { Permit } from '../metering/permit.ts';
import type { ReadyContainer } from './container.ts';
import type { SandboxData } from './data.ts';
import { createDockerEngine, type Engine } from './engine.ts';
import { toEngineError } from './engine-call.ts';
import { Fleet, type Place } from './fleet.ts';
import { containerJob } from './job.ts';
import { Launcher, MAX_IDLE_MS } from './launcher.ts';
import type { SandboxObserver } from './observer.ts';
import { ContainerPool } from './pool.ts';
import type { RunEvents, RunLimits, RunReport, Sandbox } from './port.ts';
import { type Ground, SandboxReadiness } from './readiness.ts';
import { Reaper } from './reaper.ts';
import { runReport } from './report.ts';
import { notStarted, RunsUnderWay } from './runs-under-way.ts';
import { Slots } from './slots.ts';

/** The operator's settings of a sandbox. Nothing of a request is among them. */
export interface DockerSandboxOptions {
  /** DOCKER_HOST's text; null for the local socket. A bad one throws. */
  readonly dockerHost: string | null;
  /** Name or id of the image. */
  readonly image: string;
  /** Marks this instance's containers; unique to it. */
  readonly instanceId: string;
  /** The seccomp profile's JSON text. */
  readonly seccomp: string;
  /** SETUP frame: `{"modules": {…}, "builtins": […]}`. */
  readonly setup: object;
  readonly memoryMb: number;
  readonly cpus: number;
  readonly wallSeconds: number;
  readonly runtime: string | null;
  readonly poolSize: number;
  readonly maxConcurrency: number;
  readonly queueLimit: number;
  readonly clock: Clock;
  readonly observer: SandboxObserver;
}

/** How long `close` waits for removals; what is left then is for the reaper of the next instance. */
const CLOSE_MAX_MS = 10_000;

/** A sandbox of single-use containers on a Docker engine. Starts filling its pool at once; `close` removes all. */
export function createDockerSandbox(options: DockerSandboxOptions): Sandbox {
  return new DockerSandbox(options, createDockerEngine(options.dockerHost));
}

/** The same over any engine; for tests. */
export function createSandboxOn(engine: Engine, options: Omit<DockerSandboxOptions, 'dockerHost'>): Sandbox {
  return new DockerSandbox(options, engine);
}

type Settings = Omit<DockerSandboxOptions, 'dockerHost'>;
type RunArguments = Parameters<Sandbox['run']>;

class DockerSandbox implements Sandbox {
  readonly #settings: Settings;
  readonly #engine: Engine;
  readonly #slots: Slots;
  readonly #fleet: Fleet;
  readonly #launcher: Launcher;
  readonly #pool: ContainerPool;
  readonly #readiness: SandboxReadiness;
  readonly #reaper: Reaper;
  readonly #runs = new RunsUnderWay();
  #closed: Promise<void> | null = null;

  constructor(settings: Settings, engine: Engine) {
    const { clock, observer, instanceId } = settings;
    this.#settings = settings;
    this.#engine = engine;
    this.#slots = new Slots({
      size: settings.maxConcurrency,
      queueLimit: settings.queueLimit,
      onChange: (running, waiting) => {
        observer.running(running);
        observer.containers('running', running);
        observer.queueDepth(waiting);
      },
    });
    this.#fleet = new Fleet(engine, observer, () => this.#pool.refill());
    this.#launcher = new Launcher(settings, engine, this.#fleet);
    this.#pool = new ContainerPool({
      size: settings.poolSize,
      // Runs and stock at their most; a removal under way holds its place, so a slow engine slows us down.
      maxContainers: settings.maxConcurrency + settings.poolSize,
      maxIdleMs: MAX_IDLE_MS,
      clock,
      observer,
      fleet: this.#fleet,
      launch: (place, signal) => this.#launch(place, signal),
    });
    this.#readiness = new SandboxReadiness({
      engine,
      image: settings.image,
      clock,
      selfTest: (ground) => this.#launcher.selfTest(ground),
      onRecovered: () => this.#pool.recovered(),
    });
    this.#reaper = new Reaper({ engine, fleet: this.#fleet, clock, instanceId, observer });
    this.#reaper.start();
    this.#readiness.start();
    this.#pool.refill();
  }

  async readiness(): Promise<readonly CheckState[]> {
    const states = await this.#readiness.states();
    const fault = this.#pool.fault;
    // The probe came up once, and containers do not start now: that is not ready either.
    return fault === null
      ? states
      : states.map((state) => (state.check === 'self_test' ? { ...state, ok: false, detail: fault } : state));
  }

  run(
    fn: AdmittedFunction,
    data: SandboxData,
    permit: Permit,
    limits: RunLimits,
    caller: AbortSignal,
    events?: RunEvents,
  ) {
    // Never past the operator's limit, which the container's own backstops are set by.
    const wallMs = Math.min(limits.wallMs, this.#settings.wallSeconds * 1000);
    return this.#runs.start(caller, (signal) =>
      this.#run(fn, data, permit, { ...limits, wallMs }, signal, events),
    );
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #run(...[fn, data, permit, limits, signal, events]: RunArguments): Promise<RunReport> {
    const slot = await this.#slots.take(permit.tenant, signal);
    if (slot.kind !== 'taken') {
      return slot.kind === 'full'
        ? notStarted('overloaded', 'the queue for the sandbox is full')
        : this.#runs.interrupted(signal);
    }
    let container: ReadyContainer | null = null;
    try {
      const missing = this.#pool.ready > 0 ? null : await this.#missing(signal);
      if (missing !== null) {
        return notStarted('sandbox_unavailable', missing);
      }
      const taken = await this.#pool.take(signal);
      if (taken.kind !== 'taken') {
        return taken.kind === 'aborted'
          ? this.#runs.interrupted(signal)
          : notStarted('sandbox_unavailable', taken.detail);
      }
      container = taken.container;
      const fault = await this.#fit(container, limits, signal);
      if (fault !== null) {
        return signal.aborted ? this.#runs.interrupted(signal) : notStarted('sandbox_unavailable', fault);
      }
      events?.taken?.();
      if (!(await permit.started(fn.sha256))) {
        return notStarted('ledger_unavailable', 'the start of the run could not be written to the ledger');
      }
      // From here on the run counts, whatever becomes of it.
      const ending = await container.run(containerJob(fn, data, limits), signal);
      return runReport(ending, container.image, { ...limits, lineCount: fn.lineCount });
    } finally {
      // In the background: the answer does not wait for it, `close` does.
      void container?.retire();
      slot.release();
    }
  }

  /**
   * Why no container can be started, or null. Asked before waiting for one: where the engine is away with containers
   * that it has yet to remove, there is no place for another, and no start that would fail.
   */
  #missing(signal: AbortSignal): Promise<string | null> {
    const found = this.#readiness.ground().then(
      () => null,
      (error: unknown) => toEngineError(error).message,
    );
    // Who leaves meanwhile is told so by the pool.
    const left = new Promise<null>((resolve) => {
      signal.addEventListener('abort', () => resolve(null), { once: true });
    });
    return signal.aborted ? Promise.resolve(null) : Promise.race([found, left]);
  }

  /** Lowers the memory of a container for a run that asked for less, never raises it; what is wrong, or null. */
  async #fit(container: ReadyContainer, limits: RunLimits, signal: AbortSignal): Promise<string | null> {
    if (limits.memoryMb >= this.#settings.memoryMb) {
      return null;
    }
    try {
      await this.#engine.limitMemory(container.id, limits.memoryMb * 1024 * 1024, signal);
      return null;
    } catch (error) {
      return toEngineError(error).message;
    }
  }

  async #launch(place: Place, signal: AbortSignal): Promise<ReadyContainer> {
    let ground: Ground;
    try {
      ground = await this.#readiness.ground();
      signal.throwIfAborted();
    } catch (error) {
      place.cancel();
      throw error;
    }
    try {
      return await this.#launcher.start(ground, place, signal);
    } catch (error) {
      this.#readiness.doubt();
      throw error;
    }
  }

  async #close(): Promise<void> {
    this.#reaper.stop();
    this.#slots.close();
    const runsEnded = this.#runs.close();
    this.#launcher.close();
    this.#readiness.close();
    const emptied = async (): Promise<void> => {
      await this.#pool.close();
      await runsEnded;
      await this.#fleet.retireAll();
      await this.#reaper.removeOwn();
    };
    await Promise.race([emptied(), delay(CLOSE_MAX_MS, undefined, { ref: false })]);
    this.#engine.close();
  }
}
