import type { AdmittedFunction } from '../admission/admit.ts';
import { elapsedMs } from '../clock.ts';
import { type Problem, problem } from '../contract/problem.ts';
import type { Permit } from '../metering/permit.ts';
import { sandboxData } from '../sandbox/data.ts';
import type { RunReport } from '../sandbox/port.ts';
import { failure } from './answer.ts';
import { conclude, runOutcome, type StartedReport, unstartedProblem } from './conclude.ts';
import { isDeadline } from './deadline.ts';
import type { StepPorts } from './ports.ts';
import type { StepRequest } from './request.ts';
import { roundMs, type StepTrace } from './trace.ts';
import type { PhaseOutcome } from './watch.ts';

/** Runs the function, settles, checks the result. Null: the answer is in the trace. */
export async function runAndSettle(
  ports: StepPorts,
  request: StepRequest,
  fn: AdmittedFunction,
  permit: Permit,
  trace: StepTrace,
  signal: AbortSignal,
): Promise<Problem | null> {
  const report = await inSandbox(ports, request, fn, permit, trace, signal);
  trace.report = report;
  if (report.kind === 'notStarted') {
    trace.failure = failure('sandbox_unavailable');
    return unstartedProblem(report, fn);
  }
  // Straight after the run, before the check: a wrong type, a crash or a caller that hung up still counts.
  trace.metered = await permit.settle(report.usage.wallNs, runOutcome(report));
  if (endedByDeadline(report, request, signal)) {
    await permit.amend('timeout');
    return problem('deadline_exceeded', 'The deadline passed while the function ran; the run counts.', {
      counted: true,
    });
  }
  await checkAndAmend(ports, request, report, permit, trace);
  return null;
}

/**
 * Whether the request's deadline ended the run. The sandbox calls that `timeout` too, but only a run that spent its
 * own limit has the limit as its wall time.
 */
function endedByDeadline(report: StartedReport, { limits }: StepRequest, signal: AbortSignal): boolean {
  if (report.kind !== 'killed' || !isDeadline(signal)) {
    return false;
  }
  const early = report.usage.wallNs < BigInt(Math.round(limits.wallMs * 1e6));
  return report.reason === 'cancelled' || (report.reason === 'timeout' && early);
}

/** Calls the sandbox; what comes before a container was taken is the queue, the rest is the sandbox. */
async function inSandbox(
  ports: StepPorts,
  request: StepRequest,
  fn: AdmittedFunction,
  permit: Permit,
  trace: StepTrace,
  signal: AbortSignal,
): Promise<RunReport> {
  const startNs = ports.clock.monotonicNs();
  let takenMs: number | null = null;
  let phase = trace.watch.began('queue');
  const report = await ports.sandbox.run(
    fn,
    sandboxData(request.sources),
    permit,
    {
      ...request.limits,
      resultMaxBytes: ports.bounds.resultMaxBytes,
      resultMaxDepth: ports.bounds.resultMaxDepth,
      decimalAsString: request.result.type === 'decimal',
      detailMaxBytes: request.includeDetail ? ports.bounds.detailMaxBytes : 0,
    },
    signal,
    {
      taken: () => {
        takenMs = elapsedMs(ports.clock, startNs);
        phase.ended('ok');
        phase = trace.watch.began('sandbox');
      },
    },
  );
  phase.ended(sandboxOutcome(report));
  const totalMs = elapsedMs(ports.clock, startNs);
  trace.phases.queue = roundMs(takenMs ?? totalMs);
  trace.phases.sandbox = takenMs === null ? 0 : roundMs(totalMs - takenMs);
  return report;
}

function sandboxOutcome(report: RunReport): PhaseOutcome {
  const outcome = report.kind === 'notStarted' ? report.reason : runOutcome(report);
  return outcome === 'succeeded' ? 'ok' : outcome;
}

async function checkAndAmend(
  ports: StepPorts,
  request: StepRequest,
  report: StartedReport,
  permit: Permit,
  trace: StepTrace,
): Promise<void> {
  const { failure: why, resultText } = await conclude(report, request.result, ports.checker);
  trace.failure = why;
  trace.resultText = resultText;
  if (why !== null && why.code !== runOutcome(report)) {
    await permit.amend(why.code);
  }
}
