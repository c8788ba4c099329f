import type { Problem } from '../contract/problem.ts';
import { traceContext } from '../contract/traceparent.ts';
import { isDeadline } from './deadline.ts';
import type { FinishedStep, StepOutcome } from './observer.ts';
import type { StepRequest } from './request.ts';
import type { StepTrace } from './trace.ts';

/** How a step ended, for the log and the metrics: codes, ids, digests and times. */
export function finishedStep(
  request: StepRequest,
  trace: StepTrace,
  packDigest: string,
  signal: AbortSignal,
  end: Problem | Error | null,
  note?: string,
): FinishedStep {
  const { report, refusal } = trace;
  const refused = end !== null;
  return {
    id: request.id,
    tenant: request.tenant.id,
    state: refused
      ? 'refused'
      : refusal !== null
        ? 'not_admitted'
        : trace.failure !== null
          ? 'failed'
          : 'succeeded',
    outcome: outcomeOf(trace, signal, end),
    ruleId: refusal?.rule_id ?? null,
    metered: trace.metered,
    promptPackDigest: packDigest,
    codeSha256: trace.codeSha256,
    functionSource: trace.functionSource,
    attempts: trace.attempts.length,
    image: report === null || report.kind === 'notStarted' ? null : report.usage.image,
    traceId: traceContext(request.traceparent)?.traceId ?? null,
    timingsMs: trace.phases,
    ...(note === undefined ? {} : { note }),
    ...(end instanceof Error ? { cause: end } : end?.cause === undefined ? {} : { cause: end.cause }),
  };
}

function outcomeOf(trace: StepTrace, signal: AbortSignal, end: Problem | Error | null): StepOutcome {
  if (end instanceof Error) {
    return 'internal_error';
  }
  if (end !== null) {
    return signal.aborted && !isDeadline(signal) ? 'cancelled' : end.code;
  }
  return trace.failure?.code ?? 'succeeded';
}
