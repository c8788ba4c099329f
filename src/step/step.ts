import type { Quota } from '../contract/computation.ts';
import { isProblem, type Problem, problem } from '../contract/problem.ts';
import type { Tenant } from '../contract/tenant.ts';
import type { Permit, Quotas } from '../metering/permit.ts';
import { quotaOf, type StepAnswer, stepAnswer } from './answer.ts';
import { finishedStep } from './finished.ts';
import { admittedFunction, lastRefusal, writtenFunction } from './function.ts';
import { PHASES } from './observer.ts';
import type { StepPorts } from './ports.ts';
import type { StepRequest } from './request.ts';
import { runAndSettle } from './run.ts';
import { newTrace, type StepTrace, timed } from './trace.ts';

/** One compute step. Expected endings are values: a StepAnswer (HTTP 200) or a Problem (an HTTP error). */
export type Step = (request: StepRequest, signal: AbortSignal) => Promise<StepAnswer | Problem>;

/**
 * The pipeline: open permit, describe, render, ask, admit, run, settle, check. `signal` carries the one deadline
 * over all of it (reason `TimeoutError`) and the caller's hanging up (any other reason).
 */
export function createStep(ports: StepPorts): Step {
  return async (request, signal) => {
    const trace = newTrace();
    const end = await timed(trace, ports.clock, 'total', () => walk(ports, request, trace, signal)).catch(
      (error: unknown) => (error instanceof Error ? error : new Error('something not an Error was thrown')),
    );
    for (const phase of PHASES) {
      const ms = trace.phases[phase];
      if (ms !== undefined) {
        ports.observer.phase(phase, ms);
      }
    }
    ports.observer.stepFinished(finishedStep(request, trace, ports.pack.digest, signal, end));
    if (end instanceof Error) {
      throw end;
    }
    return end ?? stepAnswer(request, trace, ports.pack.digest);
  };
}

/** Null: the step ended in an answer, which is in the trace. */
async function walk(
  ports: StepPorts,
  request: StepRequest,
  trace: StepTrace,
  signal: AbortSignal,
): Promise<Problem | null> {
  const permit = await openPermit(ports, request);
  if (isProblem(permit)) {
    return permit;
  }
  try {
    const draft = await writtenFunction(ports, request, trace, signal);
    if (isProblem(draft)) {
      return draft;
    }
    const fn = await admittedFunction(ports, draft, trace);
    if (fn === null) {
      return null;
    }
    return (
      lastRefusal(request, fn, signal) ?? (await runAndSettle(ports, request, fn, permit, trace, signal))
    );
  } finally {
    await permit.release();
    trace.quota = await currentQuota(ports, request.tenant);
  }
}

/** Refuses what can be known before the caller's model costs money: no sandbox, a spent quota, no ledger. */
async function openPermit(ports: StepPorts, request: StepRequest): Promise<Permit | Problem> {
  const failing = (await ports.sandbox.readiness()).filter((state) => !state.ok);
  if (failing.length > 0) {
    return problem('sandbox_unavailable', 'The sandbox is not ready; nothing was asked, run or counted.', {
      retryAfterSeconds: 5,
      cause: failing.map((state) => `${state.check}: ${state.detail}`).join('; '),
    });
  }
  return ports.meter.open(request.tenant.id, quotasOf(request.tenant), request.id, ports.pack.digest);
}

/** A tenant's caps as the meter takes them. */
export function quotasOf(tenant: Tenant): Quotas {
  return { computeRuns: tenant.quotas.compute_runs, computeSeconds: tenant.quotas.compute_seconds };
}

async function currentQuota({ meter, observer }: StepPorts, tenant: Tenant): Promise<Quota | null> {
  const usage = await meter.usage(tenant.id);
  if (isProblem(usage)) {
    return null;
  }
  observer.quota(tenant.id, 'compute_runs', usage.computeRuns, tenant.quotas.compute_runs);
  observer.quota(tenant.id, 'compute_seconds', usage.computeSeconds, tenant.quotas.compute_seconds);
  return quotaOf(tenant, usage);
}
