import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Problem, problem } from '../contract/problem.ts';
import type { Tenant } from '../contract/tenant.ts';
import type { Tenants } from '../tenants.ts';
import { bodyTooLarge, ProblemError } from './errors.ts';
import type { ByteBudget, TenantSlots } from './inflight.ts';

/** What the hooks know of a request, kept beside it: the framework's objects stay as they are. */
export interface Calls {
  /** The tenant of an authorized request. */
  tenantOf(request: FastifyRequest): Tenant;
  /** Refuses an unknown key. Runs before the body is read. */
  authorize(request: FastifyRequest): Promise<void>;
  /** Holds the request's place and bytes until its answer has gone out or its connection has closed. */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<void>;
}

const UNAUTHORIZED = problem('unauthorized', 'Send a known API key as Authorization: Bearer <key>.');
const MAX_KEY_LENGTH = 256;

/** The checks that come before the body: key, tenant's concurrency, bytes in work. */
export function createCalls(
  tenants: Tenants,
  slots: TenantSlots,
  budget: ByteBudget,
  bodyMaxBytes: number,
): Calls {
  const known = new WeakMap<FastifyRequest, Tenant>();
  const tenantOf = (request: FastifyRequest): Tenant => {
    const tenant = known.get(request);
    if (tenant === undefined) {
      throw new Error('tenantOf before authorize');
    }
    return tenant;
  };
  return {
    tenantOf,
    authorize: async (request) => {
      const tenant = tenants.find(bearerKey(request.headers.authorization));
      if (tenant === null) {
        throw new ProblemError(UNAUTHORIZED);
      }
      known.set(request, tenant);
    },
    admit: async (request, reply) => {
      const tenant = tenantOf(request);
      if (Number(request.headers['content-length'] ?? 0) > bodyMaxBytes) {
        throw new ProblemError(bodyTooLarge(bodyMaxBytes));
      }
      if (!slots.take(tenant.id, tenant.max_concurrency)) {
        throw new ProblemError(tooMany());
      }
      const bytes = announcedBytes(request, bodyMaxBytes);
      if (!budget.take(bytes)) {
        slots.give(tenant.id);
        throw new ProblemError(bodiesFull());
      }
      reply.raw.once('close', () => {
        slots.give(tenant.id);
        budget.give(bytes);
      });
    },
  };
}

/** The key of an Authorization header, or "" (which no digest matches): the same work either way. */
function bearerKey(header: string | undefined): string {
  const match = /^Bearer ([\x21-\x7e]+)$/i.exec(header ?? '');
  const key = match?.[1] ?? '';
  return key.length <= MAX_KEY_LENGTH ? key : '';
}

/** The announced length, or the most a body may have where none is announced. */
function announcedBytes(request: FastifyRequest, bodyMaxBytes: number): number {
  const length = Number(request.headers['content-length'] ?? bodyMaxBytes);
  return Number.isSafeInteger(length) ? Math.min(length, bodyMaxBytes) : bodyMaxBytes;
}

function tooMany(): Problem {
  return problem('too_many_requests', 'This tenant has max_concurrency requests in work; try again.', {
    retryAfterSeconds: 1,
  });
}

function bodiesFull(): Problem {
  return problem('overloaded', 'The bodies in work have reached BODY_INFLIGHT_MAX_BYTES; try again.', {
    retryAfterSeconds: 1,
  });
}
