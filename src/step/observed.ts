import type { Problem } from '../contract/problem.ts';
import { finishedStep } from './finished.ts';
import { PHASES } from './observer.ts';
import type { StepPorts } from './ports.ts';
import type { StepRequest } from './request.ts';
import { type StepTrace, timed } from './trace.ts';

/**
 * Does the work of a request and tells the observer its phases and its end, however it ends; what was thrown is
 * thrown on. Null: the request ended in an answer, which is in the trace.
 */
export async function observed(
  ports: StepPorts,
  request: StepRequest,
  trace: StepTrace,
  signal: AbortSignal,
  work: () => Promise<Problem | null>,
  note?: string,
): Promise<Problem | null> {
  const end = await timed(trace, ports.clock, 'total', work).catch((error: unknown) =>
    error instanceof Error ? error : new Error('something not an Error was thrown'),
  );
  for (const phase of PHASES) {
    const ms = trace.phases[phase];
    if (ms !== undefined) {
      ports.observer.phase(phase, ms);
    }
  }
  const finished = finishedStep(request, trace, ports.pack.digest, signal, end, note);
  ports.observer.stepFinished(finished);
  trace.watch.finished(finished);
  if (end instanceof Error) {
    throw end;
  }
  return end;
}
