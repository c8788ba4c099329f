import { expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { draftOf } from '../../../src/model/reply.ts';
import { BUILT_IN_PACK_DIR, loadPack } from '../../../src/prompt/pack.ts';
import type { Prompt } from '../../../src/prompt/render.ts';
import { createDraft } from '../../../src/step/draft.ts';
import { FunctionCache, functionKey } from '../../../src/step/function-cache.ts';
import { nullObserver } from '../../../src/step/observer.ts';
import type { StepPorts } from '../../../src/step/ports.ts';
import { promptFor } from '../../../src/step/prompt.ts';
import type { StepRequest } from '../../../src/step/request.ts';
import { packAdmission } from '../admission/corpus.ts';
import { target } from '../model/asking.ts';

const GOOD = 'def compute(data):\n    return 42\n';
const origin = {
  from: 'model',
  instruction: 'sum',
  target: target('https://models.example.com/'),
  maxAttempts: 1,
  cache: 'use',
} as const;
const result = { type: 'any', nullable: false, schema: null } as const;

it.each([
  ['is taken if admission admits it', GOOD, 0],
  ['is a miss if admission refuses it: being kept makes no function of a text', 'import socket\n', 1],
])('what is kept %s', async (_name, kept, calls) => {
  const pack = await loadPack(BUILT_IN_PACK_DIR);
  const cache = new FunctionCache({ entriesPerTenant: 10, observer: nullObserver });
  const prompt = promptFor(pack, 'sum', result, [], 65_536) as Prompt;
  cache.store('acme', functionKey(prompt, origin.target), { text: kept, attempts: [] });
  let asked = 0;
  const ports = {
    pack,
    cache,
    admission: await packAdmission(),
    clock: systemClock,
    observer: nullObserver,
    bounds: { promptMaxBytes: 65_536 },
    meter: { check: async () => null },
    model: {
      ask: async () => {
        asked += 1;
        return draftOf(GOOD);
      },
    },
  } as unknown as StepPorts;
  const request = { id: 'x', tenant: { id: 'acme', quotas: {} }, origin, result, sources: [] };
  const ended = await createDraft(ports)(request as unknown as StepRequest, new AbortController().signal);
  expect(ended).toMatchObject({ kind: 'draft', draft: { state: 'admitted', code: GOOD } });
  expect(asked).toBe(calls);
});
