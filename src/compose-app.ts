import { setMaxListeners } from 'node:events';
import type { FastifyInstance } from 'fastify';
import { createAdmission } from './admission/admit.ts';
import { type Clock, elapsedMs } from './clock.ts';
import { DETAIL_MAX_BYTES } from './compose-sandbox.ts';
import type { Config } from './config.ts';
import { buildApp } from './http/app.ts';
import { listenerCloser } from './http/close-listener.ts';
import { createDrain } from './http/drain.ts';
import { createIdempotencyStore } from './http/idempotency.ts';
import { HTTP_LIMITS, type HttpLimits } from './http/limits.ts';
import { EVENT_STREAM_BOUNDS, type EventStreamBounds } from './http/sse.ts';
import { createBodyReader } from './json/read.ts';
import type { Meter } from './metering/permit.ts';
import type { ModelConfig } from './model/choose.ts';
import type { Model } from './model/port.ts';
import type { Pack } from './prompt/pack.ts';
import { type Ready, readyOf } from './ready.ts';
import { createSchemaChecker } from './result/schema-check.ts';
import type { Sandbox } from './sandbox/port.ts';
import { createDraft } from './step/draft.ts';
import { FunctionCache } from './step/function-cache.ts';
import type { StepObserver } from './step/observer.ts';
import type { StepBounds } from './step/ports.ts';
import { createStep } from './step/step.ts';
import type { Tracing } from './telemetry/tracing.ts';
import type { Tenants } from './tenants.ts';

/** Held answers with an Idempotency-Key, over all tenants. */
const IDEMPOTENCY_MAX_BYTES = 64 * 1024 * 1024;
/** After the grace: how long the answers of ended requests may take to go out, and their callers to read them. */
const LAST_ANSWERS_MS = 2000;

/** What the application asks of the world, and what it was given to work with. */
export interface AppPorts {
  readonly sandbox: Sandbox;
  readonly meter: Meter;
  readonly model: Model;
  readonly clock: Clock;
  readonly observer: StepObserver;
  readonly pack: Pack;
  readonly tenants: Tenants;
  /** The default model; null where every caller or tenant names its own. */
  readonly operatorModel: ModelConfig | null;
  readonly version: string;
  /** Null, or left out: nothing is traced. */
  readonly tracing?: Tracing | null;
  /** Bounds of streams of events; the usual ones if left out. */
  readonly events?: EventStreamBounds;
}

/** The settings that the application itself works under. */
export type AppSettings = Pick<
  Config,
  | 'BODY_MAX_BYTES'
  | 'BODY_INFLIGHT_MAX_BYTES'
  | 'JSON_MAX_DEPTH'
  | 'PROMPT_MAX_BYTES'
  | 'RESULT_MAX_BYTES'
  | 'REQUEST_TIMEOUT_SECONDS'
  | 'IDEMPOTENCY_TTL_SECONDS'
  | 'SANDBOX_WALL_SECONDS'
  | 'SANDBOX_MEMORY_MB'
  | 'FUNCTION_CACHE_ENTRIES'
  | 'UI'
>;

/** The application, made and not yet listening. */
export interface App {
  readonly app: FastifyInstance;
  readonly ready: Ready;
  /** Ends what is in work at once; `close` does so when the grace is over. */
  readonly stopping: AbortController;
  /**
   * Takes nothing new from now on and lets what is in work end within `graceMs`; ends the rest, lets its answers go
   * out, and closes the listener and the threads. The ports are their maker's to close.
   */
  close(graceMs: number): Promise<void>;
}

/** Joins the ports to the HTTP API: admission, pipeline, bounds and routes are the same whatever the ports are. */
export async function composeApp(
  ports: AppPorts,
  settings: AppSettings,
  limits: HttpLimits = HTTP_LIMITS,
): Promise<App> {
  const { sandbox, meter, model, clock, observer, pack, tenants, operatorModel, version } = ports;
  const admission = await createAdmission(pack.modules);
  const checker = createSchemaChecker();
  const reader = createBodyReader({ maxDepth: settings.JSON_MAX_DEPTH });
  const cache = new FunctionCache({ entriesPerTenant: settings.FUNCTION_CACHE_ENTRIES, observer });
  const bounds: StepBounds = {
    promptMaxBytes: settings.PROMPT_MAX_BYTES,
    resultMaxBytes: settings.RESULT_MAX_BYTES,
    resultMaxDepth: settings.JSON_MAX_DEPTH,
    detailMaxBytes: DETAIL_MAX_BYTES,
  };
  const ttlMs = settings.IDEMPOTENCY_TTL_SECONDS * 1000;
  const drain = createDrain();
  const stopping = new AbortController();
  // One listener a request in work, which connections and bytes bound; node warns of a leak from eleven on.
  setMaxListeners(0, stopping.signal);
  const ready = readyOf(sandbox, meter, clock, observer);
  const step = { pack, model, admission, cache, sandbox, meter, checker, clock, observer, bounds };
  const app = await buildApp({
    step: createStep(step),
    draft: createDraft(step),
    stepReader: {
      reader,
      checker,
      operatorModel,
      limits: {
        wallSeconds: settings.SANDBOX_WALL_SECONDS,
        memoryMb: settings.SANDBOX_MEMORY_MB,
        timeoutSeconds: settings.REQUEST_TIMEOUT_SECONDS,
      },
    },
    ready,
    drain,
    stopping: stopping.signal,
    admission,
    sandbox,
    meter,
    pack,
    tenants,
    clock,
    observer,
    bounds,
    version,
    tracing: ports.tracing ?? null,
    events: ports.events ?? EVENT_STREAM_BOUNDS,
    ui: settings.UI === 'on',
    idempotency: { store: createIdempotencyStore({ clock, ttlMs, maxBytes: IDEMPOTENCY_MAX_BYTES }), ttlMs },
    bodyMaxBytes: settings.BODY_MAX_BYTES,
    bodyInflightMaxBytes: settings.BODY_INFLIGHT_MAX_BYTES,
    limits,
  });
  const closeListener = listenerCloser(app);
  return {
    app,
    ready,
    stopping,
    close: async (graceMs) => {
      drain.begin();
      await drain.idle(graceMs);
      stopping.abort();
      const endedNs = clock.monotonicNs();
      await drain.idle(LAST_ANSWERS_MS);
      await closeListener(Math.max(0, LAST_ANSWERS_MS - elapsedMs(clock, endedNs)));
      await Promise.all([checker.close(), reader.close()]);
    },
  };
}
