import { expect } from 'vitest';
import { compute } from './python-functions.ts';
import { type BuiltService, startBuiltService } from './running-service.ts';

/** What the model answers, by a word of the instruction, and what becomes of the step. */
const SCRIPT: Readonly<Record<string, { readonly code: string; readonly repaired?: string }>> = {
  sum: { code: compute('return sum(data["source_1"])') },
  mend: { code: compute('import socket', 'return 1'), repaired: compute('return 1') },
  reach: { code: compute('import socket', 'return 1') },
  raise: { code: compute('return 1 // 0') },
  words: { code: compute('return "x"') },
  spin: { code: compute('while True:', '    pass') },
  keep: { code: compute('return len(data["source_1"])') },
};
/** Runs that the steps below take; the quota is spent with the last of them. */
export const RUNS = 7;

/** The built service with a model that answers the steps below, and a quota for just these. */
export function startScrapedService(sandboxd: boolean): Promise<BuiltService> {
  return startBuiltService({
    sandboxd,
    tenant: { quotas: { compute_runs: RUNS, compute_seconds: null } },
    answer: ({ user, attempt }) => {
      const said = Object.entries(SCRIPT).find(([word]) => user.includes(`please ${word}`))?.[1];
      return said === undefined ? { status: 500 } : ((attempt > 1 ? said.repaired : undefined) ?? said.code);
    },
  });
}

/** What the steps leave in the counters. */
export const TAKEN = {
  outcomes: {
    succeeded: 4,
    code_not_admitted: 1,
    exception: 1,
    result_type_mismatch: 1,
    timeout: 1,
    model_failed: 1,
    quota_exceeded: 1,
  },
  statuses: { 200: 8, 401: 1, 429: 1, 502: 1 },
  runs: { succeeded: 4, failed: 3 },
  modelRequests: { ok: 8, failed: 1 },
  refusals: { import: 2 },
  cache: { miss: 1, stored: 1, hit: 1 },
} as const;

const BY_PROMPT = { result_type: 'number', sources: [{ result: [1, 2, 3] }] };

/** One step by its word: how it ended. */
async function take(built: BuiltService, word: string, more: object = {}): Promise<string> {
  const { json } = await built.post('/v1/compute', { step: `please ${word}`, ...BY_PROMPT, ...more });
  return json.failure?.code ?? json.state ?? json.code;
}

/** The first of the steps. Once it is scraped, what follows adds to series that there are. */
export async function takeFirstStep(built: BuiltService): Promise<void> {
  const said = built.log.length;
  const ended = await take(built, 'sum');
  expect(ended, built.log.slice(said).join('\n')).toBe('succeeded');
}

/** The others, one after the other: every kind of ending that can be had on demand. */
export async function takeOtherSteps(built: BuiltService): Promise<void> {
  expect(await take(built, 'mend')).toBe('succeeded');
  expect(await take(built, 'reach', { repair: { max_attempts: 1 } })).toBe('code_not_admitted');
  expect(await take(built, 'raise')).toBe('exception');
  expect(await take(built, 'words')).toBe('result_type_mismatch');
  expect(await take(built, 'spin', { limits: { wall_seconds: 1 } })).toBe('timeout');
  expect(await take(built, 'nothing of the script')).toBe('model_failed');
  expect(await take(built, 'keep', { cache: 'use' })).toBe('succeeded');
  expect(await take(built, 'keep', { cache: 'use' })).toBe('succeeded');
  expect(await take(built, 'sum')).toBe('quota_exceeded');
  expect((await built.post('/v1/compute', {}, { authorization: 'Bearer unknown' })).status).toBe(401);
}
