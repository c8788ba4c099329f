import type { Clock } from './clock.ts';
import { isProblem } from './contract/problem.ts';
import type { Meter } from './metering/permit.ts';
import type { StepObserver } from './step/observer.ts';
import type { Tenants } from './tenants.ts';

/** Quota gauges are read from the ledger at most this often: a scrape must not be a load. */
const QUOTAS_EVERY_MS = 15_000;

/** Brings the quota gauges up to the ledger, at most every QUOTAS_EVERY_MS. */
export function quotaGauges(
  meter: Meter,
  tenants: Tenants,
  observer: StepObserver,
  clock: Clock,
): () => Promise<void> {
  let readAtNs: bigint | null = null;
  return async () => {
    const nowNs = clock.monotonicNs();
    if (readAtNs !== null && nowNs - readAtNs < BigInt(QUOTAS_EVERY_MS) * 1_000_000n) {
      return;
    }
    readAtNs = nowNs;
    for (const tenant of tenants.list()) {
      const usage = await meter.usage(tenant.id);
      if (isProblem(usage)) {
        return;
      }
      observer.quota(tenant.id, 'compute_runs', usage.computeRuns, tenant.quotas.compute_runs);
      observer.quota(tenant.id, 'compute_seconds', usage.computeSeconds, tenant.quotas.compute_seconds);
    }
  };
}
