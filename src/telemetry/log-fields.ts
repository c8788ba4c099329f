import { FAILURES } from '../contract/failure.ts';
import { PROBLEMS } from '../contract/problem.ts';
import { type FinishedStep, PHASES } from '../step/observer.ts';
import { errorFields } from './error-fields.ts';

export type LogFields = Readonly<Record<string, unknown>>;

/** Longest text in a line, in characters: an id, a tenant, a note. */
const MAX_TEXT = 300;

const DIGEST = /^(?:sha256:)?[0-9a-f]{64}$/;
const TRACE_ID = /^[0-9a-f]{32}$/;
const OUTCOMES: ReadonlySet<string> = new Set([
  'succeeded',
  ...Object.keys(FAILURES),
  ...Object.keys(PROBLEMS),
]);

/**
 * The line of a finished step. Each field is taken by name and by form; whatever else the object carries (a
 * prompt, a result, a header) has no way into the log.
 */
export function stepFields(step: FinishedStep): LogFields {
  return {
    id: text(step.id),
    tenant: text(step.tenant),
    state: text(step.state),
    outcome: OUTCOMES.has(step.outcome) ? step.outcome : 'unknown',
    ...(step.ruleId === null ? {} : { rule_id: text(step.ruleId) }),
    compute_runs: number(step.metered.computeRuns),
    compute_seconds: number(step.metered.computeSeconds),
    // Of a step that came to no function there is none to tell the source of.
    function_source: step.attempts === 0 && step.codeSha256 === '' ? '' : text(step.functionSource),
    attempts: number(step.attempts),
    prompt_pack_digest: digest(step.promptPackDigest),
    code_sha256: digest(step.codeSha256),
    image: digest(step.image ?? ''),
    ...(step.traceId !== null && TRACE_ID.test(step.traceId) ? { trace_id: step.traceId } : {}),
    timings_ms: timings(step.timingsMs),
    ...(step.note === undefined ? {} : { note: text(step.note) }),
    ...causeFields(step.cause),
  };
}

function causeFields(cause: unknown): LogFields {
  if (cause === undefined) {
    return {};
  }
  return typeof cause === 'string' ? { cause: text(cause) } : { error: errorFields(cause) };
}

function timings(timingsMs: FinishedStep['timingsMs']): LogFields {
  const out: Record<string, number> = {};
  for (const phase of PHASES) {
    const ms = timingsMs[phase];
    if (ms !== undefined) {
      out[phase] = number(ms);
    }
  }
  return out;
}

/** A text of the service's own, on one line's length. */
export function text(value: string): string {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : '';
}

/** A number with microseconds at most; anything else is 0. */
export function number(value: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.round(value * 1000) / 1000 : 0;
}

/** A SHA-256, or nothing. */
function digest(value: string): string {
  return DIGEST.test(value) ? value : '';
}
