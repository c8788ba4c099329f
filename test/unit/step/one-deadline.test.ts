import { beforeAll, describe, expect, it } from 'vitest';
import type { Admission } from '../../../src/admission/admit.ts';
import { systemClock } from '../../../src/clock.ts';
import { isProblem } from '../../../src/contract/problem.ts';
import type { Permit } from '../../../src/metering/permit.ts';
import type { Draft } from '../../../src/model/reply.ts';
import { draftOf } from '../../../src/model/reply.ts';
import { BUILT_IN_PACK_DIR, loadPack, type Pack } from '../../../src/prompt/pack.ts';
import { createDraft } from '../../../src/step/draft.ts';
import { FunctionCache } from '../../../src/step/function-cache.ts';
import { nullObserver } from '../../../src/step/observer.ts';
import type { StepPorts } from '../../../src/step/ports.ts';
import type { StepRequest } from '../../../src/step/request.ts';
import { createStep } from '../../../src/step/step.ts';
import { packAdmission } from '../admission/corpus.ts';
import { target } from '../model/asking.ts';

const GOOD = draftOf('def compute(data):\n    return 42\n');
const REFUSED = draftOf('import socket\n');

let pack: Pack;
let admission: Admission;
beforeAll(async () => {
  pack = await loadPack(BUILT_IN_PACK_DIR);
  admission = await packAdmission();
});

/** The waits of a step, in their order; the request ends during the one that is named. */
type Wait = 'readiness' | 'check' | 'open' | 'model' | 'admission' | 'queue';

/** Ports that note what they are asked, and let the request end during one of the waits. */
function portsThatEndIn(wait: Wait, written: Draft) {
  const controller = new AbortController();
  const asked: string[] = [];
  const phases: string[] = [];
  const at = (name: Wait): void => {
    asked.push(name);
    if (name === wait) controller.abort(new DOMException('the deadline passed', 'TimeoutError'));
  };
  const permit = {
    used: null,
    release: async () => void asked.push('release'),
    started: async () => true,
  } as unknown as Permit;
  const ports = {
    pack,
    clock: systemClock,
    observer: { ...nullObserver, phase: (phase: string) => void phases.push(phase) },
    cache: new FunctionCache({ entriesPerTenant: 10, observer: nullObserver }),
    bounds: { promptMaxBytes: 65_536, resultMaxBytes: 1000, resultMaxDepth: 64, detailMaxBytes: 0 },
    meter: {
      open: async () => {
        at('open');
        return permit;
      },
      check: async () => {
        at('check');
        return null;
      },
      usage: async () => ({ month: '2026-11', computeRuns: 0, computeSeconds: 0 }),
    },
    model: {
      ask: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        at('model');
        return written;
      },
    },
    admission: {
      admit: (draft: Draft) => {
        at('admission');
        return admission.admit(draft);
      },
      all: (draft: Draft) => admission.all(draft),
    },
    sandbox: {
      readiness: async () => {
        at('readiness');
        return [];
      },
      run: async () => {
        at('queue');
        return { kind: 'notStarted', reason: 'deadline_exceeded', detail: 'x' };
      },
    },
  } as unknown as StepPorts;
  return { ports, asked, phases, signal: controller.signal };
}

function request(cache: 'off' | 'use'): StepRequest {
  return {
    id: 'x',
    tenant: { id: 'acme', key_sha256: [], quotas: { compute_runs: null, compute_seconds: null } },
    origin: {
      from: 'model',
      instruction: 'sum',
      target: target('https://models.example.com/'),
      maxAttempts: 5,
      cache,
    },
    result: { type: 'any', nullable: false, schema: null },
    sources: [],
    limits: { wallMs: 1000, memoryMb: 64 },
    includeCode: false,
    includeDetail: false,
    traceparent: null,
    idempotency: null,
  };
}

describe.each(['off', 'use'] as const)('a request whose deadline passes, cache %s', (cache) => {
  it.each<[Wait, Draft, readonly string[]]>([
    ['readiness', GOOD, ['readiness', 'open', 'release']],
    ['open', GOOD, ['readiness', 'open', 'release']],
    ['model', GOOD, ['readiness', 'open', 'model', 'release']],
    ['model', REFUSED, ['readiness', 'open', 'model', 'release']],
    ['admission', GOOD, ['readiness', 'open', 'model', 'admission', 'release']],
    ['queue', GOOD, ['readiness', 'open', 'model', 'admission', 'queue', 'release']],
  ])('during %s asks nobody else', async (wait, written, expected) => {
    const { ports, asked, signal } = portsThatEndIn(wait, written);
    const end = await createStep(ports)(request(cache), signal);
    expect(isProblem(end) && end.code).toBe('deadline_exceeded');
    expect(asked).toEqual(expected);
  });

  it.each<[Wait, readonly string[]]>([
    ['check', ['check']],
    ['model', ['check', 'model']],
  ])('during %s of a draft asks nobody else', async (wait, expected) => {
    const { ports, asked, signal } = portsThatEndIn(wait, REFUSED);
    const end = await createDraft(ports)(request(cache), signal);
    expect(isProblem(end) && end.code).toBe('deadline_exceeded');
    expect(asked).toEqual(expected);
  });

  it.each<Wait>(['readiness', 'open', 'check'])('during %s has no prompt made', async (wait) => {
    const { ports, phases, signal } = portsThatEndIn(wait, GOOD);
    await (wait === 'check' ? createDraft(ports) : createStep(ports))(request(cache), signal);
    expect(phases).toEqual(['total']);
  });

  it('does not have a refused function written again', async () => {
    const { ports, asked, signal } = portsThatEndIn('admission', REFUSED);
    const end = await createStep(ports)(request(cache), signal);
    expect(isProblem(end) && end.code).toBe('deadline_exceeded');
    expect(asked.filter((each) => each === 'model')).toHaveLength(1);
  });
});
