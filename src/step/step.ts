import type { AdmittedFunction } from '../admission/admit.ts';
import type { Quota } from '../contract/computation.ts';
import { isProblem, type Problem, problem } from '../contract/problem.ts';
import type { Tenant } from '../contract/tenant.ts';
import type { Permit, Quotas } from '../metering/permit.ts';
import { quotaOf, type StepAnswer, stepAnswer } from './answer.ts';
import { deadlinePassed } from './deadline.ts';
import { functionOf, lastRefusal } from './function.ts';
import { observed } from './observed.ts';
import type { StepPorts } from './ports.ts';
import type { StepRequest } from './request.ts';
import { runAndSettle } from './run.ts';
import { newTrace, type StepTrace } from './trace.ts';
import type { StepWatch } from './watch.ts';

/** One compute step. Expected endings are values: a StepAnswer (HTTP 200) or a Problem (an HTTP error). */
export type Step = (
  request: StepRequest,
  signal: AbortSignal,
  watch?: StepWatch,
) => Promise<StepAnswer | Problem>;

/**
 * The pipeline: open permit, describe, render, ask, admit, run, settle, check. `signal` carries the one deadline
 * over all of it (reason `TimeoutError`) and the caller's hanging up (any other reason).
 */
export function createStep(ports: StepPorts): Step {
  let permitsOpen = 0;
  const hold = (change: 1 | -1): void => {
    permitsOpen += change;
    ports.observer.permitsOpen(permitsOpen);
  };
  return async (request, signal, watch) => {
    const trace = newTrace(request.origin.from, watch);
    const end = await observed(ports, request, trace, signal, () =>
      walk(ports, request, trace, signal, hold),
    );
    return end ?? stepAnswer(request, trace, ports.pack.digest);
  };
}

/** Null: the step ended in an answer, which is in the trace. */
async function walk(
  ports: StepPorts,
  request: StepRequest,
  trace: StepTrace,
  signal: AbortSignal,
  hold: (change: 1 | -1) => void,
): Promise<Problem | null> {
  const permit = await openPermit(ports, request);
  if (isProblem(permit)) {
    return permit;
  }
  hold(1);
  try {
    const early = deadlinePassed(signal, 'The deadline passed before anything was asked.');
    const fn = early ?? (await functionOf(ports, request, trace, signal));
    if (fn === null || isProblem(fn)) {
      return fn;
    }
    const refusal = lastRefusal(request, fn, signal);
    if (refusal !== null) {
      return refusal;
    }
    const end = await runAndSettle(ports, request, fn, permit, trace, signal);
    forgetFailed(ports, request, trace, fn);
    return end;
  } finally {
    await permit.release();
    hold(-1);
    trace.quota = await currentQuota(ports, request.tenant, permit);
  }
}

/** A function that raised or returned the wrong type would do so again: the next asker gets another one. */
function forgetFailed(ports: StepPorts, request: StepRequest, trace: StepTrace, fn: AdmittedFunction): void {
  const code = trace.failure?.code;
  if (trace.cacheKey !== null && (code === 'exception' || code === 'result_type_mismatch')) {
    ports.cache.evict(request.tenant.id, trace.cacheKey, fn.text);
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
  const { id, tenant, idempotency } = request;
  return ports.meter.open(tenant.id, quotasOf(tenant), id, ports.pack.digest, idempotency);
}

/** A tenant's caps as the meter takes them. */
export function quotasOf(tenant: Tenant): Quotas {
  return { computeRuns: tenant.quotas.compute_runs, computeSeconds: tenant.quotas.compute_seconds };
}

/** The tenant's month after the step: as its run was settled in it, else as the ledger reads now. */
async function currentQuota(
  { meter, observer }: StepPorts,
  tenant: Tenant,
  { month, used }: Permit,
): Promise<Quota | null> {
  const usage = used ? { month, ...used } : await meter.usage(tenant.id);
  if (isProblem(usage)) {
    return null;
  }
  observer.quota(tenant.id, 'compute_runs', usage.computeRuns, tenant.quotas.compute_runs);
  observer.quota(tenant.id, 'compute_seconds', usage.computeSeconds, tenant.quotas.compute_seconds);
  return quotaOf(tenant, usage);
}
