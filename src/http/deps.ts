import type { Admission } from '../admission/admit.ts';
import type { Clock } from '../clock.ts';
import type { Meter } from '../metering/permit.ts';
import type { Pack } from '../prompt/pack.ts';
import type { Ready } from '../ready.ts';
import type { Sandbox } from '../sandbox/port.ts';
import type { DraftStep } from '../step/draft.ts';
import type { StepObserver } from '../step/observer.ts';
import type { StepBounds } from '../step/ports.ts';
import type { Step } from '../step/step.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { Tenants } from '../tenants.ts';
import type { Calls } from './call.ts';
import type { Drain } from './drain.ts';
import type { IdempotencyStore } from './idempotency.ts';
import type { HttpLimits } from './limits.ts';
import type { RequestSpans } from './request-spans.ts';
import type { EventStreamBounds } from './sse.ts';
import type { StepReader } from './steps.ts';

/** What the HTTP API is made of: the step, the ports it also asks directly, and its own bounds. */
export interface AppDeps {
  readonly step: Step;
  readonly draft: DraftStep;
  readonly stepReader: StepReader;
  readonly admission: Admission;
  readonly sandbox: Sandbox;
  readonly meter: Meter;
  readonly pack: Pack;
  readonly tenants: Tenants;
  readonly ready: Ready;
  /** What is in work, and whether the service is stopping. */
  readonly drain: Drain;
  /** Aborted when the service ends what still runs. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  readonly observer: StepObserver;
  readonly bounds: StepBounds;
  readonly version: string;
  /** Null: nothing is traced. */
  readonly tracing: Tracing | null;
  /** Of the answers that are streams of events. */
  readonly events: EventStreamBounds;
  /** Whether the page at `/` is served. */
  readonly ui: boolean;
  readonly idempotency: { readonly store: IdempotencyStore; readonly ttlMs: number };
  readonly bodyMaxBytes: number;
  readonly bodyInflightMaxBytes: number;
  readonly limits: HttpLimits;
}

/** What a route of `/v1` gets: the dependencies and who is calling. */
export interface RouteDeps extends AppDeps {
  readonly calls: Calls;
  readonly spans: RequestSpans;
}
