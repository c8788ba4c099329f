import { type Clock, elapsedMs } from '../clock.ts';
import type { CheckState } from '../contract/readiness.ts';
import type { Engine, EngineWatch } from './engine.ts';
import { EngineError, toEngineError } from './engine-call.ts';
import type { EngineFacts } from './engine-replies.ts';

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
/** Looked at so often unasked, so that a step never waits for the engine to be looked at. */
const REFRESH_MS = 1500;
/** A failed self-test is not repeated sooner: each one starts a container. */
const SELF_TEST_PAUSE_MS = 5000;

interface Checked {
  readonly states: readonly CheckState[];
  /** Null unless all passed. */
  readonly ground: Ground | null;
  readonly atNs: bigint;
}

/**
 * Whether containers can be started: the engine answers, the image is there, and every check of the self-test holds.
 * One check at a time, shared by all who ask. The self-test is done once an image and connection: an engine that was
 * away, restarted between two checks or changed its settings is tested again.
 */
export class SandboxReadiness {
  readonly #options: ReadinessOptions;
  #last: Checked | null = null;
  #underWay: Promise<Checked> | null = null;
  #ground: Ground | null = null;
  #tested: { readonly imageId: string; readonly fault: string | null; readonly atNs: bigint } | null = null;
  /** On the engine that was tested; null while there is none. */
  #watch: EngineWatch | null = null;
  #refresh: NodeJS.Timeout | null = null;
  #closed = false;
  /** How often all was forgotten: a check during which that happens is void. */
  #forgotten = 0;
  /** It was not ready when that was looked at last, or may not have been since. */
  #down = false;

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

  /** From now on the answer is at hand: whoever asks waits only where the engine hangs. */
  start(): void {
    this.#refresh = setInterval(() => void this.#checkNow().catch(() => {}), REFRESH_MS);
    this.#refresh.unref();
  }

  /** Stops watching the engine. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#refresh ?? undefined);
    this.#watch?.stop();
  }

  /** Nothing that was found out on the engine before holds any more. */
  #forget(): void {
    this.#last = null;
    this.#ground = null;
    this.#tested = null;
    this.#watch = null;
    this.#forgotten += 1;
    this.#down = true;
  }

  #fresh(): Promise<Checked> {
    const last = this.#last;
    if (last !== null && elapsedMs(this.#options.clock, last.atNs) < FRESH_MS) {
      return Promise.resolve(last);
    }
    return this.#checkNow();
  }

  #checkNow(): Promise<Checked> {
    this.#underWay ??= this.#check().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  async #check(): Promise<Checked> {
    const forgotten = this.#forgotten;
    const states = await this.#run();
    const changed = forgotten !== this.#forgotten;
    const ground = !changed && states.every((state) => state.ok) ? this.#ground : null;
    const checked = {
      states: changed ? notReady('the engine restarted meanwhile') : states,
      ground,
      atNs: this.#options.clock.monotonicNs(),
    };
    if (changed) {
      // What came of the check is of the engine before, or of both.
      this.#ground = null;
      this.#tested = null;
      return checked;
    }
    this.#last = checked;
    if (ground !== null && this.#down) {
      this.#options.onRecovered();
    }
    this.#down = ground === null;
    return checked;
  }

  async #run(): Promise<readonly CheckState[]> {
    const { engine } = this.#options;
    try {
      await engine.ping();
      await this.#keepWatch();
    } catch (error) {
      this.#ground = null;
      this.#tested = null;
      return notReady(toEngineError(error).message);
    }
    let up: CheckState = { check: 'engine', ok: true, detail: 'the engine answers' };
    let ground: Ground;
    try {
      const facts = this.#ground ?? (await engine.facts());
      up = { ...up, detail: described(facts) };
      ground = await this.#findGround(facts);
      this.#ground = ground;
    } catch (error) {
      this.#ground = null;
      return [
        up,
        { check: 'image', ok: false, detail: toEngineError(error).message },
        { check: 'self_test', ok: false, detail: 'not done: there is no image' },
      ];
    }
    const fault = await this.#selfTest(ground);
    return [
      up,
      { check: 'image', ok: true, detail: ground.imageId },
      { check: 'self_test', ok: fault === null, detail: fault ?? 'every check holds in a probe' },
    ];
  }

  /**
   * Holds a connection that breaks when the engine restarts, however quickly: between two checks that would go
   * unnoticed. Before the self-test, so that nothing happens behind it.
   */
  async #keepWatch(): Promise<void> {
    if (this.#watch !== null || this.#closed) {
      return;
    }
    const watch = await this.#options.engine.watch().catch((error: unknown) => {
      // An engine without such events is noticed when it does not answer.
      if (toEngineError(error).fault === 'refused') {
        return null;
      }
      throw error;
    });
    if (watch === null) {
      return;
    }
    this.#watch = watch;
    if (this.#closed) {
      watch.stop();
    }
    void watch.ended.then(() => {
      if (this.#watch === watch) {
        this.#forget();
      }
    });
  }

  /** The image's id is resolved once and then held: a tag that moves does not change what runs. */
  async #findGround(facts: EngineFacts): Promise<Ground> {
    const { engine, image } = this.#options;
    const held = this.#ground;
    if (held !== null && (await engine.imageId(held.imageId)) !== null) {
      return held;
    }
    const imageId = await engine.imageId(image);
    if (imageId === null) {
      throw new EngineError('refused', `there is no image ${image}: build it with npm run image`);
    }
    const { cgroupVersion, version, defaultRuntime } = facts;
    return { imageId, cgroupVersion, version, defaultRuntime };
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

function notReady(detail: string): readonly CheckState[] {
  return [
    { check: 'engine', ok: false, detail },
    { check: 'image', ok: false, detail: 'not looked for: the engine does not answer' },
    { check: 'self_test', ok: false, detail: 'not done: the engine does not answer' },
  ];
}

function described({ version, cgroupVersion, defaultRuntime }: EngineFacts): string {
  return `version ${version}, cgroup v${cgroupVersion}, runtime ${defaultRuntime}`;
}
