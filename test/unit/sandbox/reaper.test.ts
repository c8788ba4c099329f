import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/clock.ts';
import { EngineError } from '../../../src/sandbox/engine-call.ts';
import { Fleet } from '../../../src/sandbox/fleet.ts';
import { Reaper } from '../../../src/sandbox/reaper.ts';
import { FakeEngine } from '../../fakes/fake-engine.ts';
import { recordingObserver } from '../../fakes/sandbox-run.ts';

const NOW = 1_800_000_000;
const clock: Clock = { now: () => new Date(NOW * 1000), monotonicNs: () => 0n };

function reaperOver(engine: FakeEngine) {
  const observer = recordingObserver();
  const fleet = new Fleet(engine, observer, () => {});
  return { fleet, reaper: new Reaper({ engine, fleet, clock, instanceId: 'me', observer }) };
}

function listed(id: string, instance: string, expires: string, createdSeconds = NOW - 3600) {
  const labels = { 'compute-step': '1', 'compute-step.instance': instance, 'compute-step.expires': expires };
  return { id, labels, createdSeconds, ended: false };
}

describe('a sweep', () => {
  test('removes what is past its expiry, whoever started it', async () => {
    const engine = new FakeEngine();
    engine.foreign.push(
      listed('expired', 'other', String(NOW - 1)),
      listed('live', 'other', String(NOW + 1)),
    );
    await reaperOver(engine).reaper.sweep();
    expect(engine.removed).toEqual(['expired']);
  });

  test('removes what carries this instance’s id and is not known to it, unless it is only being created', async () => {
    const engine = new FakeEngine();
    const later = String(NOW + 999);
    engine.foreign.push(
      listed('lost', 'me', later),
      listed('young', 'me', later, NOW - 10),
      listed('own', 'me', later),
    );
    const { fleet, reaper } = reaperOver(engine);
    fleet.reserve().created('own');
    await reaper.sweep();
    expect(engine.removed).toEqual(['lost']);
  });

  test('removes what a dead instance left ended, once two sweeps have seen it so', async () => {
    const engine = new FakeEngine();
    const later = String(NOW + 999);
    const husk = { ...listed('husk', 'dead', later), ended: true };
    engine.foreign.push(husk, listed('running', 'dead', later));
    const { fleet, reaper } = reaperOver(engine);
    const own = { ...listed('own', 'me', later, NOW - 10), ended: true };
    engine.foreign.push(own);
    fleet.reserve().created('own');
    await reaper.sweep();
    // A live instance may be about to remove it itself.
    expect(engine.removed).toEqual([]);
    await reaper.sweep();
    expect(engine.removed).toEqual(['husk']);
  });

  test('never touches a container of its own that is in use, even past its expiry', async () => {
    const engine = new FakeEngine();
    engine.foreign.push(listed('own', 'me', String(NOW - 1)));
    const { fleet, reaper } = reaperOver(engine);
    fleet.reserve().created('own');
    await reaper.sweep();
    expect(engine.removed).toEqual([]);
  });

  test.each(['', 'soon', '-5', '1e3'])('does not take "%s" for an expiry', async (expires) => {
    const engine = new FakeEngine();
    engine.foreign.push(listed('odd', 'other', expires));
    await reaperOver(engine).reaper.sweep();
    expect(engine.removed).toEqual([]);
  });

  test('leaves containers without our label alone', async () => {
    const engine = new FakeEngine();
    engine.foreign.push({ id: 'x', labels: { 'compute-step.expires': '5' }, createdSeconds: 5, ended: true });
    await reaperOver(engine).reaper.sweep();
    expect(engine.removed).toEqual([]);
  });

  test('of an engine that is away fails no one', async () => {
    const engine = new FakeEngine();
    engine.faults.list = () => {
      throw new EngineError('unreachable', 'connect ENOENT');
    };
    await expect(reaperOver(engine).reaper.sweep()).resolves.toBeUndefined();
  });
});
