import { type Clock, elapsedMs } from '../clock.ts';
import type { CheckState } from '../contract/readiness.ts';
import type { Engine, EngineFacts } from './engine.ts';
import { EngineError, toEngineError } from './engine-call.ts';

/** What every container of an engine is made from: the image by its id, and facts that a create option follows. */
export interface Ground extends EngineFacts {
  readonly imageId: string;
}

export interface ReadinessOptions {
  readonly engine: Engine;
  /** Name or id of the image. */
  readonly image: string;
  readonly clock: Clock;
  /** Starts a probe on this ground through the very same spec; answers what is wrong, or null. */
  readonly selfTest: (ground: Ground) => Promise<string | null>;
  /** All checks pass, and did not before. */
  readonly onRecovered: () => void;
}

/** How old an answer may be. */
const FRESH_MS = 2000;
/** A failed self-test is not repeated sooner: each one starts a container. */
const SELF_TEST_PAUSE_MS = 5000;

interface Checked {
  readonly states: readonly CheckState[];
  /** Null unless all passed. */
  readonly ground: Ground | null;
  readonly atNs: bigint;
}

/**
 * Whether containers can be started: the engine answers, the image is there, and a probe has come up in it. One
 * check at a time, shared by all who ask. The self-test is done once an image and connection; losing the engine
 * means doing it again.
 */
export class SandboxReadiness {
  readonly #options: ReadinessOptions;
  #last: Checked | null = null;
  #underWay: Promise<Checked> | null = null;
  #ground: Ground | null = null;
  #tested: { readonly imageId: string; readonly fault: string | null; readonly atNs: bigint } | null = null;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  async states(): Promise<readonly CheckState[]> {
    return (await this.#fresh()).states;
  }

  /** The ground to start containers on. Rejects with an EngineError that names the failed check. */
  async ground(): Promise<Ground> {
    const { ground, states } = await this.#fresh();
    if (ground === null) {
      const failed = states.find((state) => !state.ok);
      throw new EngineError('unreachable', `${failed?.check ?? 'engine'}: ${failed?.detail ?? 'not ready'}`);
    }
    return ground;
  }

  /** A start failed: what was known of image and engine may be outdated. */
  doubt(): void {
    this.#last = null;
  }

  #fresh(): Promise<Checked> {
    const last = this.#last;
    if (last !== null && elapsedMs(this.#options.clock, last.atNs) < FRESH_MS) {
      return Promise.resolve(last);
    }
    this.#underWay ??= this.#check().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  async #check(): Promise<Checked> {
    const before = this.#last;
    const states = await this.#run();
    const ground = states.every((state) => state.ok) ? this.#ground : null;
    this.#last = { states, ground, atNs: this.#options.clock.monotonicNs() };
    if (ground !== null && before !== null && before.ground === null) {
      this.#options.onRecovered();
    }
    return this.#last;
  }

  async #run(): Promise<readonly CheckState[]> {
    const { engine } = this.#options;
    try {
      await engine.ping();
    } catch (error) {
      this.#ground = null;
      this.#tested = null;
      return [
        { check: 'engine', ok: false, detail: toEngineError(error).message },
        { check: 'image', ok: false, detail: 'not looked for: the engine does not answer' },
        { check: 'self_test', ok: false, detail: 'not done: the engine does not answer' },
      ];
    }
    const up: CheckState = { check: 'engine', ok: true, detail: 'the engine answers' };
    try {
      this.#ground = await this.#findGround();
    } catch (error) {
      this.#ground = null;
      return [
        up,
        { check: 'image', ok: false, detail: toEngineError(error).message },
        { check: 'self_test', ok: false, detail: 'not done: there is no image' },
      ];
    }
    const fault = await this.#selfTest(this.#ground);
    return [
      up,
      { check: 'image', ok: true, detail: this.#ground.imageId },
      { check: 'self_test', ok: fault === null, detail: fault ?? 'a probe came up' },
    ];
  }

  /** The image's id is resolved once and then held: a tag that moves does not change what runs. */
  async #findGround(): Promise<Ground> {
    const { engine, image } = this.#options;
    const held = this.#ground;
    if (held !== null && (await engine.imageId(held.imageId)) !== null) {
      return held;
    }
    const imageId = await engine.imageId(image);
    if (imageId === null) {
      throw new EngineError('refused', `there is no image ${image}: build it with npm run image`);
    }
    return { imageId, ...(await engine.facts()) };
  }

  async #selfTest(ground: Ground): Promise<string | null> {
    const { clock, selfTest } = this.#options;
    const tested = this.#tested;
    const known =
      tested !== null &&
      tested.imageId === ground.imageId &&
      (tested.fault === null || elapsedMs(clock, tested.atNs) < SELF_TEST_PAUSE_MS);
    if (known) {
      return tested.fault;
    }
    const fault = await selfTest(ground);
    this.#tested = { imageId: ground.imageId, fault, atNs: clock.monotonicNs() };
    return fault;
  }
}
