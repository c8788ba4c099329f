import type { Computation, Failure, Quota, SandboxUsage, Timings } from '../contract/computation.ts';
import { FAILURES, type FailureCode } from '../contract/failure.ts';
import type { Tenant } from '../contract/tenant.ts';
import { resetsAt } from '../metering/months.ts';
import type { UsedInMonth } from '../metering/permit.ts';
import type { Prompt } from '../prompt/render.ts';
import type { RunReport, RunUsage } from '../sandbox/port.ts';
import type { StepRequest } from './request.ts';
import type { StepTrace } from './trace.ts';

/** A Computation and, beside it, its result as the JSON text that Python wrote: digits are not re-read. */
export interface StepAnswer {
  readonly kind: 'answer';
  readonly computation: Computation;
  /** Null unless the state is `succeeded`. */
  readonly resultText: string | null;
}

/** A Failure by its code; `more` adds what the code allows to be shown. */
export function failure(code: FailureCode, more: Omit<Partial<Failure>, 'code'> = {}): Failure {
  const { message, retryable } = FAILURES[code];
  return { code, message, retryable, ...more };
}

/** Makes the answer from what a step has come to. */
export function stepAnswer(request: StepRequest, trace: StepTrace, packDigest: string): StepAnswer {
  const { report, prompt } = trace;
  const detail = request.includeDetail ? detailOf(report) : null;
  // A function that was paid for and could not be run is for the caller to run later, as with problems.
  const isOwed = trace.failure?.code === 'sandbox_unavailable';
  const shownCode = (request.includeCode || isOwed) && trace.code !== null ? { code: trace.code } : {};
  return {
    kind: 'answer',
    resultText: trace.resultText,
    computation: {
      id: request.id,
      state: trace.refusal !== null ? 'not_admitted' : trace.failure !== null ? 'failed' : 'succeeded',
      result_type: request.result.type,
      admission: trace.refusal ?? { admitted: true },
      failure: trace.failure,
      sandbox: report === null || report.kind === 'notStarted' ? null : usageOf(report.usage),
      prompt_pack_digest: packDigest,
      code_sha256: trace.codeSha256,
      function: { source: trace.functionSource, ...shownCode },
      attempts: trace.attempts,
      prompt: prompt && shownPrompt(prompt),
      ...(detail === null ? {} : { detail }),
      metered: { compute_runs: trace.metered.computeRuns, compute_seconds: trace.metered.computeSeconds },
      quota: trace.quota,
      timings_ms: { ...NO_TIME, ...trace.phases },
    },
  };
}

/** A prompt as callers see it. */
export function shownPrompt({ text, system, user, schema }: Prompt): NonNullable<Computation['prompt']> {
  return { text, system, user, schema };
}

const NO_TIME: Timings = { prompt: 0, model: 0, admission: 0, queue: 0, sandbox: 0, total: 0 };

function detailOf(report: RunReport | null): NonNullable<Computation['detail']> | null {
  if (report?.kind !== 'raised' && report?.kind !== 'returned') {
    return null;
  }
  return {
    ...(report.kind === 'raised' && report.text !== null ? { exception_text: report.text } : {}),
    ...(report.printed !== null ? { printed: report.printed } : {}),
  };
}

function usageOf(usage: RunUsage): SandboxUsage {
  return {
    wall_seconds: Number(usage.wallNs) / 1e9,
    cpu_seconds: usage.cpuSeconds,
    peak_memory_bytes: usage.peakMemoryBytes,
    peak_memory_source: usage.peakMemorySource,
    exit_code: usage.exitCode,
    output_bytes: usage.outputBytes,
    image: usage.image,
  };
}

/** A tenant's month as callers see it. */
export function quotaOf(tenant: Tenant, usage: UsedInMonth & { readonly month: string }): Quota {
  return {
    month: usage.month,
    compute_runs: { used: usage.computeRuns, limit: tenant.quotas.compute_runs },
    compute_seconds: { used: usage.computeSeconds, limit: tenant.quotas.compute_seconds },
    resets_at: resetsAt(usage.month),
  };
}
