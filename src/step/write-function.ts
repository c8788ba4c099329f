import { createHash } from 'node:crypto';
import { canonicalSource } from '../admission/source-text.ts';
import { elapsedMs } from '../clock.ts';
import type { Attempt } from '../contract/computation.ts';
import { isProblem, type Problem } from '../contract/problem.ts';
import type { NoFunctionReply } from '../model/no-function.ts';
import type { AskContext, ModelTarget } from '../model/port.ts';
import { NO_FUNCTION, type Repair, repairOf, repairOfNone } from '../model/repair.ts';
import type { Draft } from '../model/reply.ts';
import type { Prompt } from '../prompt/render.ts';
import { deadlinePassed } from './deadline.ts';
import type { StepPorts } from './ports.ts';
import type { ModelOrigin, StepRequest } from './request.ts';
import { type StepWatch, watched } from './watch.ts';
import type { Written } from './written.ts';

/** A function to be written: what is asked of whom, and how often at most. */
export interface Commission {
  readonly id: string;
  readonly prompt: Prompt;
  readonly target: ModelTarget;
  readonly traceparent: string | null;
  readonly maxAttempts: number;
  readonly watch: StepWatch;
}

/** What a step's request asks to be written. */
export function commission(
  { id, traceparent }: StepRequest,
  { target, maxAttempts }: ModelOrigin,
  prompt: Prompt,
  watch: StepWatch,
): Commission {
  return { id, prompt, target, traceparent, maxAttempts, watch };
}

type WritingPorts = Pick<StepPorts, 'model' | 'admission' | 'observer' | 'clock'>;

/**
 * Asks the model until a function is admitted, `maxAttempts` times at most. A refused function and a reply without
 * one go back with their refusals; nothing else does, and any other failure of the model ends it at once.
 */
export async function writeFunction(
  ports: WritingPorts,
  { id, prompt, target, traceparent, maxAttempts, watch }: Commission,
  signal: AbortSignal,
): Promise<Written> {
  const attempts: Attempt[] = [];
  const repairs: Repair[] = [];
  let admissionMs = 0;
  const failed = (problem: Problem): Written => ({ kind: 'failed', problem, attempts, admissionMs });
  for (;;) {
    const attempt = repairs.length + 1;
    const reply = await watched(
      watch,
      'model',
      (open) =>
        ask(ports, prompt, target, { id, repairs, traceparent: open.traceparent ?? traceparent }, signal),
      (end) => (isProblem(end) ? end.code : isDraft(end) ? 'ok' : 'no_function'),
      attempt,
    );
    if (isProblem(reply)) {
      return failed(reply);
    }
    const last = attempt >= maxAttempts;
    const admission = watch.began('admission', attempt);
    if (isDraft(reply)) {
      const startNs = ports.clock.monotonicNs();
      const verdict = ports.admission.admit(reply, prompt.schema);
      if (!('rule_id' in verdict)) {
        admission.ended('ok');
        admissionMs += elapsedMs(ports.clock, startNs);
        attempts.push({ code_sha256: verdict.sha256, admission: { admitted: true } });
        return { kind: 'admitted', fn: verdict, attempts, admissionMs };
      }
      admission.ended('not_admitted', verdict);
      ports.observer.admissionRefused(verdict.rule_id);
      attempts.push({ code_sha256: draftDigest(reply), admission: verdict });
      if (!last) {
        const [, ...others] = ports.admission.all(reply, prompt.schema);
        repairs.push(repairOf(reply, [verdict, ...others]));
      }
      admissionMs += elapsedMs(ports.clock, startNs);
      if (last) {
        return { kind: 'not_admitted', refusal: verdict, source: reply.source, attempts, admissionMs };
      }
    } else {
      admission.ended('not_admitted', NO_FUNCTION);
      attempts.push({ code_sha256: '', admission: NO_FUNCTION });
      if (last) {
        return failed(reply.problem);
      }
      repairs.push(repairOfNone(reply));
    }
  }
}

/** One reply. Whatever the model was doing when the request ended: it is not the webhook that failed. */
async function ask(
  { model }: WritingPorts,
  prompt: Prompt,
  target: ModelTarget,
  context: AskContext,
  signal: AbortSignal,
): Promise<Draft | NoFunctionReply | Problem> {
  const ended = () =>
    deadlinePassed(signal, 'The deadline passed while the function was being written; nothing ran.');
  const early = ended();
  if (early !== null) {
    return early;
  }
  const reply = await model.ask(prompt, target, context, signal);
  return ended() ?? reply;
}

function isDraft(reply: Draft | { readonly kind: 'no_function' }): reply is Draft {
  return !('kind' in reply);
}

/** SHA-256 of a refused draft in the form in which an admitted one is digested, so that attempts can be compared. */
export function draftDigest(draft: Draft): string {
  return createHash('sha256').update(canonicalSource(draft.source).text, 'utf8').digest('hex');
}
