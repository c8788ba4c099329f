import type { RuleId } from '../contract/admission.ts';
import type { FailureCode } from '../contract/failure.ts';
import type { ProblemCode } from '../contract/problem.ts';
import type { FinishedStep, Phase } from './observer.ts';

/** The parts of a step that can be watched as they happen. */
export type WatchedPhase = Exclude<Phase, 'total'>;

/**
 * How a phase ended: `ok`, or the code of what it ended with. `no_function`: a reply of the model without one;
 * `not_admitted`: the verdict on it.
 */
export type PhaseOutcome = 'ok' | 'no_function' | 'not_admitted' | FailureCode | ProblemCode;

/** Where admission refused a function: the rule of the closed set, and the line from 1. */
export interface RefusedAt {
  readonly rule_id: RuleId;
  readonly line: number;
}

/** One phase that has begun. */
export interface PhaseWatch {
  /** `traceparent` for a request that the phase makes; null: the one of the step. */
  readonly traceparent: string | null;
  /** Told once. `refusal` goes with `not_admitted`. */
  ended(outcome: PhaseOutcome, refusal?: RefusedAt): void;
}

/**
 * Watches one step as it happens, for its caller or its trace. Told of phases, codes, attempts and lines, of nothing
 * that a source, an instruction or a function says. `model` and `admission` come once an attempt, counted from 1; a
 * function that is shared or was kept has none. After the step has ended a phase of it can still go on for others who
 * wait for the same function.
 */
export interface StepWatch {
  began(phase: WatchedPhase, attempt?: number): PhaseWatch;
  finished(step: FinishedStep): void;
}

const unwatchedPhase: PhaseWatch = Object.freeze({ traceparent: null, ended: () => {} });

/** Watches nothing. */
export const nullWatch: StepWatch = Object.freeze({ began: () => unwatchedPhase, finished: () => {} });

/**
 * Tells several watches, in order; the first `traceparent` among them counts. One that throws is passed over: watching
 * must not change how a step ends.
 */
export function combineWatches(...watches: readonly StepWatch[]): StepWatch {
  return {
    began: (phase, attempt) => {
      const phases = watches.map((watch) => quietly(() => watch.began(phase, attempt)) ?? unwatchedPhase);
      return {
        traceparent: phases.find(({ traceparent }) => traceparent !== null)?.traceparent ?? null,
        ended: (outcome, refusal) => {
          for (const each of phases) {
            quietly(() => each.ended(outcome, refusal));
          }
        },
      };
    },
    finished: (step) => {
      for (const watch of watches) {
        quietly(() => watch.finished(step));
      }
    },
  };
}

function quietly<T>(tell: () => T): T | null {
  try {
    return tell();
  } catch {
    // A step that was run and metered is worth more than its trace.
    return null;
  }
}

/**
 * Watches a phase, or an attempt of one, over a piece of work; `outcomeOf` names how it ended. What is thrown is thrown
 * on.
 */
export async function watched<T>(
  watch: StepWatch,
  phase: WatchedPhase,
  work: (open: PhaseWatch) => T | Promise<T>,
  outcomeOf: (end: T) => PhaseOutcome,
  attempt?: number,
): Promise<T> {
  const open = attempt === undefined ? watch.began(phase) : watch.began(phase, attempt);
  let outcome: PhaseOutcome = 'internal_error';
  try {
    const end = await work(open);
    outcome = outcomeOf(end);
    return end;
  } finally {
    open.ended(outcome);
  }
}
