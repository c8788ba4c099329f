import { isDeepStrictEqual } from 'node:util';
import type { FieldFault } from '../contract/faults.ts';
import { type Problem, problem } from '../contract/problem.ts';
import type { ComputeRequest, RunRequest, SourceIn } from '../contract/request.ts';
import type { JsonObject, ResultAsk } from '../contract/result-type.ts';
import type { Tenant } from '../contract/tenant.ts';
import type { ReadBody } from '../json/body.ts';
import { declaredFault } from '../schema/declared-fault.ts';
import type { StepSource } from '../step/request.ts';
import { invalid } from './read-body.ts';

const SCHEMA_MAX_BYTES = 64 * 1024;

/** What a caller asked for, merged from the plan's item and the top level. */
export interface Asked {
  readonly instruction: string;
  readonly result: ResultAsk;
}

type ResultMembers = Pick<RunRequest, 'result_type' | 'result_schema' | 'nullable'>;

/** The instruction and the result asked for. The item and the top level may both say it if they agree. */
export function askedOf(body: ComputeRequest): Asked | Problem {
  const item = typeof body.step === 'string' ? { instruction: body.step } : body.step;
  const faults: FieldFault[] = [];
  for (const member of ['result_type', 'result_schema'] as const) {
    const [inner, outer] = [item[member], body[member]];
    if (inner !== undefined && outer !== undefined && !isDeepStrictEqual(inner, outer)) {
      faults.push({ field: member, fix: `and step.${member} disagree; give one of them` });
    }
  }
  return faults.length > 0
    ? invalid(faults)
    : { instruction: item.instruction, result: resultAsk({ ...item, ...definedOf(body) }) };
}

/** The result asked for; absent everywhere is `any`. */
export function resultAsk(body: ResultMembers): ResultAsk {
  return {
    type: body.result_type ?? 'any',
    nullable: body.nullable ?? false,
    schema: body.result_schema ?? null,
  };
}

function definedOf(body: ResultMembers): ResultMembers {
  return {
    ...(body.result_type === undefined ? {} : { result_type: body.result_type }),
    ...(body.result_schema === undefined ? {} : { result_schema: body.result_schema }),
    ...(body.nullable === undefined ? {} : { nullable: body.nullable }),
  };
}

/**
 * The sources with their names: given, or `source_<n>` by position. Refuses a repeated or reserved name, both or
 * neither of `result` and `result_json`, and a missing `schema` where the tenant's policy is `declared`.
 */
export function sourcesOf(
  given: readonly SourceIn[],
  read: ReadBody,
  tenant: Tenant,
): StepSource[] | Problem {
  const faults: FieldFault[] = [];
  const names = new Set<string>();
  const sources = given.map((source, index): StepSource | null => {
    const at = `sources[${index}]`;
    const name = source.name ?? `source_${index + 1}`;
    if (source.name !== undefined && /^source_\d+$/.test(source.name)) {
      faults.push({
        field: `${at}.name`,
        fix: 'must not be source_<n>; leave it out or choose another name',
      });
    }
    if (names.has(name)) {
      faults.push({ field: `${at}.name`, fix: 'stands twice; every source needs a name of its own' });
    }
    names.add(name);
    const values = read.sources.filter((value) => value.index === index);
    const [value] = values;
    if (value === undefined || values.length !== 1) {
      faults.push({ field: at, fix: 'must have exactly one of result and result_json' });
      return null;
    }
    if (tenant.schema_policy === 'declared' && source.schema === undefined) {
      faults.push({ field: `${at}.schema`, fix: 'is required: this tenant shows declared schemas only' });
    }
    faults.push(...schemaFaults(`${at}.schema`, source.schema));
    return {
      name,
      bytes: value.bytes,
      shape: value.shape,
      keys: source.keys ?? 'auto',
      declared: source.schema ?? null,
    };
  });
  return faults.length > 0 ? invalid(faults) : sources.filter((source) => source !== null);
}

/** A declared schema stands in the prompt as it is, so it must be a schema and of a bounded size. */
function schemaFaults(field: string, schema: JsonObject | undefined): FieldFault[] {
  if (schema === undefined) {
    return [];
  }
  if (Buffer.byteLength(JSON.stringify(schema)) > SCHEMA_MAX_BYTES) {
    return [{ field, fix: 'must be at most 64 KiB' }];
  }
  const fault = declaredFault(schema);
  return fault === null ? [] : [{ field: field + fault.place, fix: fault.fix }];
}

/** Operator's limits, as a caller may lower them. */
export interface OperatorLimits {
  readonly wallSeconds: number;
  readonly memoryMb: number;
  readonly timeoutSeconds: number;
}

/** A caller's limits: left out is the operator's; more than the operator's is refused by name. */
export function limitsOf(
  body: Pick<RunRequest, 'limits' | 'timeout_seconds'>,
  operator: OperatorLimits,
): { readonly wallMs: number; readonly memoryMb: number; readonly timeoutMs: number } | Problem {
  const wall = body.limits?.wall_seconds ?? operator.wallSeconds;
  const memory = body.limits?.memory_mb ?? operator.memoryMb;
  const timeout = body.timeout_seconds ?? operator.timeoutSeconds;
  const faults = [
    ...atMost('limits.wall_seconds', wall, operator.wallSeconds),
    ...atMost('limits.memory_mb', memory, operator.memoryMb),
    ...atMost('timeout_seconds', timeout, operator.timeoutSeconds),
  ];
  return faults.length > 0
    ? invalid(faults)
    : { wallMs: Math.ceil(wall * 1000), memoryMb: memory, timeoutMs: Math.ceil(timeout * 1000) };
}

function atMost(field: string, value: number, most: number): FieldFault[] {
  return value > most ? [{ field, fix: `must be at most ${most}` }] : [];
}

/** Whether the optional extras are asked for; `detail` only where the tenant may see it. */
export function includesOf(
  include: RunRequest['include'],
  tenant: Tenant,
): { readonly code: boolean; readonly detail: boolean } | Problem {
  const detail = include?.includes('detail') ?? false;
  if (detail && tenant.allow_detail !== true) {
    return problem(
      'invalid_request',
      'include: detail is not allowed for this tenant (allow_detail); remove it.',
    );
  }
  return { code: include?.includes('code') ?? false, detail };
}
