import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BuiltService, SHAPES, startBuiltService } from '../fakes/running-service.ts';

interface LegitCase {
  readonly id: string;
  readonly result_type: string;
  readonly data: Record<string, unknown>;
  readonly expect: unknown;
  readonly code: string;
}

interface AttackCase {
  readonly id: string;
  readonly rule_kind: string;
  readonly code: string;
}

function cases<T>(name: string): T[] {
  const path = fileURLToPath(new URL(`../cases/${name}`, import.meta.url));
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** The whole of it in one shape, a sample in the other: what differs is the way there, not what is run. */
const SAMPLE_EVERY = 6;

describe.each(SHAPES)('the corpora, $shape', ({ sandboxd }) => {
  const sample = <T>(all: T[]): T[] => all.filter((_, index) => !sandboxd || index % SAMPLE_EVERY === 0);
  let built: BuiltService;
  beforeAll(async () => {
    built = await startBuiltService({ sandboxd });
    await built.ready();
  });
  afterAll(async () => {
    expect(await built.stop()).toBe(0);
  });

  describe('honest functions, on real containers', () => {
    it.each(sample(cases<LegitCase>('legit.jsonl')).map((one) => [one.id, one] as const))(
      '%s gives what is expected',
      async (_id, one) => {
        const sources = Object.entries(one.data).map(([name, result]) => ({ name, result }));
        const { status, json } = await built.post('/v1/compute/run', {
          code: one.code,
          sources,
          result_type: one.result_type,
          nullable: one.expect === null,
        });
        expect(status).toBe(200);
        expect({ state: json.state, failure: json.failure, result: json.result }).toEqual({
          state: 'succeeded',
          failure: null,
          result: one.expect,
        });
      },
    );
  });

  describe('attacks', () => {
    it.each(sample(cases<AttackCase>('attacks.jsonl')).map((one) => [one.id, one] as const))(
      '%s is not admitted',
      async (_id, one) => {
        const { status, json } = await built.post('/v1/compute/run', {
          code: one.code,
          sources: [{ result: {} }],
        });
        expect(status).toBe(200);
        expect(json).toMatchObject({ state: 'not_admitted', sandbox: null, metered: { compute_runs: 0 } });
        expect(json.admission.line).toBeGreaterThan(0);
      },
    );
  });
});
