import { type Static, Type } from '@sinclair/typebox';
import { CACHE_MODES } from './cache.ts';
import { JsonObjectSchema } from './result-type.ts';

const closed = { additionalProperties: false };
const cap = Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
  description: 'The month’s cap; null is unlimited. There is no default.',
});

const TenantModelSchema = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 2048 }),
    format: Type.Optional(
      Type.Union([Type.Literal('compute-step'), Type.Literal('openai'), Type.Literal('anthropic')]),
    ),
    name: Type.Optional(Type.String({ minLength: 1 })),
    parameters: Type.Optional(JsonObjectSchema),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    authorization: Type.Optional(Type.String({ minLength: 1 })),
    signing_secret: Type.Optional(Type.String({ minLength: 32 })),
  },
  closed,
);

export const TenantSchema = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }),
    key_sha256: Type.Array(Type.String({ pattern: '^[0-9a-f]{64}$' }), { minItems: 1, maxItems: 2 }),
    quotas: Type.Object({ compute_runs: cap, compute_seconds: cap }, closed),
    max_concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
    allow_model_url: Type.Optional(Type.Boolean()),
    allow_detail: Type.Optional(Type.Boolean()),
    schema_policy: Type.Optional(Type.Union([Type.Literal('inferred'), Type.Literal('declared')])),
    cache: Type.Optional(Type.Union(CACHE_MODES.map((mode) => Type.Literal(mode)))),
    model: Type.Optional(TenantModelSchema),
  },
  closed,
);

/** `TENANTS_FILE`. */
export const TenantsFileSchema = Type.Object({ tenants: Type.Array(TenantSchema, { minItems: 1 }) }, closed);

export type Tenant = Static<typeof TenantSchema>;
export type TenantsFile = Static<typeof TenantsFileSchema>;
