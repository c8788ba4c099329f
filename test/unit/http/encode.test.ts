import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ComputationSchema } from '../../../src/contract/computation.ts';
import { faultChecker } from '../../../src/contract/faults.ts';
import { encodeComputation } from '../../../src/http/encode.ts';
import type { StepAnswer } from '../../../src/step/answer.ts';

const check = faultChecker(ComputationSchema);

function answer(resultText: string | null): StepAnswer {
  return {
    kind: 'answer',
    resultText,
    computation: {
      id: '0197',
      state: resultText === null ? 'failed' : 'succeeded',
      result_type: 'any',
      admission: { admitted: true },
      failure: resultText === null ? { code: 'timeout', message: 'm', retryable: false } : null,
      sandbox: null,
      prompt_pack_digest: 'sha256:x',
      code_sha256: '',
      function: { source: 'caller' },
      attempts: [],
      prompt: null,
      metered: { compute_runs: 1, compute_seconds: 1 },
      quota: null,
      timings_ms: { prompt: 0, model: 0, admission: 0, queue: 0, sandbox: 0, total: 0 },
    },
  };
}

describe('encodeComputation', () => {
  it('joins any JSON text in as it is, and the whole fits the schema', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const encoded = encodeComputation(answer(text));
        expect(encoded).toContain(`"result":${text},`);
        expect(check(JSON.parse(encoded))).toEqual([]);
        expect(JSON.parse(encoded).result).toEqual(JSON.parse(text));
      }),
    );
  });

  it('keeps digits that a double cannot hold', () => {
    expect(encodeComputation(answer('9007199254740993'))).toContain('"result":9007199254740993,');
  });

  it('has no result where there is none', () => {
    const parsed = JSON.parse(encodeComputation(answer(null)));
    expect(check(parsed)).toEqual([]);
    expect('result' in parsed).toBe(false);
  });
});
