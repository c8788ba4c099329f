import type { FastifyRequest } from 'fastify';
import { faultChecker } from '../contract/faults.ts';
import { isProblem, type Problem } from '../contract/problem.ts';
import {
  type ComputeRequest,
  ComputeRequestSchema,
  DEFAULT_ATTEMPTS,
  type RunRequest,
  RunRequestSchema,
} from '../contract/request.ts';
import type { Tenant } from '../contract/tenant.ts';
import type { ReadBody } from '../json/body.ts';
import type { BodyReader } from '../json/read.ts';
import { chooseTarget, type ModelConfig } from '../model/choose.ts';
import { draftOf } from '../model/reply.ts';
import type { SchemaChecker } from '../result/schema-check.ts';
import type { FunctionOrigin, StepRequest } from '../step/request.ts';
import { tenantModel } from '../tenants.ts';
import { readBody } from './read-body.ts';
import { resultSchemaProblem } from './result-schema.ts';
import { askedOf, includesOf, limitsOf, type OperatorLimits, resultAsk, sourcesOf } from './step-request.ts';

const checkCompute = faultChecker(ComputeRequestSchema);
const checkRun = faultChecker(RunRequestSchema);

/** What turning a body into a step needs. */
export interface StepReader {
  readonly reader: BodyReader;
  readonly checker: SchemaChecker;
  readonly limits: OperatorLimits;
  readonly operatorModel: ModelConfig | null;
}

/** One HTTP call: the id that its step, run and log line will have, and whose it is. */
export interface Call {
  readonly id: string;
  readonly tenant: Tenant;
  readonly http: FastifyRequest;
  /** Of the request's own span, or the caller's; null: neither. */
  readonly traceparent: string | null;
  readonly idempotency: StepRequest['idempotency'];
}

/** A step and the deadline it was asked with. */
export interface ReadStep {
  readonly kind: 'step';
  readonly request: StepRequest;
  readonly timeoutMs: number;
}

/** Reads the body of `POST /v1/compute`, and of `POST /v1/compute/draft`, which takes the same. */
export async function readComputeStep(
  deps: StepReader,
  call: Call,
  signal: AbortSignal,
): Promise<ReadStep | Problem> {
  const { tenant } = call;
  const read = await readBody(deps.reader, checkCompute, call.http.body, signal);
  if (isProblem(read)) {
    return read;
  }
  const body = read.envelope as ComputeRequest;
  const asked = askedOf(body);
  if (isProblem(asked)) {
    return asked;
  }
  const target = chooseTarget({
    caller: body.model ?? null,
    tenant: tenantModel(tenant),
    operator: deps.operatorModel,
    allowModelUrl: tenant.allow_model_url ?? null,
  });
  if (isProblem(target)) {
    return target;
  }
  const origin: FunctionOrigin = {
    from: 'model',
    instruction: asked.instruction,
    target,
    maxAttempts: body.repair?.max_attempts ?? DEFAULT_ATTEMPTS,
    cache: body.cache ?? tenant.cache ?? 'off',
  };
  return finishStep(deps, call, signal, read, body, origin, asked.result);
}

/** Reads the body of `POST /v1/compute/run`. */
export async function readRunStep(
  deps: StepReader,
  call: Call,
  signal: AbortSignal,
): Promise<ReadStep | Problem> {
  const read = await readBody(deps.reader, checkRun, call.http.body, signal);
  if (isProblem(read)) {
    return read;
  }
  const body = read.envelope as RunRequest;
  const origin: FunctionOrigin = {
    from: 'caller',
    draft: draftOf(body.code),
    expectSha256: body.expect_code_sha256 ?? null,
  };
  return finishStep(deps, call, signal, read, body, origin, resultAsk(body));
}

async function finishStep(
  deps: StepReader,
  { id, tenant, traceparent, idempotency }: Call,
  signal: AbortSignal,
  read: ReadBody,
  body: ComputeRequest | RunRequest,
  origin: FunctionOrigin,
  result: StepRequest['result'],
): Promise<ReadStep | Problem> {
  const sources = sourcesOf(body.sources, read, tenant);
  if (isProblem(sources)) {
    return sources;
  }
  const limits = limitsOf(body, deps.limits);
  if (isProblem(limits)) {
    return limits;
  }
  const includes = includesOf(body.include, tenant);
  if (isProblem(includes)) {
    return includes;
  }
  const schemaProblem = await resultSchemaProblem(deps.checker, result.schema, signal);
  if (schemaProblem !== null) {
    return schemaProblem;
  }
  return {
    kind: 'step',
    timeoutMs: limits.timeoutMs,
    request: {
      id,
      tenant,
      origin,
      result,
      sources,
      limits: { wallMs: limits.wallMs, memoryMb: limits.memoryMb },
      includeCode: includes.code,
      includeDetail: includes.detail,
      traceparent,
      idempotency,
    },
  };
}
