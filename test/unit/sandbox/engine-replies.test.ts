import { expect, test } from 'vitest';
import { engineFacts, measuredUsage } from '../../../src/sandbox/engine-replies.ts';

/** As engines with cgroup version 1 and 2 answer, shortened. */
const V1 = {
  memory_stats: { usage: 6_246_400, max_usage: 11_534_336, stats: { cache: 1_040_384 }, limit: 134_217_728 },
  cpu_stats: { cpu_usage: { total_usage: 41_314_098, usage_in_usermode: 20_000_000 } },
};
const V2 = {
  memory_stats: { usage: 6_246_400, stats: { anon: 4_000_000, file: 1_040_384 }, limit: 134_217_728 },
  cpu_stats: { cpu_usage: { total_usage: 41_314_000, usage_in_usermode: 20_000_000 } },
};

test('cgroup version 1 tells the peak', () => {
  expect(measuredUsage(V1)).toEqual({ cpuSeconds: 0.041314098, peakMemoryBytes: 11_534_336 });
});

test('cgroup version 2 tells CPU time only, and what is used at the moment is not taken for a peak', () => {
  expect(measuredUsage(V2)).toEqual({ cpuSeconds: 0.041314, peakMemoryBytes: null });
});

test('cgroup version 2 tells the peak where the engine passes it on', () => {
  const exposed = { ...V2, memory_stats: { ...V2.memory_stats, max_usage: 9_000_000 } };
  expect(measuredUsage(exposed)).toMatchObject({ peakMemoryBytes: 9_000_000 });
});

test.each([
  ['a container that has ended', { memory_stats: {}, cpu_stats: { cpu_usage: { total_usage: 0 } } }],
  ['nothing', null],
  ['something else', 'busy'],
  ['text for numbers', { memory_stats: { max_usage: '1' }, cpu_stats: { cpu_usage: { total_usage: '1' } } }],
  ['a negative number', { memory_stats: { max_usage: -1 }, cpu_stats: { cpu_usage: -1 } }],
])('%s is no reading', (_what, stats) => {
  expect(measuredUsage(stats)).toEqual({ cpuSeconds: null, peakMemoryBytes: null });
});

test('an engine says what it is, in words fit for a line of a log', () => {
  const info = { CgroupVersion: '2', ServerVersion: '26.1.5+dfsg1', DefaultRuntime: 'io.containerd.runc.v2' };
  expect(engineFacts(info)).toEqual({
    cgroupVersion: 2,
    version: '26.1.5+dfsg1',
    defaultRuntime: 'io.containerd.runc.v2',
  });
  expect(engineFacts({ ServerVersion: 'two\nlines', DefaultRuntime: 7 })).toEqual({
    cgroupVersion: 1,
    version: 'unknown',
    defaultRuntime: 'unknown',
  });
});
