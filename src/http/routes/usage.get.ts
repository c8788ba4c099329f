import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isProblem } from '../../contract/problem.ts';
import type { Tenant } from '../../contract/tenant.ts';
import { resetsAt } from '../../metering/months.ts';
import type { Usage } from '../../metering/permit.ts';
import type { RouteDeps } from '../deps.ts';
import { sendProblem } from '../errors.ts';
import { problemsOf } from '../openapi.ts';

const shared = {
  operationId: 'usage',
  summary: 'This month’s counts',
  description: 'The tenant’s own counts, caps, what is left and when it resets.',
  response: { 200: Type.Ref('Usage'), ...problemsOf('usage') },
};

/** `GET /v1/usage` and `GET /v1/usage/{yyyy-mm}`: the calling tenant's own month. */
export function usageRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const answer = async (http: FastifyRequest, reply: FastifyReply, month?: string): Promise<FastifyReply> => {
    const tenant = deps.calls.tenantOf(http);
    const usage = await deps.meter.usage(tenant.id, month);
    return isProblem(usage) ? sendProblem(reply, usage) : reply.send(usageBody(tenant, usage));
  };
  app.get('/usage', { schema: shared }, (http, reply) => answer(http, reply));
  app.get<{ Params: { month: string } }>(
    '/usage/:month',
    {
      schema: {
        ...shared,
        operationId: 'usageOfMonth',
        summary: 'A month’s counts',
        params: Type.Object({
          month: Type.String({ pattern: '^20[0-9]{2}-(0[1-9]|1[0-2])$', description: 'UTC month, yyyy-mm.' }),
        }),
      },
    },
    (http, reply) => answer(http, reply, http.params.month),
  );
}

function usageBody(tenant: Tenant, usage: Usage): Record<string, unknown> {
  const { quotas } = tenant;
  return {
    tenant: tenant.id,
    month: usage.month,
    compute_runs: meter(usage.computeRuns, quotas.compute_runs),
    compute_seconds: meter(usage.computeSeconds, quotas.compute_seconds),
    open_permits: usage.openPermits,
    outcomes: usage.outcomes,
    resets_at: resetsAt(usage.month),
  };
}

function meter(
  used: number,
  limit: number | null,
): { used: number; limit: number | null; remaining: number | null } {
  return { used, limit, remaining: limit === null ? null : Math.max(0, limit - used) };
}
