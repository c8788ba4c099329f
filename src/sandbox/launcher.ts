import type { Clock } from '../clock.ts';
import { type ReadyContainer, startContainer } from './container.ts';
import { type ContainerSettings, containerSpec } from './container-spec.ts';
import type { Engine } from './engine.ts';
import { toEngineError } from './engine-call.ts';
import type { Fleet, Place } from './fleet.ts';
import { encodeSetup } from './frames.ts';
import type { Ground } from './readiness.ts';

/** A container that waited longer in the stock is replaced. */
export const MAX_IDLE_MS = 5 * 60_000;
/** How far past idling and running a container's label lets it live: starting, killing and removing it. */
const EXPIRY_SLACK_SECONDS = 90;
/** Names of missing modules that a self-test tells. */
const MISSING_SHOWN = 10;

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

  constructor(settings: LaunchSettings, engine: Engine, fleet: Fleet) {
    this.#settings = settings;
    this.#engine = engine;
    this.#fleet = fleet;
    this.#setup = encodeSetup(settings.setup);
  }

  /** Starts one container in a place of the fleet. Rejects with an EngineError. */
  start(ground: Ground, place: Place, signal: AbortSignal): Promise<ReadyContainer> {
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
    const [engine, fleet, setup] = [this.#engine, this.#fleet, this.#setup];
    return startContainer({ engine, fleet, place, clock, spec, setup, signal });
  }

  /**
   * A probe through the very same spec: it comes up, and the image has every module that the pack names. Answers
   * what is wrong, or null. A bad seccomp profile or an unknown runtime shows only here, at a start.
   */
  async selfTest(ground: Ground): Promise<string | null> {
    try {
      const probe = await this.start(ground, this.#fleet.reserve(), new AbortController().signal);
      void probe.retire();
      const { missing } = probe.harness;
      return missing.length === 0 ? null : `the image lacks ${missing.slice(0, MISSING_SHOWN).join(', ')}`;
    } catch (error) {
      return toEngineError(error).message;
    }
  }
}
