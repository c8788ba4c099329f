import type { StepAnswer } from '../step/answer.ts';

/**
 * A Computation as JSON text, with the result's digits as Python wrote them: the raw text is joined in, never
 * parsed, so 9007199254740993 and 2**200 stay themselves. A test holds it against the Computation schema.
 */
export function encodeComputation(answer: StepAnswer): string {
  const { id, state, ...rest } = answer.computation;
  const head = JSON.stringify({ id, state }).slice(0, -1);
  const result = answer.resultText === null ? '' : `,"result":${answer.resultText}`;
  return `${head}${result},${JSON.stringify(rest).slice(1)}`;
}
