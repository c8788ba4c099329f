import type { AdmittedFunction } from '../admission/admit.ts';
import { isProblem, type Problem, problem } from '../contract/problem.ts';
import type { Draft } from '../model/reply.ts';
import { failure } from './answer.ts';
import type { StepPorts } from './ports.ts';
import { promptFor } from './prompt.ts';
import type { StepRequest } from './request.ts';
import { type StepTrace, timed } from './trace.ts';

/** The function of a step before admission: the caller's own, or what the model wrote for the prompt. */
export async function writtenFunction(
  ports: StepPorts,
  request: StepRequest,
  trace: StepTrace,
  signal: AbortSignal,
): Promise<Draft | Problem> {
  const { origin } = request;
  if (origin.from === 'caller') {
    return origin.draft;
  }
  const prompt = await timed(trace, ports.clock, 'prompt', () =>
    promptFor(ports.pack, origin.instruction, request.result, request.sources, ports.bounds.promptMaxBytes),
  );
  if (isProblem(prompt)) {
    return prompt;
  }
  trace.prompt = prompt;
  const context = { id: request.id, attempt: 1, traceparent: request.traceparent };
  const draft = await timed(trace, ports.clock, 'model', () =>
    ports.model.ask(prompt, origin.target, context, signal),
  );
  // Whatever the model was doing then: it is the request that ended, not the webhook that failed.
  return isProblem(draft) && signal.aborted
    ? problem('deadline_exceeded', 'The deadline passed while the model was being asked; nothing ran.')
    : draft;
}

/** Admits the draft; null if it was refused, with the verdict in the trace. */
export async function admittedFunction(
  ports: StepPorts,
  draft: Draft,
  trace: StepTrace,
): Promise<AdmittedFunction | null> {
  const verdict = await timed(trace, ports.clock, 'admission', () => ports.admission.admit(draft));
  trace.code = draft.source;
  if ('rule_id' in verdict) {
    ports.observer.admissionRefused(verdict.rule_id);
    trace.refusal = verdict;
    trace.failure = failure('code_not_admitted');
    trace.attempts.push({ code_sha256: '', admission: verdict });
    return null;
  }
  trace.code = verdict.text;
  trace.codeSha256 = verdict.sha256;
  trace.attempts.push({ code_sha256: verdict.sha256, admission: { admitted: true } });
  return verdict;
}

/** Looks once more before a container is taken: at the digest the caller approved, and at the deadline. */
export function lastRefusal(request: StepRequest, fn: AdmittedFunction, signal: AbortSignal): Problem | null {
  const { origin } = request;
  if (origin.from === 'caller' && origin.expectSha256 !== null && origin.expectSha256 !== fn.sha256) {
    return problem('code_mismatch', 'code is not the function that expect_code_sha256 names.', {
      extra: { code_sha256: fn.sha256 },
    });
  }
  return signal.aborted ? problem('deadline_exceeded', 'The deadline passed before the run.') : null;
}
