import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { EngineError } from '../../../src/sandbox/engine-call.ts';
import { Fleet } from '../../../src/sandbox/fleet.ts';
import { FakeEngine } from '../../fakes/fake-engine.ts';
import { eventually, recordingObserver } from '../../fakes/sandbox-run.ts';

function fleetWith(engine: FakeEngine) {
  const observer = recordingObserver();
  let freed = 0;
  const fleet = new Fleet(engine, observer, () => {
    freed += 1;
  });
  return { fleet, observer, freed: () => freed };
}

describe('the containers of an instance', () => {
  test('count from before they are created until their removal is confirmed', async () => {
    const engine = new FakeEngine();
    let confirm = (): void => {};
    engine.faults.remove = () =>
      new Promise((resolve) => {
        confirm = resolve;
      });
    const { fleet, freed } = fleetWith(engine);
    const place = fleet.reserve();
    expect(fleet.size).toBe(1);
    place.created('c1');
    expect([fleet.size, fleet.has('c1')]).toEqual([1, true]);
    const retired = fleet.retire('c1');
    await eventually(() => engine.count('remove') === 1, 'removal asked for');
    expect([fleet.size, freed()]).toEqual([1, 0]);
    confirm();
    await retired;
    expect([fleet.size, fleet.has('c1'), freed()]).toEqual([0, false, 1]);
  });

  test('are removed again when the engine fails, and keep their place meanwhile', async () => {
    const engine = new FakeEngine();
    let attempts = 0;
    const { fleet, observer } = fleetWith(engine);
    engine.faults.remove = () => {
      attempts += 1;
      expect(fleet.size).toBe(1);
      if (attempts < 3) {
        throw new EngineError('refused', 'directory not empty', attempts === 1 ? 500 : 409);
      }
    };
    fleet.reserve().created('c1');
    await fleet.retire('c1');
    expect([attempts, fleet.size, observer.removalFailures]).toEqual([3, 0, 0]);
  });

  test('are removed once however often it is asked for', async () => {
    const engine = new FakeEngine();
    const { fleet } = fleetWith(engine);
    fleet.reserve().created('c1');
    await Promise.all([fleet.retire('c1'), fleet.retire('c1'), fleet.retireAll()]);
    expect(engine.count('remove')).toBe(1);
  });

  test('give a place back that was never used', () => {
    const { fleet, freed } = fleetWith(new FakeEngine());
    const place = fleet.reserve();
    place.cancel();
    place.cancel();
    expect([fleet.size, freed()]).toEqual([0, 1]);
  });
});

describe('the containers of an instance whose engine is slow, away or unwilling', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('keep their place while the engine is slow at a removal that has been cut off here', async () => {
    const engine = new FakeEngine();
    const removedAt = Date.now() + 3000;
    let cutOff = false;
    engine.faults.remove = () => {
      if (!cutOff) {
        cutOff = true;
        throw new EngineError('timeout', 'the engine did not answer');
      }
      if (Date.now() < removedAt) {
        throw new EngineError('refused', 'removal of container c1 is already in progress', 409);
      }
    };
    const { fleet, observer } = fleetWith(engine);
    fleet.reserve().created('c1');
    const retired = fleet.retire('c1');
    await vi.advanceTimersByTimeAsync(2500);
    expect([fleet.size, observer.removalFailures]).toEqual([1, 0]);
    await vi.advanceTimersByTimeAsync(10_000);
    await retired;
    expect([fleet.size, observer.removalFailures]).toEqual([0, 0]);
  });

  test('keep their place and are asked for again for as long as the engine is away', async () => {
    const engine = new FakeEngine();
    engine.faults.remove = () => {
      throw new EngineError('unreachable', 'connect ENOENT');
    };
    const { fleet, observer } = fleetWith(engine);
    fleet.reserve().created('c1');
    const retired = fleet.retire('c1');
    await vi.advanceTimersByTimeAsync(600_000);
    expect([fleet.size, observer.removalFailures]).toEqual([1, 0]);
    expect(engine.count('remove')).toBeGreaterThan(100);
    delete engine.faults.remove;
    await vi.advanceTimersByTimeAsync(4000);
    await retired;
    expect([fleet.size, observer.removalFailures]).toEqual([0, 0]);
  });

  test('are given up at the end of all if the engine is away then', async () => {
    const engine = new FakeEngine();
    engine.faults.remove = () => {
      throw new EngineError('unreachable', 'connect ENOENT');
    };
    const { fleet, observer } = fleetWith(engine);
    fleet.reserve().created('c1');
    const ended = fleet.retireAll();
    await vi.advanceTimersByTimeAsync(10_000);
    await ended;
    expect([fleet.size, observer.removalFailures]).toEqual([0, 1]);
  });

  test('that cannot be removed are counted and left to the reaper', async () => {
    const engine = new FakeEngine();
    engine.faults.remove = () => {
      throw new EngineError('refused', 'no', 500);
    };
    const { fleet, observer, freed } = fleetWith(engine);
    fleet.reserve().created('c1');
    const retired = fleet.retire('c1');
    await vi.advanceTimersByTimeAsync(10_000);
    await retired;
    expect([observer.removalFailures, fleet.size, freed()]).toEqual([1, 0, 1]);
    expect(engine.count('remove')).toBeGreaterThan(3);
  });
});
