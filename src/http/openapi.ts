import { Type } from '@sinclair/typebox';
import {
  AdmitAnswerSchema,
  CapabilitiesSchema,
  ProblemSchema,
  PromptAnswerSchema,
  PromptPackSchema,
  UsageSchema,
} from '../contract/answer.ts';
import { ComputationSchema, DraftSchema } from '../contract/computation.ts';
import { PROBLEMS, type ProblemCode } from '../contract/problem.ts';
import {
  AdmitRequestSchema,
  ComputeRequestSchema,
  PromptRequestSchema,
  RunRequestSchema,
} from '../contract/request.ts';

/** Every named schema of the API description. */
export const NAMED_SCHEMAS = [
  ComputeRequestSchema,
  PromptRequestSchema,
  RunRequestSchema,
  AdmitRequestSchema,
  ComputationSchema,
  DraftSchema,
  ProblemSchema,
  PromptAnswerSchema,
  AdmitAnswerSchema,
  UsageSchema,
  CapabilitiesSchema,
  PromptPackSchema,
];

/** Header of the routes whose work is done once for a key. */
export const IDEMPOTENCY_HEADER = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description:
        'Up to 255 printable ASCII characters, compared as they are. The same key with the same path and body gets the same answer, with `Idempotency-Replayed: true`, and never a second model call, run or count: in flight 409, with another body 422. Held in memory for IDEMPOTENCY_TTL_SECONDS; after a restart a key whose run was counted is 409 `idempotency_answer_lost`. An answer that counted nothing frees its key. A `cancelled` run counted: to run again, send a new key.',
    }),
  ),
});

const ALWAYS: readonly ProblemCode[] = ['unauthorized', 'not_acceptable', 'internal_error'];
const READ: readonly ProblemCode[] = [
  ...ALWAYS,
  'invalid_request',
  'body_too_large',
  'unsupported_media_type',
  'too_many_requests',
  'overloaded',
];
const RUN: readonly ProblemCode[] = [
  ...READ,
  'code_mismatch',
  'quota_exceeded',
  'quota_reserved',
  'sandbox_unavailable',
  'ledger_unavailable',
  'deadline_exceeded',
];
const MODEL: readonly ProblemCode[] = ['model_url_refused', 'model_failed', 'model_timeout'];
const PROBLEMS_OF = {
  get: ALWAYS,
  usage: [...ALWAYS, 'invalid_request', 'ledger_unavailable'],
  read: READ,
  run: RUN,
  step: [...RUN.filter((code) => code !== 'code_mismatch'), ...MODEL],
  draft: [...RUN.filter((code) => code !== 'code_mismatch' && code !== 'sandbox_unavailable'), ...MODEL],
} satisfies Record<string, readonly ProblemCode[]>;

/** The error answers of a kind of route, by status, each naming its codes. */
export function problemsOf(kind: keyof typeof PROBLEMS_OF): Record<number, unknown> {
  const codes = new Map<number, ProblemCode[]>();
  for (const code of PROBLEMS_OF[kind]) {
    const { status } = PROBLEMS[code];
    codes.set(status, [...(codes.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...codes]
      .sort(([left], [right]) => left - right)
      .map(([status, names]) => [
        status,
        {
          description: names.map((name) => `\`${name}\`: ${PROBLEMS[name].title}`).join('. '),
          content: { 'application/problem+json': { schema: Type.Ref('Problem') } },
        },
      ]),
  );
}

/** The head of the API description. */
export function openApiHead(version: string) {
  return {
    openapi: '3.1.0' as const,
    info: {
      title: 'compute-step',
      version,
      description:
        'Answers the questions that no tool answers. Post an instruction, a result type and fetched JSON; a model that sees only the schema writes a function; it is admitted, run once in a container and its result is checked and metered.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    components: {
      securitySchemes: {
        key: { type: 'http' as const, scheme: 'bearer', description: 'A tenant’s API key.' },
      },
    },
    security: [{ key: [] }],
  };
}
