import { expect, test } from 'vitest';
import type { StepPorts } from '../../../src/step/ports.ts';
import { combineWatches, nullWatch, type StepWatch, watched } from '../../../src/step/watch.ts';
import { type Commission, writeFunction } from '../../../src/step/write-function.ts';
import { finishedStep } from '../telemetry/finished-step.ts';

/** Writes down what it is told. */
function recorder(traceparent: string | null = null): { watch: StepWatch; told: unknown[][] } {
  const told: unknown[][] = [];
  const watch: StepWatch = {
    began: (...began) => {
      told.push(['began', ...began]);
      return { traceparent, ended: (...ended) => told.push(['ended', began[0], ...ended]) };
    },
    finished: (step) => told.push(['finished', step]),
  };
  return { watch, told };
}

const broken: StepWatch = {
  began: () => {
    throw new Error('broken');
  },
  finished: () => {
    throw new Error('broken');
  },
};
const brokenLater: StepWatch = {
  ...nullWatch,
  began: () => ({
    traceparent: null,
    ended: () => {
      throw new Error('broken');
    },
  }),
};

test('every watch is told everything, whichever of them throws', () => {
  const [one, other] = [recorder(), recorder()];
  const step = finishedStep();
  const watch = combineWatches(one.watch, broken, brokenLater, other.watch);
  const phase = watch.began('admission', 2);
  phase.ended('not_admitted', { rule_id: 'import', line: 3 });
  watch.finished(step);
  const told = [
    ['began', 'admission', 2],
    ['ended', 'admission', 'not_admitted', { rule_id: 'import', line: 3 }],
    ['finished', step],
  ];
  expect(one.told).toEqual(told);
  expect(other.told).toEqual(told);
});

test('the first traceparent among watches counts, and of none there is none', () => {
  const of = (...all: (string | null)[]) =>
    combineWatches(...all.map((each) => recorder(each).watch)).began('model', 1).traceparent;
  expect([of(), of(null), of(null, 'a', 'b')]).toEqual([null, null, 'a']);
});

test('a phase that throws has ended all the same', async () => {
  const { watch, told } = recorder();
  const thrown = watched(
    watch,
    'prompt',
    () => Promise.reject(new RangeError('x')),
    () => 'ok',
  );
  await expect(thrown).rejects.toThrow(RangeError);
  expect(
    await watched(
      watch,
      'prompt',
      () => 1,
      () => 'invalid_request',
    ),
  ).toBe(1);
  expect(told).toEqual([
    ['began', 'prompt'],
    ['ended', 'prompt', 'internal_error'],
    ['began', 'prompt'],
    ['ended', 'prompt', 'invalid_request'],
  ]);
});

test('a model that throws has ended too', async () => {
  const { watch, told } = recorder();
  const ports = { model: { ask: () => Promise.reject(new RangeError('x')) } } as unknown as StepPorts;
  const asked = { id: 'x', traceparent: null, maxAttempts: 1, watch } as Commission;
  await expect(writeFunction(ports, asked, new AbortController().signal)).rejects.toThrow(RangeError);
  expect(told).toEqual([
    ['began', 'model', 1],
    ['ended', 'model', 'internal_error'],
  ]);
});
