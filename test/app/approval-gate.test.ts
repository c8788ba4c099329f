import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Draft,
  type Policy,
  type Service,
  type Step,
  throughGate,
} from '../../examples/approval-gate/gate.ts';
import { all, houseRules } from '../../examples/approval-gate/policy.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

const GOOD =
  'from statistics import mean\n\ndef compute(data):\n    return mean(o["price"] for o in data["orders"])\n';
const step: Step = {
  step: 'the average price of my orders',
  result_type: 'number',
  sources: [{ name: 'orders', result: [{ price: 20 }] }],
};

let service: TestService;
let at: Service;
let reply = GOOD;
beforeAll(async () => {
  service = await startTestService({ answer: () => reply });
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
  at = { url, key: service.key };
});
afterAll(() => service.close());

describe('an approval gate', () => {
  it('runs the very function that the policy saw', async () => {
    const seen: Draft[] = [];
    const looks: Policy = async (draft) => {
      seen.push(draft);
      return null;
    };
    const passage = await throughGate(at, step, all(houseRules, looks));
    expect(seen.map(({ code }) => code)).toEqual([GOOD]);
    expect(passage).toMatchObject({
      passed: true,
      answer: {
        state: 'succeeded',
        result: 42,
        code_sha256: seen[0]?.code_sha256,
        function: { source: 'caller' },
      },
    });
    expect(service.sandbox.runs.at(-1)?.text).toBe(GOOD);
  });

  it('runs nothing that admission or the policy refuses', async () => {
    const runs = service.sandbox.runs.length;
    reply = 'import base64\n\ndef compute(data):\n    return 1\n';
    expect(await throughGate(at, step, houseRules)).toEqual({
      passed: false,
      why: 'refused by the policy: it imports base64',
    });
    reply = `${GOOD}${'# a line\n'.repeat(60)}`;
    expect(await throughGate(at, step, houseRules)).toMatchObject({
      why: expect.stringContaining('64 lines'),
    });
    reply = 'import socket\n\ndef compute(data):\n    return 1\n';
    expect(await throughGate(at, step, async () => null)).toMatchObject({
      passed: false,
      why: expect.stringContaining('import: socket'),
    });
    expect(service.sandbox.runs).toHaveLength(runs);
    reply = GOOD;
  });

  it('does not run what was changed after the approval', async () => {
    const changes: Policy = async (draft) => {
      Object.assign(draft, { code: `${draft.code}# changed\n` });
      return null;
    };
    await expect(throughGate(at, step, changes)).rejects.toThrow('code_mismatch');
  });
});
