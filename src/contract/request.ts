import { type Static, Type } from '@sinclair/typebox';
import { CACHE_MODES } from './cache.ts';
import { JsonObjectSchema, ResultTypeSchema } from './result-type.ts';
import { KEY_POLICIES, SOURCE_NAME } from './source.ts';

const closed = { additionalProperties: false };
const choice = <const T extends readonly string[]>(names: T, description: string) =>
  Type.Union(
    names.map((name) => Type.Literal(name as T[number])),
    { description },
  );

export const MAX_SOURCES = 64;
export const MAX_CODE_BYTES = 64 * 1024;
/** Replies of the model that one step may ask for, the first one included. */
export const MAX_ATTEMPTS = 5;
export const DEFAULT_ATTEMPTS = 2;
const MAX_INSTRUCTION = 16 * 1024;

const InstructionSchema = Type.String({ minLength: 1, maxLength: MAX_INSTRUCTION });

/** A plan's item as it stands. Unknown members are ignored here and nowhere else. */
const StepItemSchema = Type.Object(
  {
    id: Type.Optional(Type.Unknown({ description: 'The plan’s own id; not used.' })),
    instruction: InstructionSchema,
    result_type: Type.Optional(ResultTypeSchema),
    result_schema: Type.Optional(JsonObjectSchema),
  },
  { additionalProperties: true, description: 'A plan’s item as it stands; unknown members are ignored.' },
);

export const SourceSchemaIn = Type.Object(
  {
    tool: Type.Optional(
      Type.String({
        maxLength: 256,
        description: 'The tool that gave the result. For people; not shown to the model.',
      }),
    ),
    name: Type.Optional(
      Type.String({
        pattern: SOURCE_NAME.source,
        description: 'Key of this source in `data`. Without one it is `source_<n>` by position, from 1.',
      }),
    ),
    result: Type.Optional(Type.Unknown({ description: 'The result as JSON. Either this or `result_json`.' })),
    result_json: Type.Optional(Type.String({ description: 'The result as the JSON text a tool returned.' })),
    keys: Type.Optional(
      choice(
        KEY_POLICIES,
        'Are object keys field names (shown to the model) or data (never shown)? Default `auto`.',
      ),
    ),
    schema: Type.Optional({
      ...JsonObjectSchema,
      description:
        'The tool’s declared output schema (JSON Schema). Only names declared there are shown then.',
    } as typeof JsonObjectSchema),
  },
  closed,
);

export const ModelSchemaIn = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 2048, description: 'Where the function is asked for.' }),
    format: Type.Optional(
      choice(['compute-step', 'openai', 'anthropic'], 'Shape of the request. Default `compute-step`.'),
    ),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: 'The model’s name, for the provider formats.',
      }),
    ),
    parameters: Type.Optional(JsonObjectSchema),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: 8192 }), {
        description: 'Sent with the request; never stored, logged or echoed.',
      }),
    ),
  },
  { ...closed, description: 'Replaces the configured model as a whole.' },
);

const LimitsSchemaIn = Type.Object(
  {
    wall_seconds: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 3600 })),
    memory_mb: Type.Optional(Type.Integer({ minimum: 16, maximum: 65536 })),
  },
  { ...closed, description: 'Each at most the operator’s.' },
);

const sources = Type.Array(SourceSchemaIn, { minItems: 1, maxItems: MAX_SOURCES });
const include = Type.Array(choice(['code', 'detail'], 'Optional extras.'), {
  maxItems: 2,
  uniqueItems: true,
});
const code = Type.String({
  minLength: 0,
  maxLength: MAX_CODE_BYTES,
  description: 'Python source with one `def compute(data)`.',
});

const asked = {
  step: Type.Union([InstructionSchema, StepItemSchema], {
    description: 'The instruction, or a plan’s item.',
  }),
  result_type: Type.Optional(ResultTypeSchema),
  nullable: Type.Optional(Type.Boolean({ description: 'null is a fine answer too. Default false.' })),
  result_schema: Type.Optional(JsonObjectSchema),
  sources,
};

const run = {
  limits: Type.Optional(LimitsSchemaIn),
  timeout_seconds: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 3600,
      description: 'One deadline over queue, model, repair and run.',
    }),
  ),
  include: Type.Optional(include),
};

const written = {
  model: Type.Optional(ModelSchemaIn),
  repair: Type.Optional(
    Type.Object(
      {
        max_attempts: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: MAX_ATTEMPTS,
            default: DEFAULT_ATTEMPTS,
            description: 'Replies asked for in all; 1 switches repair off.',
          }),
        ),
      },
      {
        ...closed,
        description:
          'A refused function goes back to the model with rule, line and hint; what happened in a run never does.',
      },
    ),
  ),
  cache: Type.Optional(
    choice(
      CACHE_MODES,
      'Take the function that was written before for the same prompt (`use`), write it anew (`refresh`), or neither look nor keep (`off`). Default: the tenant’s, else `off`.',
    ),
  ),
};

/** `POST /v1/compute` and `POST /v1/compute/draft`. */
export const ComputeRequestSchema = Type.Object(
  { ...asked, ...written, ...run },
  { ...closed, $id: 'ComputeRequest' },
);

/** `POST /v1/compute/prompt`: takes the body of `/v1/compute`, so that a dry run needs no other body. */
export const PromptRequestSchema = Type.Object(
  { ...asked, ...written, ...run },
  { ...closed, $id: 'PromptRequest' },
);

/** `POST /v1/compute/run`. */
export const RunRequestSchema = Type.Object(
  {
    code,
    sources,
    result_type: Type.Optional(ResultTypeSchema),
    nullable: Type.Optional(Type.Boolean()),
    result_schema: Type.Optional(JsonObjectSchema),
    expect_code_sha256: Type.Optional(
      Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Run only if the function has this digest.' }),
    ),
    ...run,
  },
  { ...closed, $id: 'RunRequest' },
);

/** `POST /v1/compute/admit`. */
export const AdmitRequestSchema = Type.Object({ code }, { ...closed, $id: 'AdmitRequest' });

export type ComputeRequest = Static<typeof ComputeRequestSchema>;
export type RunRequest = Static<typeof RunRequestSchema>;
export type PromptRequest = Static<typeof PromptRequestSchema>;
export type AdmitRequest = Static<typeof AdmitRequestSchema>;
export type SourceIn = Static<typeof SourceSchemaIn>;
export type ModelIn = Static<typeof ModelSchemaIn>;
