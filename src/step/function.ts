import type { AdmittedFunction } from '../admission/admit.ts';
import { elapsedMs } from '../clock.ts';
import type { AdmissionRefusal } from '../contract/admission.ts';
import { isProblem, type Problem, problem } from '../contract/problem.ts';
import { type Draft, draftOf } from '../model/reply.ts';
import type { Prompt } from '../prompt/render.ts';
import { failure } from './answer.ts';
import { deadlinePassed } from './deadline.ts';
import { flightKey, functionKey } from './function-cache.ts';
import type { StepPorts } from './ports.ts';
import { promptFor } from './prompt.ts';
import type { ModelOrigin, StepRequest } from './request.ts';
import { roundMs, type StepTrace, timed } from './trace.ts';
import { draftDigest, writeFunction } from './write-function.ts';
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
  const prompt = await timed(trace, ports.clock, 'prompt', () =>
    promptFor(ports.pack, origin.instruction, request.result, request.sources, ports.bounds.promptMaxBytes),
  );
  if (isProblem(prompt)) {
    return prompt;
  }
  trace.prompt = prompt;
  const startNs = ports.clock.monotonicNs();
  const written = await (origin.cache === 'off'
    ? writeFunction(ports, commission(request, origin, prompt), signal)
    : throughCache(ports, request, origin, prompt, trace, signal));
  if (isProblem(written)) {
    trace.phases.model = roundMs(elapsedMs(ports.clock, startNs));
    return written;
  }
  trace.phases.model = roundMs(Math.max(0, elapsedMs(ports.clock, startNs) - written.admissionMs));
  trace.phases.admission = roundMs(written.admissionMs);
  return taken(written, trace);
}

function commission({ id, traceparent }: StepRequest, { target, maxAttempts }: ModelOrigin, prompt: Prompt) {
  return { id, prompt, target, traceparent, maxAttempts };
}

/** The function kept for the prompt, or one written for everybody who asks for it now, which is then kept. */
async function throughCache(
  ports: StepPorts,
  request: StepRequest,
  origin: ModelOrigin,
  prompt: Prompt,
  trace: StepTrace,
  signal: AbortSignal,
): Promise<Written | Problem> {
  const { cache, observer } = ports;
  const tenant = request.tenant.id;
  const key = functionKey(prompt, origin.target);
  trace.cacheKey = key;
  const kept = origin.cache === 'use' ? keptFunction(ports, tenant, key) : null;
  if (kept !== null) {
    observer.functionCache('hit');
    trace.functionSource = 'cache';
    return kept;
  }
  const joined = await cache.writing.join(
    flightKey(tenant, key, origin.target, origin.maxAttempts),
    async (shared) => {
      if (origin.cache === 'use') {
        observer.functionCache('miss');
      }
      const written = await writeFunction(ports, commission(request, origin, prompt), shared);
      if (written.kind === 'admitted') {
        cache.store(tenant, key, { text: written.fn.text, attempts: written.attempts });
      }
      return written;
    },
    signal,
  );
  if (joined.kind === 'left') {
    return problem(
      'deadline_exceeded',
      'The deadline passed while the function was being written; nothing ran.',
    );
  }
  if (!joined.led) {
    // No call of its own was paid for.
    observer.functionCache('hit');
    trace.functionSource = 'cache';
  }
  return joined.value;
}

/** Admitted again like any other: what is kept is text, and only admission makes a function of it. Else a miss. */
function keptFunction(ports: StepPorts, tenant: string, key: string): Written | null {
  const kept = ports.cache.find(tenant, key);
  if (kept === null) {
    return null;
  }
  const startNs = ports.clock.monotonicNs();
  const fn = ports.admission.admit(draftOf(kept.text));
  if ('rule_id' in fn) {
    return null;
  }
  return { kind: 'admitted', fn, attempts: kept.attempts, admissionMs: elapsedMs(ports.clock, startNs) };
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
  const verdict = await timed(trace, ports.clock, 'admission', () => ports.admission.admit(draft));
  if ('rule_id' in verdict) {
    ports.observer.admissionRefused(verdict.rule_id);
    trace.attempts.push({ code_sha256: draftDigest(draft), admission: verdict });
    refused(trace, draft.source, verdict);
    return null;
  }
  trace.attempts.push({ code_sha256: verdict.sha256, admission: { admitted: true } });
  admitted(trace, verdict);
  return verdict;
}

function refused(trace: StepTrace, source: string, refusal: AdmissionRefusal): void {
  trace.code = source;
  trace.refusal = refusal;
  trace.failure = failure('code_not_admitted');
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
