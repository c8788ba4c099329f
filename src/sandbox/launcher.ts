import type { Clock } from '../clock.ts';
import { type ReadyContainer, type StartOptions, startContainer, startHarness } from './container.ts';
import { type ContainerSettings, containerSpec } from './container-spec.ts';
import type { ContainerStream } from './container-stream.ts';
import type { Engine } from './engine.ts';
import { toEngineError } from './engine-call.ts';
import type { Fleet, Place } from './fleet.ts';
import { encodeSetup } from './frames.ts';
import { PROBE_MEMORY_MAX_MB, runProbe } from './probe.ts';
import type { Ground } from './readiness.ts';
import { judgeProbe } from './self-test.ts';

/** A container that waited longer in the stock is replaced. */
export const MAX_IDLE_MS = 5 * 60_000;
/** How far past idling and running a container's label lets it live: starting, killing and removing it. */
const EXPIRY_SLACK_SECONDS = 90;
/** Names of missing modules that a self-test tells. */
const MISSING_SHOWN = 10;
/** Checks that a self-test's detail tells: it is one line of a log. */
const FAULTS_SHOWN = 8;

export type LaunchSettings = Omit<ContainerSettings, 'image' | 'cgroupVersion' | 'expiresAtSeconds'> & {
  /** SETUP frame: `{"modules": {…}, "builtins": […]}`. */
  readonly setup: object;
  readonly clock: Clock;
};

/** Starts containers from the operator's settings: the only caller of `containerSpec`. */
export class Launcher {
  readonly #settings: LaunchSettings;
  readonly #engine: Engine;
  readonly #fleet: Fleet;
  readonly #setup: Buffer;
  readonly #probeSetup: Buffer;
  readonly #closing = new AbortController();

  constructor(settings: LaunchSettings, engine: Engine, fleet: Fleet) {
    this.#settings = settings;
    this.#engine = engine;
    this.#fleet = fleet;
    this.#setup = encodeSetup(settings.setup);
    this.#probeSetup = encodeSetup({ ...settings.setup, probe: true });
  }

  /** Starts one container in a place of the fleet. Rejects with an EngineError. */
  start(ground: Ground, place: Place, signal: AbortSignal): Promise<ReadyContainer> {
    return startContainer(this.#options(ground, place, this.#setup, signal));
  }

  /**
   * The self-test: a probe through the very same spec, which tells what its container is like from inside and then
   * goes over its memory limit. Answers which checks do not hold, or null. A bad seccomp profile, an unknown runtime
   * or an engine that ignores a limit shows only here.
   */
  async selfTest(ground: Ground): Promise<string | null> {
    const signal = this.#closing.signal;
    try {
      const options = this.#options(ground, this.#fleet.reserve(), this.#probeSetup, signal);
      const { id, stream, report } = await startHarness(options);
      try {
        const faults =
          report.missing.length > 0 ? [missingModules(report.missing)] : await this.#probe(id, stream);
        return faults.length === 0 ? null : faults.slice(0, FAULTS_SHOWN).join('; ');
      } finally {
        stream.drop();
        void this.#fleet.retire(id);
      }
    } catch (error) {
      const { runtime } = this.#settings;
      const { message } = toEngineError(error);
      return runtime === null ? message : `${message} (with SANDBOX_RUNTIME=${runtime})`;
    }
  }

  /** Ends a self-test that is under way. */
  close(): void {
    this.#closing.abort();
  }

  async #probe(id: string, stream: ContainerStream): Promise<readonly string[]> {
    const { clock, memoryMb, cpus, wallSeconds } = this.#settings;
    const engine = this.#engine;
    const memoryBytes = Math.min(memoryMb, PROBE_MEMORY_MAX_MB) * 1024 * 1024;
    if (memoryMb > PROBE_MEMORY_MAX_MB) {
      await engine.limitMemory(id, memoryBytes, this.#closing.signal);
    }
    const outcome = await runProbe({ id, stream, engine, clock }, memoryBytes, this.#closing.signal);
    return judgeProbe(outcome, { memoryBytes, cpus, wallSeconds }).map(
      ({ check, detail }) => `${check}: ${detail}`,
    );
  }

  #options(ground: Ground, place: Place, setup: Buffer, signal: AbortSignal): StartOptions {
    const { clock, instanceId, seccomp, memoryMb, cpus, wallSeconds, runtime } = this.#settings;
    const lifeSeconds = MAX_IDLE_MS / 1000 + wallSeconds + EXPIRY_SLACK_SECONDS;
    const spec = containerSpec({
      image: ground.imageId,
      cgroupVersion: ground.cgroupVersion,
      expiresAtSeconds: Math.ceil(clock.now().getTime() / 1000 + lifeSeconds),
      instanceId,
      seccomp,
      memoryMb,
      cpus,
      wallSeconds,
      runtime,
    });
    return { engine: this.#engine, fleet: this.#fleet, place, clock, spec, setup, signal };
  }
}

function missingModules(missing: readonly string[]): string {
  return `modules: the image lacks ${missing.slice(0, MISSING_SHOWN).join(', ')}`;
}
