import { describe, expect, test } from 'vitest';
import { createSandboxOn, type DockerSandboxOptions } from '../../../src/sandbox/docker.ts';
import { EngineError } from '../../../src/sandbox/engine-call.ts';
import { FakeEngine } from '../../fakes/fake-engine.ts';
import { eventually, sandboxSettings } from '../../fakes/sandbox-run.ts';

const MIB = 1024 * 1024;

function sandboxOn(engine: FakeEngine, more: Partial<DockerSandboxOptions> = {}) {
  const sandbox = createSandboxOn(engine, sandboxSettings(more));
  const selfTest = async () =>
    (await sandbox.readiness()).find(({ check }) => check === 'self_test') ?? { ok: false, detail: 'none' };
  return { sandbox, selfTest };
}

describe('the self-test', () => {
  test('starts one container through the very same spec as runs, and removes it', async () => {
    const engine = new FakeEngine();
    const specs: unknown[] = [];
    const create = engine.create.bind(engine);
    engine.create = (spec) => {
      specs.push({ ...spec, Labels: {} });
      return create(spec);
    };
    const { sandbox, selfTest } = sandboxOn(engine, { poolSize: 1 });
    expect(await selfTest()).toMatchObject({ ok: true });
    await eventually(() => specs.length === 2, 'a container for the stock');
    expect(specs[0]).toEqual(specs[1]);
    await sandbox.close();
    expect(engine.containers.size).toBe(0);
  });

  test.each<[string, Partial<FakeEngine>, RegExp]>([
    ['a weak fact', { probeFacts: { seccomp: '0' } }, /^seccomp: no filter is in force$/],
    ['two weak facts', { probeFacts: { seccomp: '0', pid: 3 } }, /^seccomp: .*; first_process: .*$/],
    ['a probe that lives on past its memory', { probeEnd: (exit) => exit(76) }, /^out_of_memory: /],
    ['a container that says something else', { ready: { protocol: 1 } }, /said something else/],
    [
      'an image without a module',
      { ready: { protocol: 1, python: '3', missing: ['math'] } },
      /^modules: .* math$/,
    ],
  ])('names %s', async (_what, more, detail) => {
    const engine = Object.assign(new FakeEngine(), more);
    const { sandbox, selfTest } = sandboxOn(engine);
    expect(await selfTest()).toMatchObject({ ok: false, detail: expect.stringMatching(detail) });
    await eventually(() => engine.containers.size === 0, 'the probe is removed');
    await sandbox.close();
  });

  test('is one line of a bounded length, whatever is wrong', async () => {
    const engine = new FakeEngine();
    engine.probeFacts = Object.fromEntries(
      [
        'capabilities',
        'seccomp',
        'uids',
        'mounts',
        'devices',
        'limits',
        'environment',
        'interfaces',
        'pid',
      ].map((fact) => [fact, null]),
    );
    const { sandbox, selfTest } = sandboxOn(engine);
    const { ok, detail } = await selfTest();
    expect([ok, detail.split('; ').length]).toEqual([false, 8]);
    await sandbox.close();
  });

  test('names the runtime that was asked for where nothing starts under it', async () => {
    const engine = new FakeEngine();
    engine.faults.start = () => {
      throw new EngineError('refused', 'cannot start', 500);
    };
    const { sandbox, selfTest } = sandboxOn(engine, { runtime: 'runsc' });
    expect(await selfTest()).toMatchObject({ detail: 'cannot start (with SANDBOX_RUNTIME=runsc)' });
    await sandbox.close();
  });

  test('lowers a large memory limit first, and holds the container to that one', async () => {
    const engine = new FakeEngine();
    const lowered = String(512 * MIB);
    engine.probeFacts = {
      control_group: { memory: lowered, memory_and_swap: lowered, swap: null, pids: '64', cpu: null },
    };
    const { sandbox, selfTest } = sandboxOn(engine, { memoryMb: 4096 });
    expect(await selfTest()).toMatchObject({ ok: true });
    expect(engine.calls).toContain(`memory ${512 * MIB}`);
    await sandbox.close();
  });

  test('under way does not hold up the end of the sandbox', async () => {
    const engine = new FakeEngine();
    engine.probeEnd = () => {};
    const { sandbox } = sandboxOn(engine, { poolSize: 1 });
    await eventually(() => engine.count('start') === 1, 'the probe has been started');
    const beganAt = performance.now();
    await sandbox.close();
    expect(performance.now() - beganAt).toBeLessThan(5000);
    expect(engine.containers.size).toBe(0);
  });
});
