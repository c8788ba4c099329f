import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Static, TSchema } from '@sinclair/typebox';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { parse } from 'yaml';
import { type Client, createClient } from '../../../src/client/client.ts';
import { OPERATIONS } from '../../../src/client/operations.ts';
import {
  AdmitAnswerSchema,
  CapabilitiesSchema,
  HealthSchema,
  PromptAnswerSchema,
  PromptPackSchema,
  ReadinessSchema,
  UsageSchema,
} from '../../../src/contract/answer.ts';
import { ComputationSchema, DraftSchema } from '../../../src/contract/computation.ts';
import {
  AdmitRequestSchema,
  ComputeRequestSchema,
  PromptRequestSchema,
  RunRequestSchema,
} from '../../../src/contract/request.ts';

type Name = keyof typeof OPERATIONS;

/** The schemas of each operation's body and answer: what openapi.yaml must name, and what the methods' types must be. */
const SCHEMAS = {
  compute: { body: ComputeRequestSchema, answer: ComputationSchema },
  prompt: { body: PromptRequestSchema, answer: PromptAnswerSchema },
  draft: { body: ComputeRequestSchema, answer: DraftSchema },
  admit: { body: AdmitRequestSchema, answer: AdmitAnswerSchema },
  run: { body: RunRequestSchema, answer: ComputationSchema },
  usage: { body: null, answer: UsageSchema },
  usageOfMonth: { body: null, answer: UsageSchema },
  capabilities: { body: null, answer: CapabilitiesSchema },
  promptPack: { body: null, answer: PromptPackSchema },
  health: { body: null, answer: HealthSchema },
  ready: { body: null, answer: ReadinessSchema },
} as const satisfies Record<Name, { body: TSchema | null; answer: TSchema }>;

type Answer<N extends Name> = Awaited<ReturnType<Client[N]>>;
type AnswerOf<N extends Name> = Static<(typeof SCHEMAS)[N]['answer']>;
type Body<N extends 'compute' | 'prompt' | 'draft' | 'admit' | 'run'> = Parameters<Client[N]>[0];
type BodyOf<N extends 'compute' | 'prompt' | 'draft' | 'admit' | 'run'> = Static<(typeof SCHEMAS)[N]['body']>;

interface Described {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: {
    readonly content: Record<string, { readonly schema: { readonly $ref?: string } }>;
  };
  readonly responses: Record<
    string,
    { readonly content?: Record<string, { readonly schema: { readonly $ref?: string } }> }
  >;
}

const document = parse(
  readFileSync(fileURLToPath(new URL('../../../openapi.yaml', import.meta.url)), 'utf8'),
) as { readonly paths: Record<string, Record<string, Described>> };
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    path,
    method: method.toUpperCase(),
    ...operation,
  })),
);
const refOf = (schema: { readonly $ref?: string } | undefined) => schema?.$ref?.split('/').at(-1);

