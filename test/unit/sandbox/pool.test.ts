import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { ReadyContainer } from '../../../src/sandbox/container.ts';
import { EngineError } from '../../../src/sandbox/engine-call.ts';
import { Fleet, type Place } from '../../../src/sandbox/fleet.ts';
import { ContainerPool } from '../../../src/sandbox/pool.ts';
import { FakeEngine } from '../../fakes/fake-engine.ts';
import { eventually, recordingObserver } from '../../fakes/sandbox-run.ts';

const open = () => new AbortController().signal;

interface Launched extends ReadyContainer {
  die(): void;
  readonly retired: boolean;
}

function poolOf(size: number, maxContainers: number, maxIdleMs = 60_000) {
  const engine = new FakeEngine();
  const observer = recordingObserver();
  const fleet: Fleet = new Fleet(engine, observer, () => pool.refill());
  const launched: Launched[] = [];
  let nowMs = 0;
  let hold: Promise<void> = Promise.resolve();
  let fault: (() => void) | null = null;
  const launch = async (place: Place): Promise<ReadyContainer> => {
    await hold;
    if (fault !== null) {
      place.cancel();
      fault();
    }
    const id = `c${launched.length}`;
    place.created(id);
    let alive = true;
    let retired = false;
    let die = (): void => {};
    const ended = new Promise<void>((resolve) => {
      die = () => {
        alive = false;
        resolve();
      };
    });
    const container: Launched = {
      id,
      image: 'i',
      harness: { python: '3', missing: [] },
      get alive() {
        return alive;
      },
      ended,
      die: () => die(),
      get retired() {
        return retired;
      },
      run: () => Promise.reject(new Error('not used here')),
      retire: () => {
        retired = true;
        return fleet.retire(id);
      },
    };
    launched.push(container);
    return container;
  };
  const pool: ContainerPool = new ContainerPool({
    size,
    maxContainers,
    maxIdleMs,
    clock: { now: () => new Date(nowMs), monotonicNs: () => BigInt(nowMs) * 1_000_000n },
    observer,
    fleet,
    launch,
  });
  return {
    pool,
    fleet,
    engine,
    observer,
    launched,
    later: (ms: number) => {
      nowMs += ms;
    },
    holdStarts: () => {
      let release = (): void => {};
      hold = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    failWith: (error: (() => void) | null) => {
      fault = error;
    },
  };
}

async function taken(pool: ContainerPool): Promise<Launched> {
  const take = await pool.take(open());
  if (take.kind !== 'taken') {
    throw new Error(take.kind);
  }
  return take.container as Launched;
}

const broken = () => {
  throw new EngineError('refused', 'no such runtime', 400);
};

describe('a pool', () => {
  test('starts many at once without a warning of a leak', async () => {
    const observer = recordingObserver();
    const warnings: string[] = [];
    const onWarning = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', onWarning);
    const fleet = new Fleet(new FakeEngine(), observer, () => {});
    const pool = new ContainerPool({
      size: 1,
      maxContainers: 1,
      maxIdleMs: 60_000,
      clock: systemClock,
      observer,
      fleet,
      launch: (place, signal) => {
        // As many as calls of that many starts.
        for (let i = 0; i < 100; i += 1) {
          signal.addEventListener('abort', () => {});
        }
        place.cancel();
        return Promise.reject(new EngineError('refused', 'not used here'));
      },
    });
    pool.refill();
    await pool.close();
    await new Promise(setImmediate);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  test('fills its stock in the background and refills it after each take', async () => {
    const { pool, launched } = poolOf(3, 9);
    pool.refill();
    await eventually(() => pool.ready === 3, 'stock is full');
    expect(launched.length).toBe(3);
    await taken(pool);
    await eventually(() => pool.ready === 3, 'stock is full again');
    expect(launched.length).toBe(4);
  });

  test('starts nothing beside a run while there is stock, and makes up for it when the run is over', async () => {
    const { pool, launched, holdStarts } = poolOf(3, 9);
    pool.refill();
    await eventually(() => pool.ready === 3, 'stock is full');
    const release = holdStarts();
    const first = await taken(pool);
    expect(pool.starting).toBe(0);
    await first.retire();
    expect(pool.starting).toBe(1);
    release();
    await eventually(() => pool.ready === 3, 'stock is full again');
    expect(launched.length).toBe(4);
  });

  test('makes up at once for what somebody waits for', async () => {
    const { pool } = poolOf(1, 9);
    pool.refill();
    await eventually(() => pool.ready === 1, 'stock is full');
    await taken(pool);
    expect(pool.starting).toBe(0);
    const waiting = taken(pool);
    expect(pool.starting).toBeGreaterThan(0);
    await waiting;
  });

  test('never hands out the same container twice', async () => {
    const { pool } = poolOf(2, 20);
    const ids = await Promise.all(Array.from({ length: 10 }, async () => (await taken(pool)).id));
    expect(new Set(ids).size).toBe(10);
  });

  test('starts a fresh one when the stock is empty, and none otherwise without a size', async () => {
    const { pool, launched } = poolOf(0, 2);
    pool.refill();
    expect(pool.starting).toBe(0);
    await taken(pool);
    expect(launched.length).toBe(1);
    expect(pool.ready).toBe(0);
  });

  test('keeps to its number of containers, those being removed included', async () => {
    const { pool, fleet, engine, launched } = poolOf(0, 2);
    let confirm = (): void => {};
    engine.faults.remove = () =>
      new Promise((resolve) => {
        confirm = resolve;
      });
    const first = await taken(pool);
    await taken(pool);
    let third = false;
    const waiting = taken(pool).then(() => {
      third = true;
    });
    const gone = first.retire();
    await eventually(() => engine.count('remove') === 1, 'removal asked for');
    expect([third, launched.length, fleet.size]).toEqual([false, 2, 2]);
    confirm();
    await gone;
    await waiting;
    expect(launched.length).toBe(3);
  });

  test('passes over a container that has died, and replaces it', async () => {
    const { pool, launched, later } = poolOf(1, 9);
    pool.refill();
    await eventually(() => pool.ready === 1, 'stock is full');
    launched[0]?.die();
    await eventually(() => launched[0]?.retired === true, 'the dead one is removed');
    later(60_000);
    expect((await taken(pool)).id).toBe('c1');
  });

  test('does not hand out a container in the moment of its death', async () => {
    const { pool, launched } = poolOf(1, 9);
    pool.refill();
    await eventually(() => pool.ready === 1, 'stock is full');
    launched[0]?.die();
    expect((await taken(pool)).id).not.toBe('c0');
  });

  test('replaces a container that has waited too long', async () => {
    const { pool, launched } = poolOf(1, 9, 30);
    pool.refill();
    await eventually(() => launched[0]?.retired === true, 'the old one is removed');
    await eventually(() => launched.length > 1, 'a new one is started');
    await pool.close();
  });

  test('gives a container whose taker has left to the next one or to the stock', async () => {
    const { pool, launched, holdStarts } = poolOf(1, 9);
    const release = holdStarts();
    const caller = new AbortController();
    const leaving = pool.take(caller.signal);
    caller.abort();
    expect(await leaving).toEqual({ kind: 'aborted' });
    release();
    await eventually(() => pool.ready === 1 && pool.starting === 0, 'stock is full');
    expect(launched.filter((container) => !container.retired).length).toBe(1);
  });

  test('refuses one taker for each failed start, and says why', async () => {
    const { pool, failWith } = poolOf(0, 9);
    failWith(broken);
    expect(await pool.take(open())).toEqual({ kind: 'unavailable', detail: 'no such runtime' });
  });

  test('stops starting after failures in a row, refuses at once, and tries again after a pause', async () => {
    const { pool, observer, failWith, later } = poolOf(0, 9);
    failWith(broken);
    for (let i = 0; i < 3; i += 1) {
      await pool.take(open());
    }
    expect(pool.fault).toBe('no such runtime');
    const before = observer.starts.length;
    expect(await pool.take(open())).toEqual({ kind: 'unavailable', detail: 'no such runtime' });
    expect(observer.starts.length).toBe(before);
    failWith(null);
    pool.refill();
    expect(pool.starting).toBe(0);
    later(10_001);
    expect(pool.fault).toBeNull();
    await taken(pool);
  });

  test('that failed to refill waits before it tries again', async () => {
    const { pool, observer, failWith } = poolOf(1, 9);
    failWith(broken);
    pool.refill();
    await eventually(() => observer.starts.length === 1, 'one failed start');
    for (let i = 0; i < 20; i += 1) {
      pool.refill();
      await Promise.resolve();
    }
    expect(observer.starts).toEqual(['failed']);
    await pool.close();
  });

  test('that is closed tells of no failed start: what was being started was called off', async () => {
    const { pool, observer, failWith, holdStarts } = poolOf(2, 9);
    const release = holdStarts();
    pool.refill();
    failWith(() => {
      throw new EngineError('cancelled', 'the call was cancelled');
    });
    const closed = pool.close();
    release();
    await closed;
    expect(observer.starts).toEqual([]);
    expect(pool.starting).toBe(0);
  });

  test('starts again at once when what was broken has recovered', async () => {
    const { pool, failWith } = poolOf(2, 9);
    failWith(broken);
    pool.refill();
    for (let i = 0; i < 3; i += 1) {
      await pool.take(open());
    }
    failWith(null);
    pool.recovered();
    await eventually(() => pool.ready === 2, 'stock is full');
  });

  test('closed refuses takers and removes its stock and what was being started', async () => {
    const { pool, fleet, launched, holdStarts } = poolOf(2, 9);
    pool.refill();
    await eventually(() => pool.ready === 2, 'stock is full');
    const release = holdStarts();
    await taken(pool);
    const [, waiting] = [await taken(pool), pool.take(open())];
    const closed = pool.close();
    expect(await waiting).toMatchObject({ kind: 'unavailable' });
    expect(await pool.take(open())).toMatchObject({ kind: 'unavailable' });
    release();
    await closed;
    expect(launched.slice(2).every((container) => container.retired)).toBe(true);
    await eventually(() => fleet.size === 2, 'only the two taken ones are left');
  });

  test('with a stock tells of its fault until a container has started, though a pause be over', async () => {
    const { pool, observer, later, failWith, holdStarts } = poolOf(1, 4);
    failWith(broken);
    for (let failures = 1; failures <= 3; failures += 1) {
      pool.refill();
      await eventually(() => observer.starts.length === failures, 'a failed start');
      later(60_000);
    }
    const release = holdStarts();
    pool.refill();
    expect([pool.starting, pool.fault]).toEqual([1, 'no such runtime']);
    failWith(null);
    release();
    await eventually(() => pool.ready === 1, 'stock is full');
    expect(pool.fault).toBeNull();
    await pool.close();
  });

  test('without a stock tells of no fault once a pause is over, as only a run can try', async () => {
    const { pool, observer, later, failWith } = poolOf(0, 4);
    failWith(broken);
    for (let failures = 1; failures <= 3; failures += 1) {
      expect((await pool.take(open())).kind).toBe('unavailable');
      expect(observer.starts.length).toBe(failures);
    }
    expect(pool.fault).toBe('no such runtime');
    later(60_000);
    expect(pool.fault).toBeNull();
    await pool.close();
  });
});
