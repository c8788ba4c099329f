import { type Static, Type } from '@sinclair/typebox';
import { AdmissionRefusalSchema, AdmissionVerdictSchema } from './admission.ts';
import { PromptSchemaOut } from './computation.ts';
import { PROBLEMS, type ProblemCode } from './problem.ts';
import { READINESS_CHECKS } from './readiness.ts';
import { RESULT_TYPES } from './result-type.ts';

const closed = { additionalProperties: false };
const strings = Type.Array(Type.String());

const meter = Type.Object(
  {
    used: Type.Integer({ minimum: 0 }),
    limit: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
    remaining: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  },
  closed,
);

/** RFC 9457. Further members depend on the code. */
export const ProblemSchema = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.Union((Object.keys(PROBLEMS) as ProblemCode[]).map((code) => Type.Literal(code))),
    detail: Type.String({ description: 'Names the field and the fix; never a value of the data.' }),
    retryable: Type.Boolean(),
    retry_after_seconds: Type.Optional(Type.Integer({ minimum: 0 })),
    id: Type.Optional(
      Type.String({
        description: 'Of the step that ended in it, as in the log: present once a step had begun.',
      }),
    ),
  },
  { $id: 'Problem', additionalProperties: true },
);

/** What `POST /v1/compute/prompt` answers. */
export const PromptAnswerSchema = Type.Object(
  { prompt: PromptSchemaOut, prompt_pack_digest: Type.String() },
  { ...closed, $id: 'PromptAnswer' },
);

/** What `POST /v1/compute/admit` answers. */
export const AdmitAnswerSchema = Type.Object(
  {
    admission: AdmissionVerdictSchema,
    code_sha256: Type.String({ description: 'Of the function as admitted; empty where it was not.' }),
    refusals: Type.Optional(
      Type.Array(AdmissionRefusalSchema, { description: 'With ?all=true: every refusal, by line.' }),
    ),
  },
  { ...closed, $id: 'AdmitAnswer' },
);

/** What `GET /v1/usage` and `GET /v1/usage/{month}` answer. */
export const UsageSchema = Type.Object(
  {
    tenant: Type.String(),
    month: Type.String(),
    compute_runs: meter,
    compute_seconds: meter,
    open_permits: Type.Integer({ minimum: 0 }),
    outcomes: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
    resets_at: Type.String(),
  },
  { ...closed, $id: 'Usage' },
);

/** What `GET /v1/capabilities` answers. */
export const CapabilitiesSchema = Type.Object(
  {
    compute: Type.Union([Type.Literal('run'), Type.Literal('unavailable')]),
    result_types: Type.Array(Type.Union(RESULT_TYPES.map((name) => Type.Literal(name)))),
    model_formats: strings,
    limits: Type.Record(Type.String(), Type.Number()),
    modules: strings,
  },
  { ...closed, $id: 'Capabilities' },
);

/** What `GET /v1/prompt-pack` answers. */
export const PromptPackSchema = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    language: Type.Literal('python'),
    digest: Type.String(),
    modules: Type.Record(Type.String(), strings),
    templates: Type.Object({ system: Type.String(), user: Type.String() }, closed),
  },
  { ...closed, $id: 'PromptPack' },
);

/** What `GET /healthz` answers. */
export const HealthSchema = Type.Object({ status: Type.Literal('ok') });

/** What `GET /readyz` answers, with 200 and with 503. */
export const ReadinessSchema = Type.Object(
  {
    status: Type.Union([Type.Literal('ready'), Type.Literal('unavailable'), Type.Literal('stopping')]),
    failing: Type.Array(Type.Union(READINESS_CHECKS.map((name) => Type.Literal(name)))),
  },
  closed,
);

export type ProblemDocument = Static<typeof ProblemSchema>;
export type PromptAnswer = Static<typeof PromptAnswerSchema>;
export type AdmitAnswer = Static<typeof AdmitAnswerSchema>;
export type UsageAnswer = Static<typeof UsageSchema>;
export type Capabilities = Static<typeof CapabilitiesSchema>;
export type PromptPackAnswer = Static<typeof PromptPackSchema>;
export type Health = Static<typeof HealthSchema>;
export type Readiness = Static<typeof ReadinessSchema>;
