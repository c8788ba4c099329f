import type { Admission } from '../admission/admit.ts';
import type { Clock } from '../clock.ts';
import type { Meter } from '../metering/permit.ts';
import type { Model } from '../model/port.ts';
import type { Pack } from '../prompt/pack.ts';
import type { SchemaChecker } from '../result/schema-check.ts';
import type { Sandbox } from '../sandbox/port.ts';
import type { FunctionCache } from './function-cache.ts';
import type { StepObserver } from './observer.ts';

/** What a step needs of the world. Adapters are made in `compose.ts` only. */
export interface StepPorts {
  readonly pack: Pack;
  readonly model: Model;
  readonly admission: Admission;
  readonly cache: FunctionCache;
  readonly sandbox: Sandbox;
  readonly meter: Meter;
  readonly checker: SchemaChecker;
  readonly clock: Clock;
  readonly observer: StepObserver;
  readonly bounds: StepBounds;
}

/** Bounds of the operator that hold for every step. */
export interface StepBounds {
  readonly promptMaxBytes: number;
  readonly resultMaxBytes: number;
  readonly resultMaxDepth: number;
  readonly detailMaxBytes: number;
}
