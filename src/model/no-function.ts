import type { Problem } from '../contract/problem.ts';

declare const noFunctionBrand: unique symbol;

/** A reply in which no function stands. Made in this room only, as what it says goes back to the model. */
export interface NoFunctionReply {
  readonly [noFunctionBrand]: true;
  readonly kind: 'no_function';
  /** What it is to the caller if the model is not asked again. */
  readonly problem: Problem;
  /** The model's own words, for its next turn only. */
  readonly said: string;
}

/** A reply without a function: what the model said, and the problem that is. */
export function noFunctionReply(problem: Problem, said: string): NoFunctionReply {
  return { kind: 'no_function', problem, said } as NoFunctionReply;
}
