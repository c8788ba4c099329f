import { type Static, Type } from '@sinclair/typebox';
import { AdmissionVerdictSchema } from './admission.ts';
import { FAILURE_CODES } from './failure.ts';
import { ResultTypeSchema } from './result-type.ts';

const closed = { additionalProperties: false };
const nullable = <T extends ReturnType<typeof Type.Object> | ReturnType<typeof Type.Number>>(schema: T) =>
  Type.Union([schema, Type.Null()]);

export const FailureSchema = Type.Object(
  {
    code: Type.Union(FAILURE_CODES.map((code) => Type.Literal(code))),
    message: Type.String(),
    retryable: Type.Boolean(),
    exception: Type.Optional(Type.String({ description: 'A built-in exception’s name, else `Exception`.' })),
    line: Type.Optional(Type.Integer({ minimum: 1 })),
    path: Type.Optional(
      Type.String({ description: 'Where in the result; keys that are not declared show as `*`.' }),
    ),
    wanted: Type.Optional(Type.String()),
    got: Type.Optional(Type.String({ description: 'A JSON or Python type, never a value.' })),
  },
  closed,
);
export type Failure = Static<typeof FailureSchema>;

export const SandboxUsageSchema = Type.Object(
  {
    wall_seconds: Type.Number(),
    cpu_seconds: nullable(Type.Number()),
    peak_memory_bytes: nullable(Type.Number()),
    peak_memory_source: Type.Union([Type.Literal('engine'), Type.Literal('self'), Type.Null()]),
    exit_code: nullable(Type.Number()),
    output_bytes: Type.Integer({ minimum: 0 }),
    image: Type.String(),
  },
  closed,
);
export type SandboxUsage = Static<typeof SandboxUsageSchema>;

const MeterStateSchema = Type.Object(
  { used: Type.Integer({ minimum: 0 }), limit: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]) },
  closed,
);

export const QuotaSchema = Type.Object(
  {
    month: Type.String(),
    compute_runs: MeterStateSchema,
    compute_seconds: MeterStateSchema,
    resets_at: Type.String(),
  },
  closed,
);
export type Quota = Static<typeof QuotaSchema>;

export const PromptSchemaOut = Type.Object(
  {
    text: Type.String({ description: 'system, a blank line, user.' }),
    system: Type.String(),
    user: Type.String(),
    schema: Type.Unknown({ description: 'Field names and JSON types of the sources; never a value.' }),
  },
  closed,
);

const AttemptSchema = Type.Object(
  {
    code_sha256: Type.String({
      description:
        'Of this attempt’s function, admitted or refused: LF line ends, one newline at the end. Empty where the reply held none.',
    }),
    admission: AdmissionVerdictSchema,
  },
  closed,
);
const attempts = Type.Array(AttemptSchema, {
  description: 'How the function came to be: every reply of the model, or the caller’s function.',
});
export type Attempt = Static<typeof AttemptSchema>;

export const TimingsSchema = Type.Object(
  {
    prompt: Type.Number(),
    model: Type.Number(),
    admission: Type.Number(),
    queue: Type.Number(),
    sandbox: Type.Number(),
    total: Type.Number(),
  },
  closed,
);
export type Timings = Static<typeof TimingsSchema>;

/** A Computation: what `/v1/compute` and `/v1/compute/run` answer with 200, whatever the state. */
export const ComputationSchema = Type.Object(
  {
    id: Type.String({ description: 'UUID v7; also the run’s id in the ledger, the log and the webhook.' }),
    state: Type.Union([Type.Literal('succeeded'), Type.Literal('failed'), Type.Literal('not_admitted')]),
    result: Type.Optional(
      Type.Unknown({ description: 'Present only if succeeded; digits as Python wrote them.' }),
    ),
    result_type: ResultTypeSchema,
    admission: AdmissionVerdictSchema,
    failure: Type.Union([FailureSchema, Type.Null()]),
    sandbox: Type.Union([SandboxUsageSchema, Type.Null()]),
    prompt_pack_digest: Type.String(),
    code_sha256: Type.String({ description: 'Of the function as admitted; empty where none was.' }),
    function: Type.Object(
      {
        source: Type.Union([Type.Literal('model'), Type.Literal('cache'), Type.Literal('caller')]),
        code: Type.Optional(
          Type.String({
            description: 'With `include: ["code"]`, and where `sandbox_unavailable` left it to be run later.',
          }),
        ),
      },
      closed,
    ),
    attempts,
    prompt: Type.Union([PromptSchemaOut, Type.Null()], { description: 'null where no model was asked.' }),
    detail: Type.Optional(
      Type.Object(
        { exception_text: Type.Optional(Type.String()), printed: Type.Optional(Type.String()) },
        { ...closed, description: 'With `include: ["detail"]` where the tenant may; at most 8 KiB.' },
      ),
    ),
    metered: Type.Object(
      { compute_runs: Type.Integer({ minimum: 0 }), compute_seconds: Type.Integer({ minimum: 0 }) },
      closed,
    ),
    quota: Type.Union([QuotaSchema, Type.Null()], {
      description: 'null where the ledger could not be read.',
    }),
    timings_ms: TimingsSchema,
  },
  { ...closed, $id: 'Computation' },
);
/** A Computation without its result, which travels as raw text beside it. */
export type Computation = Omit<Static<typeof ComputationSchema>, 'result'>;

/** What `POST /v1/compute/draft` answers: the function and its verdict. Nothing ran and nothing is counted. */
export const DraftSchema = Type.Object(
  {
    state: Type.Union([Type.Literal('admitted'), Type.Literal('not_admitted')]),
    code: Type.String({ description: 'As it is to be sent to /v1/compute/run; or the refused function.' }),
    code_sha256: Type.String({
      description: 'For `expect_code_sha256` of /v1/compute/run; empty where nothing was admitted.',
    }),
    admission: AdmissionVerdictSchema,
    failure: Type.Union([FailureSchema, Type.Null()]),
    prompt: PromptSchemaOut,
    attempts,
  },
  { ...closed, $id: 'Draft' },
);
export type DraftComputation = Static<typeof DraftSchema>;
