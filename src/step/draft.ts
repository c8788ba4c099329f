import type { DraftComputation } from '../contract/computation.ts';
import { isProblem, type Problem } from '../contract/problem.ts';
import { shownPrompt } from './answer.ts';
import { deadlinePassed } from './deadline.ts';
import { functionOf } from './function.ts';
import { observed } from './observed.ts';
import type { StepPorts } from './ports.ts';
import type { StepRequest } from './request.ts';
import { quotasOf } from './step.ts';
import { newTrace, type StepTrace } from './trace.ts';
import type { StepWatch } from './watch.ts';

/** A function without its run: what `POST /v1/compute/draft` answers. */
export interface DraftAnswer {
  readonly kind: 'draft';
  readonly draft: DraftComputation;
}

/** Has a function written and admitted, and runs nothing. */
export type DraftStep = (
  request: StepRequest,
  signal: AbortSignal,
  watch?: StepWatch,
) => Promise<DraftAnswer | Problem>;

/**
 * The first half of a step: quota, prompt, model, admission. The quota is looked at before the model is asked, as
 * a draft that cannot be run is money lost, but no permit is opened: between draft and run nothing is held.
 */
export function createDraft(ports: StepPorts): DraftStep {
  return async (request, signal, watch) => {
    const trace = newTrace(request.origin.from, watch);
    const work = () => write(ports, request, trace, signal);
    const end = await observed(ports, request, trace, signal, work, 'draft: nothing was run');
    return end ?? { kind: 'draft', draft: draftOfTrace(trace) };
  };
}

async function write(
  ports: StepPorts,
  request: StepRequest,
  trace: StepTrace,
  signal: AbortSignal,
): Promise<Problem | null> {
  const refusal = await ports.meter.check(request.tenant.id, quotasOf(request.tenant));
  const early = refusal ?? deadlinePassed(signal, 'The deadline passed before anything was asked.');
  const fn = early ?? (await functionOf(ports, request, trace, signal));
  return isProblem(fn) ? fn : null;
}

function draftOfTrace(trace: StepTrace): DraftComputation {
  if (trace.prompt === null || trace.code === null) {
    throw new Error('a draft without a prompt or a function');
  }
  return {
    state: trace.refusal === null ? 'admitted' : 'not_admitted',
    code: trace.code,
    code_sha256: trace.codeSha256,
    admission: trace.refusal ?? { admitted: true },
    failure: trace.failure,
    prompt: shownPrompt(trace.prompt),
    attempts: trace.attempts,
  };
}
