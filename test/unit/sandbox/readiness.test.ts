import { describe, expect, test, vi } from 'vitest';
import { EngineError } from '../../../src/sandbox/engine-call.ts';
import { SandboxReadiness } from '../../../src/sandbox/readiness.ts';
import { FakeEngine } from '../../fakes/fake-engine.ts';

function setup(selfTest: () => Promise<string | null> = async () => null) {
  const engine = new FakeEngine();
  let nowMs = 0;
  let recovered = 0;
  let tests = 0;
  const readiness = new SandboxReadiness({
    engine,
    image: 'compute-step-sandbox:tag',
    clock: { now: () => new Date(nowMs), monotonicNs: () => BigInt(nowMs) * 1_000_000n },
    selfTest: () => {
      tests += 1;
      return selfTest();
    },
    onRecovered: () => {
      recovered += 1;
    },
  });
  return {
    engine,
    readiness,
    later: (ms: number) => {
      nowMs += ms;
    },
    recovered: () => recovered,
    tests: () => tests,
  };
}

const oks = async (readiness: SandboxReadiness) =>
  Object.fromEntries((await readiness.states()).map(({ check, ok }) => [check, ok]));
const away = () => {
  throw new EngineError('unreachable', 'connect ENOENT /nowhere');
};

describe('readiness', () => {
  test('is engine, image and self-test, and gives the image’s id to start from', async () => {
    const { engine, readiness } = setup();
    expect(await oks(readiness)).toEqual({ engine: true, image: true, self_test: true });
    expect(await readiness.ground()).toEqual({
      imageId: engine.image,
      cgroupVersion: 1,
      version: '20.10.24',
      defaultRuntime: 'runc',
    });
    expect((await readiness.states())[0]?.detail).toBe('version 20.10.24, cgroup v1, runtime runc');
  });

  test('is one check for all who ask, and at most two seconds old', async () => {
    const { engine, readiness, later } = setup();
    await Promise.all([readiness.states(), readiness.states(), readiness.ground()]);
    later(1999);
    await readiness.states();
    expect(engine.count('ping')).toBe(1);
    later(2);
    await readiness.states();
    expect(engine.count('ping')).toBe(2);
  });

  test('once started is looked at unasked, so that who asks does not wait for the engine, until it is closed', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const { engine, readiness, later } = setup();
      readiness.start();
      for (const pings of [1, 2, 3]) {
        later(1500);
        vi.advanceTimersByTime(1500);
        await new Promise((resolve) => setImmediate(resolve));
        await readiness.states();
        expect(engine.count('ping')).toBe(pings);
      }
      readiness.close();
      vi.advanceTimersByTime(10_000);
      expect(engine.count('ping')).toBe(3);
    } finally {
      vi.useRealTimers();
    }
  });

  test('names the engine when it does not answer, and does not go on to the rest', async () => {
    const { engine, readiness } = setup();
    engine.faults.ping = away;
    expect(await readiness.states()).toMatchObject([
      { check: 'engine', ok: false, detail: 'connect ENOENT /nowhere' },
      { check: 'image', ok: false },
      { check: 'self_test', ok: false },
    ]);
    expect(engine.count('imageId')).toBe(0);
    await expect(readiness.ground()).rejects.toThrow(/^engine: connect ENOENT/);
  });

  test('names the image when there is none, and how to get it', async () => {
    const { engine, readiness } = setup();
    engine.image = null;
    expect(await oks(readiness)).toEqual({ engine: true, image: false, self_test: false });
    await expect(readiness.ground()).rejects.toThrow(/npm run image/);
  });

  test('names the self-test when it fails, and repeats it only after a pause', async () => {
    let fault: string | null = 'the image lacks math';
    const { readiness, later, tests } = setup(async () => fault);
    expect(await oks(readiness)).toEqual({ engine: true, image: true, self_test: false });
    await expect(readiness.ground()).rejects.toThrow(/lacks math/);
    fault = null;
    later(2001);
    expect(await oks(readiness)).toMatchObject({ self_test: false });
    expect(tests()).toBe(1);
    later(3001);
    expect(await oks(readiness)).toMatchObject({ self_test: true });
  });

  test('does the self-test once an image, and again after the engine was away', async () => {
    const { engine, readiness, later, tests } = setup();
    await readiness.states();
    later(2001);
    await readiness.states();
    expect(tests()).toBe(1);
    engine.faults.ping = away;
    later(2001);
    await readiness.states();
    delete engine.faults.ping;
    later(2001);
    await readiness.states();
    expect(tests()).toBe(2);
  });

  test('tells of a recovery, once', async () => {
    const { engine, readiness, later, recovered } = setup();
    engine.faults.ping = away;
    await readiness.states();
    delete engine.faults.ping;
    later(2001);
    await readiness.states();
    later(2001);
    await readiness.states();
    expect(recovered()).toBe(1);
  });

  test('does the self-test again after a restart that nobody else noticed, and tells of the recovery', async () => {
    const { engine, readiness, tests, recovered } = setup();
    await readiness.states();
    engine.restart();
    await new Promise((resolve) => setImmediate(resolve));
    // At once, not when the answer before has become old.
    expect(await oks(readiness)).toEqual({ engine: true, image: true, self_test: true });
    expect(tests()).toBe(2);
    expect(recovered()).toBe(1);
    expect(engine.count('watch')).toBe(2);
  });

  test('takes nothing from a check during which the engine restarted', async () => {
    let meanwhile: (() => void) | null = () => engine.restart();
    const { engine, readiness, tests } = setup(async () => {
      meanwhile?.();
      await new Promise((resolve) => setImmediate(resolve));
      return null;
    });
    expect(await oks(readiness)).toMatchObject({ engine: false });
    await expect(readiness.ground()).rejects.toThrow(/restarted/);
    meanwhile = null;
    expect(await oks(readiness)).toEqual({ engine: true, image: true, self_test: true });
    expect(tests()).toBe(3);
  });

  test('watches the engine once, before the self-test, and no longer than it is in use', async () => {
    const { engine, readiness, later } = setup(async () => {
      expect(engine.count('watch')).toBe(1);
      return null;
    });
    await readiness.states();
    later(2001);
    await readiness.states();
    expect(engine.count('watch')).toBe(1);
    const watches = engine.watches;
    readiness.close();
    expect(watches()).toBe(0);
  });

  test('does without a watch on an engine that has none, not on one that does not answer', async () => {
    const { engine, readiness } = setup();
    engine.faults.watch = () => {
      throw new EngineError('refused', 'no such route', 404);
    };
    expect(await oks(readiness)).toEqual({ engine: true, image: true, self_test: true });
    const { engine: silent, readiness: other } = setup();
    silent.faults.watch = () => {
      throw new EngineError('timeout', 'no answer');
    };
    expect(await oks(other)).toMatchObject({ engine: false });
  });

  test('keeps to the image’s id when its tag moves, until that id is gone', async () => {
    const { engine, readiness, later } = setup();
    const first = engine.image;
    await readiness.states();
    const known = new Set([first]);
    const moved = `sha256:${'b'.repeat(64)}`;
    engine.imageId = async (name) => (name.startsWith('sha256:') ? (known.has(name) ? name : null) : moved);
    later(2001);
    expect((await readiness.ground()).imageId).toBe(first);
    known.clear();
    later(2001);
    expect((await readiness.ground()).imageId).toBe(moved);
  });

  test('asks again at once after a doubt', async () => {
    const { engine, readiness } = setup();
    await readiness.states();
    readiness.doubt();
    await readiness.states();
    expect(engine.count('ping')).toBe(2);
  });
});
