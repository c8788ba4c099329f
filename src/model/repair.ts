import type { AdmissionRefusal } from '../contract/admission.ts';
import { NO_FUNCTION_TEXT, repairText } from '../prompt/repair-text.ts';
import type { NoFunctionReply } from './no-function.ts';
import type { Draft } from './reply.ts';

declare const repairBrand: unique symbol;

/**
 * One turn of the repair: what the model wrote and why it was refused. Made from a Draft and its refusals or from
 * a reply without a function, and from nothing else, so that what happened in a run has no way to a model.
 */
export interface Repair {
  readonly [repairBrand]: true;
  /** The model's own text, cut to EARLIER_MAX_CHARS. Empty if it said nothing. */
  readonly earlier: string;
  /** The refusals, the first one first; never empty. */
  readonly refusals: readonly AdmissionRefusal[];
  /** The same as a message to the model. */
  readonly text: string;
}

/** What goes back of one reply, in UTF-16 units: as much as a function may have; the rest is dropped. */
const EARLIER_MAX_CHARS = 64 * 1024;

/** A model is told of this many refusals of one function; the rest shows in the next attempt. */
const TOLD_REFUSALS = 8;

/** The verdict on a reply in which no function stands, as admission would give it on an empty source. */
export const NO_FUNCTION: AdmissionRefusal = {
  admitted: false,
  rule_id: 'structure',
  rule: 'structure: compute',
  line: 1,
  column: 0,
  message: 'There is no Python function in the reply of the model.',
  hint: 'Answer with Python source code only, with one top-level def compute(data):',
};

/** The turn for a refused function; `refusals` are those of this draft, the first one first. */
export function repairOf(draft: Draft, refusals: readonly [AdmissionRefusal, ...AdmissionRefusal[]]): Repair {
  const told = refusals.slice(0, TOLD_REFUSALS);
  return repair(draft.source, told, repairText(told, draft.source));
}

/** The turn for a reply without a function. */
export function repairOfNone(reply: NoFunctionReply): Repair {
  return repair(reply.said, [NO_FUNCTION], NO_FUNCTION_TEXT);
}

function repair(said: string, refusals: readonly AdmissionRefusal[], text: string): Repair {
  // Through UTF-8: half a surrogate pair, the model's or from the cut, is a 400 at some providers.
  const earlier = Buffer.from(said.slice(0, EARLIER_MAX_CHARS)).toString();
  return Object.freeze({ earlier, refusals, text }) as Repair;
}
