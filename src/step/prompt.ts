import { type Problem, problem } from '../contract/problem.ts';
import type { ResultAsk } from '../contract/result-type.ts';
import type { Pack } from '../prompt/pack.ts';
import { type Prompt, renderPrompt } from '../prompt/render.ts';
import { describeSources } from '../schema/describe.ts';
import type { StepSource } from './request.ts';

/** Least room for the schema: below it a prompt would be all cut and no shape. */
const SCHEMA_MIN_BYTES = 1024;

/**
 * The prompt of a step, at most `maxBytes`: what the templates, the instruction and `result_schema` leave is the
 * schema's room, and a larger schema is cut and says so. Refuses an instruction that leaves too little.
 */
export function promptFor(
  pack: Pack,
  instruction: string,
  result: ResultAsk,
  sources: readonly StepSource[],
  maxBytes: number,
): Prompt | Problem {
  const ask = { instruction, result };
  const fixed = Buffer.byteLength(renderPrompt(pack, ask, describeSources([])).text);
  const room = maxBytes - fixed;
  if (room < SCHEMA_MIN_BYTES) {
    return problem(
      'invalid_request',
      'step and result_schema leave no room for the schema in a prompt of PROMPT_MAX_BYTES; shorten them.',
    );
  }
  return renderPrompt(pack, ask, describeSources(sources, { maxBytes: room }));
}