describe('the client, held against openapi.yaml', () => {
  it('has one method for each operation, and no other', () => {
    const ids = described.map(({ operationId }) => operationId).sort();
    expect(ids.length).toBeGreaterThan(5);
    expect(Object.keys(OPERATIONS).sort()).toEqual(ids);
    expect(Object.keys(createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'x' })).sort()).toEqual(ids);
  });

  it.each(described)('calls $operationId by $method $path', ({ operationId, path, method, security }) => {
    const operation = OPERATIONS[operationId as Name];
    expect([operation.method, operation.path]).toEqual([method, path]);
    // An operation that needs no key says so with an empty list.
    expect(operation.key).toBe(security === undefined);
  });

  it.each(described)('speaks the schemas of $operationId', ({ operationId, requestBody, responses }) => {
    const { body, answer } = SCHEMAS[operationId as Name];
    expect(refOf(requestBody?.content['application/json']?.schema)).toBe(body?.$id);
    const answers = Object.entries(responses).filter(([, { content = {} }]) => 'application/json' in content);
    expect(answers.map(([status]) => Number(status))).toEqual(OPERATIONS[operationId as Name].answers);
    for (const [, { content }] of answers) {
      const schema = content?.['application/json']?.schema;
      if (answer.$id === undefined) expect(schema).toMatchObject(plain(answer));
      else expect(refOf(schema)).toBe(answer.$id);
    }
  });

  it('takes the parameters of each operation', () => {
    const parameters = Object.fromEntries(
      described.map(({ operationId, parameters = [] }) => [operationId, parameters.map(({ name }) => name)]),
    );
    expect(parameters).toMatchObject({
      admit: ['all'],
      usageOfMonth: ['month'],
      compute: expect.arrayContaining(['idempotency-key']),
      draft: expect.arrayContaining(['idempotency-key']),
      run: expect.arrayContaining(['idempotency-key']),
    });
    // A parameter that comes to the description has to come to the client too.
    const known = ['all', 'month', 'idempotency-key', 'traceparent'];
    expect(
      Object.values(parameters).flatMap((names) => names.filter((name) => !known.includes(name))),
    ).toEqual([]);
  });

  it('has the types of those schemas, in both directions (held by tsc)', () => {
    expectTypeOf<Body<'compute'>>().toEqualTypeOf<BodyOf<'compute'>>();
    expectTypeOf<Body<'prompt'>>().toEqualTypeOf<BodyOf<'prompt'>>();
    expectTypeOf<Body<'draft'>>().toEqualTypeOf<BodyOf<'draft'>>();
    expectTypeOf<Body<'admit'>>().toEqualTypeOf<BodyOf<'admit'>>();
    expectTypeOf<Body<'run'>>().toEqualTypeOf<BodyOf<'run'>>();
    // The text of the result is the client's own; the rest is the Computation's, member by member.
    type Computed<N extends 'compute' | 'run'> = Omit<Answer<N>, 'resultText'>;
    expectTypeOf<keyof Computed<'compute'>>().toEqualTypeOf<keyof AnswerOf<'compute'>>();
    expectTypeOf<Computed<'compute'>>().toExtend<AnswerOf<'compute'>>();
    expectTypeOf<AnswerOf<'compute'>>().toExtend<Computed<'compute'>>();
    expectTypeOf<Answer<'run'>>().toEqualTypeOf<Answer<'compute'>>();
    expectTypeOf<Answer<'prompt'>>().toEqualTypeOf<AnswerOf<'prompt'>>();
    expectTypeOf<Answer<'draft'>>().toEqualTypeOf<AnswerOf<'draft'>>();
    expectTypeOf<Answer<'admit'>>().toEqualTypeOf<AnswerOf<'admit'>>();
    expectTypeOf<Answer<'usage'>>().toEqualTypeOf<AnswerOf<'usage'>>();
    expectTypeOf<Answer<'usageOfMonth'>>().toEqualTypeOf<AnswerOf<'usageOfMonth'>>();
    expectTypeOf<Answer<'capabilities'>>().toEqualTypeOf<AnswerOf<'capabilities'>>();
    expectTypeOf<Answer<'promptPack'>>().toEqualTypeOf<AnswerOf<'promptPack'>>();
    expectTypeOf<Answer<'health'>>().toEqualTypeOf<AnswerOf<'health'>>();
    expectTypeOf<Answer<'ready'>>().toEqualTypeOf<AnswerOf<'ready'>>();
    expectTypeOf<Answer<'compute'>['resultText']>().toEqualTypeOf<string | null>();
  });
});

/** A schema as its JSON has it. In the description a literal is an `enum` of one. */
function plain(schema: TSchema): object {
  return JSON.parse(JSON.stringify(schema), (_name, value) =>
    typeof value === 'object' && value !== null && 'const' in value
      ? { type: value.type, enum: [value.const] }
      : value,
  );
}
