import type { AdmittedFunction } from '../admission/admit.ts';
import { elapsedMs } from '../clock.ts';
import type { AdmissionRefusal } from '../contract/admission.ts';
import { isProblem, type Problem, problem } from '../contract/problem.ts';
import type { Draft } from '../model/reply.ts';
import type { Prompt } from '../prompt/render.ts';
import { failure } from './answer.ts';
import { cachedFunction } from './cached-function.ts';
import { deadlinePassed } from './deadline.ts';
import type { StepPorts } from './ports.ts';
import { promptFor } from './prompt.ts';
import type { StepRequest } from './request.ts';
import { roundMs, type StepTrace, timed } from './trace.ts';
import { watched } from './watch.ts';
import { commission, draftDigest, writeFunction } from './write-function.ts';
import type { Written } from './written.ts';

/**
 * The admitted function of a step: the caller's own, or what the model wrote for the prompt, now or before. Null if
 * it was not admitted, with the verdict in the trace.
 */
export async function functionOf(
  ports: StepPorts,
  request: StepRequest,
  trace: StepTrace,
  signal: AbortSignal,
): Promise<AdmittedFunction | Problem | null> {
  const { origin } = request;
  if (origin.from === 'caller') {
    return callersFunction(ports, origin.draft, trace);
  }
  const prompt = await watched(
    trace.watch,
    'prompt',
    () => timed(trace, ports.clock, 'prompt', () => render(ports, request, origin.instruction)),
    (end) => (isProblem(end) ? end.code : 'ok'),
  );
  if (isProblem(prompt)) {
    return prompt;
  }
  trace.prompt = prompt;
  const startNs = ports.clock.monotonicNs();
  const written = await (origin.cache === 'off'
    ? writeFunction(ports, commission(request, origin, prompt, trace.watch), signal)
    : cachedFunction(ports, request, origin, prompt, trace, signal));
  if (isProblem(written)) {
    trace.phases.model = roundMs(elapsedMs(ports.clock, startNs));
    return written;
  }
  trace.phases.model = roundMs(Math.max(0, elapsedMs(ports.clock, startNs) - written.admissionMs));
  trace.phases.admission = roundMs(written.admissionMs);
  return taken(written, trace);
}

function render(ports: StepPorts, request: StepRequest, instruction: string): Prompt | Problem {
  return promptFor(ports.pack, instruction, request.result, request.sources, ports.bounds.promptMaxBytes);
}

function taken(written: Written, trace: StepTrace): AdmittedFunction | Problem | null {
  trace.attempts.push(...written.attempts);
  switch (written.kind) {
    case 'failed':
      return written.attempts.length === 0
        ? written.problem
        : { ...written.problem, extra: { ...written.problem.extra, attempts: written.attempts } };
    case 'not_admitted':
      refused(trace, written.source, written.refusal);
      return null;
    case 'admitted':
      admitted(trace, written.fn);
      return written.fn;
  }
}

async function callersFunction(
  ports: StepPorts,
  draft: Draft,
  trace: StepTrace,
): Promise<AdmittedFunction | null> {
  const admission = trace.watch.began('admission');
  const verdict = await timed(trace, ports.clock, 'admission', () => ports.admission.admit(draft));
  if ('rule_id' in verdict) {
    admission.ended('not_admitted', verdict);
    ports.observer.admissionRefused(verdict.rule_id);
    trace.attempts.push({ code_sha256: draftDigest(draft), admission: verdict });
    refused(trace, draft.source, verdict);
    return null;
  }
  admission.ended('ok');
  trace.attempts.push({ code_sha256: verdict.sha256, admission: { admitted: true } });
  admitted(trace, verdict);
  return verdict;
}

function refused(trace: StepTrace, source: string, refusal: AdmissionRefusal): void {
  trace.code = source;
  trace.refusal = refusal;
  // A model may write another function; the caller's own would be refused again.
  trace.failure = failure('code_not_admitted', { retryable: trace.functionSource !== 'caller' });
}

function admitted(trace: StepTrace, fn: AdmittedFunction): void {
  trace.code = fn.text;
  trace.codeSha256 = fn.sha256;
}

/** Looks once more before a container is taken: at the digest the caller approved, and at the deadline. */
export function lastRefusal(request: StepRequest, fn: AdmittedFunction, signal: AbortSignal): Problem | null {
  const { origin } = request;
  if (origin.from === 'caller' && origin.expectSha256 !== null && origin.expectSha256 !== fn.sha256) {
    return problem('code_mismatch', 'code is not the function that expect_code_sha256 names.', {
      extra: { code_sha256: fn.sha256 },
    });
  }
  return deadlinePassed(signal, 'The deadline passed before the run.');
}
