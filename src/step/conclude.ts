import type { AdmittedFunction } from '../admission/admit.ts';
import type { Failure } from '../contract/computation.ts';
import { type Problem, problem } from '../contract/problem.ts';
import type { ResultAsk } from '../contract/result-type.ts';
import type { RunOutcome } from '../metering/permit.ts';
import { checkResult } from '../result/check.ts';
import { maskPath } from '../result/path.ts';
import type { SchemaChecker } from '../result/schema-check.ts';
import type { RunReport } from '../sandbox/port.ts';
import { failure } from './answer.ts';

/** A run that reached the sandbox. */
export type StartedReport = Exclude<RunReport, { kind: 'notStarted' }>;
export type UnstartedReport = Extract<RunReport, { kind: 'notStarted' }>;

/** What a run came to: a result to relay, or a failure. */
export type Conclusion =
  | { readonly resultText: string; readonly failure: null }
  | { readonly resultText: null; readonly failure: Failure };

/** The outcome a run is settled with, before its result is checked. */
export function runOutcome(report: StartedReport): RunOutcome {
  switch (report.kind) {
    case 'returned':
      return 'succeeded';
    case 'raised':
      return 'exception';
    case 'notJson':
      return 'result_not_json';
    case 'killed':
      return report.reason;
  }
}

/** Turns a run's report into its result or its failure: what was returned is checked against what was asked. */
export async function conclude(
  report: StartedReport,
  ask: ResultAsk,
  checker: SchemaChecker,
): Promise<Conclusion> {
  switch (report.kind) {
    case 'returned': {
      const checked = await checkResult(report.result, ask, checker);
      if (checked.kind === 'checked') {
        return { resultText: checked.text, failure: null };
      }
      const { path, wanted, got } = checked;
      return failed(failure(checked.code, { path, wanted, got }));
    }
    case 'raised': {
      const { exception, line } = report;
      return failed(failure('exception', line === null ? { exception } : { exception, line }));
    }
    case 'notJson': {
      const { path, pythonType } = report.notJson;
      return failed(failure('result_not_json', { path: maskPath(path, ask.schema), got: pythonType }));
    }
    case 'killed':
      return failed(failure(report.reason));
  }
}

function failed(why: Failure): Conclusion {
  return { resultText: null, failure: why };
}

/**
 * The problem a run that never started ends with. Null for `sandbox_unavailable`, which is a failed Computation
 * at this point: the model has been asked, and its function is in the answer.
 */
export function unstartedProblem(report: UnstartedReport, fn: AdmittedFunction): Problem | null {
  const cause = report.detail;
  switch (report.reason) {
    case 'sandbox_unavailable':
      return null;
    case 'overloaded':
      return problem('overloaded', 'Every place is taken; send this function to /v1/compute/run later.', {
        retryAfterSeconds: 1,
        extra: inHand(fn),
        cause,
      });
    case 'ledger_unavailable':
      return problem('ledger_unavailable', 'The run could not be recorded, so it was not started.', {
        retryAfterSeconds: 5,
        extra: inHand(fn),
        cause,
      });
    case 'deadline_exceeded':
    case 'cancelled':
      return problem('deadline_exceeded', 'The deadline passed before the function could be run.', {
        extra: inHand(fn),
        cause,
      });
  }
}

/** The model has been paid: with its function in hand the caller can finish by `/v1/compute/run`, asking nobody. */
function inHand(fn: AdmittedFunction) {
  return { code_sha256: fn.sha256, function: { code: fn.text } };
}
