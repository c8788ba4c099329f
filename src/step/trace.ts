import { type Clock, elapsedMs } from '../clock.ts';
import type { AdmissionRefusal } from '../contract/admission.ts';
import type { Attempt, Computation, Failure, Quota, Timings } from '../contract/computation.ts';
import type { Metered } from '../metering/permit.ts';
import type { Prompt } from '../prompt/render.ts';
import type { RunReport } from '../sandbox/port.ts';
import type { Phase } from './observer.ts';
import { nullWatch, type StepWatch } from './watch.ts';

type FunctionSource = Computation['function']['source'];

/** What a step has come to so far. Each stage writes its part; the answer and the log line are made of it. */
export interface StepTrace {
  prompt: Prompt | null;
  codeSha256: string;
  code: string | null;
  refusal: AdmissionRefusal | null;
  readonly attempts: Attempt[];
  functionSource: FunctionSource;
  /** Where the function is kept in the cache; null where the cache is off. */
  cacheKey: string | null;
  report: RunReport | null;
  failure: Failure | null;
  resultText: string | null;
  metered: Metered;
  quota: Quota | null;
  readonly phases: Partial<Timings>;
  /** Told of each phase as it begins and ends. */
  readonly watch: StepWatch;
}

export function newTrace(functionSource: FunctionSource, watch: StepWatch = nullWatch): StepTrace {
  return {
    prompt: null,
    codeSha256: '',
    code: null,
    refusal: null,
    attempts: [],
    functionSource,
    cacheKey: null,
    report: null,
    failure: null,
    resultText: null,
    metered: { computeRuns: 0, computeSeconds: 0 },
    quota: null,
    phases: {},
    watch,
  };
}

/** Runs one phase and notes its milliseconds, however it ends. */
export async function timed<T>(
  trace: StepTrace,
  clock: Clock,
  phase: Phase,
  work: () => T | Promise<T>,
): Promise<T> {
  const startNs = clock.monotonicNs();
  try {
    return await work();
  } finally {
    trace.phases[phase] = roundMs(elapsedMs(clock, startNs));
  }
}

/** Milliseconds to three decimals: what is below is noise. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
