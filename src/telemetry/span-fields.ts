import { type Attributes, type Span, SpanStatusCode } from '@opentelemetry/api';
import { FAILURES } from '../contract/failure.ts';
import { PROBLEMS } from '../contract/problem.ts';
import type { FinishedStep } from '../step/observer.ts';
import type { PhaseOutcome, RefusedAt } from '../step/watch.ts';
import type { TracedRequest } from './tracing.ts';

/** Names of OpenTelemetry's semantic conventions where there are some, else of the service's own. */
export function requestAttributes({ id, tenant, method, route }: TracedRequest): Attributes {
  return {
    'http.request.method': method,
    'http.route': route,
    'url.path': route,
    'url.scheme': 'http',
    'compute_step.id': id,
    'compute_step.tenant': tenant,
  };
}

/** How a phase ended. A refused function and a reply without one are ends like any other; the rest are errors. */
export function markPhase(
  span: Span,
  outcome: PhaseOutcome,
  attempt: number | undefined,
  refusal: RefusedAt | undefined,
): void {
  span.setAttributes({
    'compute_step.outcome': outcome,
    ...(attempt === undefined ? {} : { 'compute_step.attempt': attempt }),
    ...(refusal === undefined ? {} : { 'compute_step.rule_id': refusal.rule_id }),
  });
  if (outcome in FAILURES || outcome in PROBLEMS) {
    failed(span, outcome);
  }
}

/** What a step came to: ids, codes, digests and counts by name; nothing else of it has a way into a span. */
export function markFinished(span: Span, step: FinishedStep): void {
  span.setAttributes({
    'compute_step.state': step.state,
    'compute_step.outcome': step.outcome,
    'compute_step.function.source': step.functionSource,
    'compute_step.attempts': step.attempts,
    'compute_step.compute_runs': step.metered.computeRuns,
    'compute_step.compute_seconds': step.metered.computeSeconds,
    'compute_step.prompt_pack.digest': step.promptPackDigest,
    ...(step.ruleId === null ? {} : { 'compute_step.rule_id': step.ruleId }),
    ...(step.codeSha256 === '' ? {} : { 'compute_step.code.sha256': step.codeSha256 }),
    ...(step.image === null ? {} : { 'compute_step.image': step.image }),
  });
  if (isServerFault(step.outcome)) {
    failed(span, step.outcome);
  }
}

/** The status on the wire; null: none was sent. As the conventions say, only a 5xx is an error of a server. */
export function markAnswered(span: Span, status: number | null): void {
  if (status === null) {
    return;
  }
  span.setAttribute('http.response.status_code', status);
  if (status >= 500) {
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
}

/** Also where it came after a stream of events had begun with 200. */
function isServerFault(outcome: FinishedStep['outcome']): boolean {
  return outcome in PROBLEMS && PROBLEMS[outcome as keyof typeof PROBLEMS].status >= 500;
}

/** By its code: a message could hold a piece of the data it is about. */
function failed(span: Span, code: string): void {
  span.setAttribute('error.type', code);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
