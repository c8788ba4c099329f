import { randomUUID } from 'node:crypto';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DockerSandboxOptions } from '../../src/sandbox/docker.ts';
import type { RunLimits, RunReport, Sandbox } from '../../src/sandbox/port.ts';
import { startFaultySocket } from '../fakes/faulty-socket.ts';
import { compute, escaped } from '../fakes/python-functions.ts';
import { realSettings } from '../fakes/real-sandbox.ts';
import { dataOf, eventually, fakePermit, LIMITS, unadmitted } from '../fakes/sandbox-run.ts';
import { SANDBOX_SHAPES } from '../fakes/sandbox-shapes.ts';

const docker = new Docker();
const instanceId = randomUUID();
const settings = (more: Partial<DockerSandboxOptions> = {}) => realSettings({ instanceId, ...more });

interface RunOptions {
  readonly limits?: Partial<RunLimits>;
  readonly signal?: AbortSignal;
  readonly data?: unknown;
  readonly permit?: ReturnType<typeof fakePermit>;
}

function runIn(sandbox: Sandbox, code: string, options: RunOptions = {}): Promise<RunReport> {
  return sandbox.run(
    unadmitted(code),
    dataOf(options.data ?? {}),
    options.permit ?? fakePermit(),
    { ...LIMITS, wallMs: 10_000, ...options.limits },
    options.signal ?? new AbortController().signal,
  );
}

async function containersOf(instance: string): Promise<Docker.ContainerInfo[]> {
  return docker.listContainers({ all: true, filters: { label: [`compute-step.instance=${instance}`] } });
}

describe.each(SANDBOX_SHAPES)('a sandbox that is $shape', ({ open }) => {
  let sandbox: Sandbox;

  beforeAll(async () => {
    sandbox = await open(settings());
    // A daemon is not waited for while its first self-test is under way.
    await eventually(async () => (await sandbox.readiness()).every(({ ok }) => ok), 'it is ready');
    expect((await sandbox.readiness()).map(({ check }) => check)).toEqual(['engine', 'image', 'self_test']);
  });

  afterAll(async () => {
    await sandbox.close();
    expect(await containersOf(instanceId)).toEqual([]);
  });

  describe('a function in a real container', () => {
    test('returns its result with digits untouched', async () => {
      const report = await runIn(sandbox, compute('return [data["n"], 2**200, 0.1]'), {
        data: { n: 9007199254740991 },
      });
      expect(report).toMatchObject({ kind: 'returned', usage: { exitCode: 0, peakMemorySource: 'self' } });
      expect(report.kind === 'returned' && report.result.toString().replaceAll(' ', '')).toBe(
        `[9007199254740991,${2n ** 200n},0.1]`,
      );
    });

    test('takes megabytes of data by stdin', async () => {
      const rows = Array.from({ length: 40_000 }, (_, i) => ({ id: i, price: 2, note: 'x'.repeat(40) }));
      const report = await runIn(sandbox, compute('return sum(row["price"] for row in data["rows"])'), {
        data: { rows },
      });
      expect(report).toMatchObject({ kind: 'returned', result: Buffer.from('80000') });
    });

    test('raises: the class and the line, and the text only where it was asked for', async () => {
      const code = compute('total = 0', 'return data["missing"]');
      expect(await runIn(sandbox, code)).toMatchObject({
        kind: 'raised',
        exception: 'KeyError',
        line: 3,
        text: null,
        printed: null,
      });
      const printing = compute('print("seen")', 'raise ValueError("told")');
      expect(await runIn(sandbox, printing, { limits: { detailMaxBytes: 100 } })).toMatchObject({
        exception: 'ValueError',
        line: 3,
        text: 'told',
        printed: 'seen\n',
      });
    });

    test('returns what is not JSON: the path and the type', async () => {
      expect(await runIn(sandbox, compute('return {"a": [1, {2}]}'))).toMatchObject({
        kind: 'notJson',
        notJson: { path: ['a', 1], pythonType: 'set' },
      });
    });

    test('returns too much', async () => {
      const code = compute('return "x" * 2000');
      expect(await runIn(sandbox, code, { limits: { resultMaxBytes: 1000 } })).toMatchObject({
        kind: 'killed',
        reason: 'output_too_large',
      });
    });

    test.each([
      ['a busy loop', ['while True:', '    pass']],
      [
        'a loop that swallows everything',
        ['while True:', '    try:', '        1 / 0', '    except Exception:', '        continue'],
      ],
      ['a loop inside C code', ['return sum(range(10**12))']],
    ])('with %s is killed at its limit', async (_what, lines) => {
      const startedAt = performance.now();
      const report = await runIn(sandbox, compute(...lines), { limits: { wallMs: 1000 } });
      expect(report).toMatchObject({ kind: 'killed', reason: 'timeout', usage: { wallNs: 1_000_000_000n } });
      // Its limit, a second to end it, and room for a start on a busy machine.
      expect(performance.now() - startedAt).toBeLessThan(10_000);
    });

    test.each([
      ['at once', 'return len(bytearray(10**9))'],
      ['bit by bit', 'return len([str(i) * 1000 for i in range(10**9)])'],
    ])('that takes too much memory %s is out of memory', async (_what, line) => {
      expect(await runIn(sandbox, compute(line))).toMatchObject({
        kind: 'killed',
        reason: 'out_of_memory',
        usage: { exitCode: 137 },
      });
    });

    test('is held to less memory where the run asked for less', async () => {
      const code = compute('return len(bytearray(70_000_000))');
      expect(await runIn(sandbox, code)).toMatchObject({ kind: 'returned' });
      expect(await runIn(sandbox, code, { limits: { memoryMb: 48 } })).toMatchObject({
        reason: 'out_of_memory',
      });
    });

    test('does not see what an earlier one left behind', async () => {
      const mark = compute('import math', 'math.marker = 1', 'return 1');
      const look = compute(
        'import math',
        'try:',
        '    return math.marker',
        'except AttributeError:',
        '    return 0',
      );
      await runIn(sandbox, mark);
      expect(await runIn(sandbox, look)).toMatchObject({ kind: 'returned', result: Buffer.from('0') });
    });
  });

  describe('a function that got past admission and out of the harness', () => {
    test('really is out', async () => {
      expect(await runIn(sandbox, escaped('write(OUT, forged)', 'leave(0)'))).toMatchObject({
        kind: 'returned',
        result: Buffer.from('666'),
      });
    });

    test.each([
      ['exits with 3', ['leave(3)']],
      ['exits with the code of a kill', ['leave(137)']],
      ['forges an answer and exits with 3', ['write(OUT, forged)', 'leave(3)']],
      ['forges an answer and returns another', ['write(OUT, forged)', 'return 1']],
      ['writes behind its answer', ['write(OUT, forged + b"x")', 'leave(0)']],
      ['forges a verdict', ['write(OUT, frame(b\'{"status": "timeout"}\', b""))', 'leave(0)']],
      ['forges bad JSON', ['write(OUT, frame(b\'{"status": "returned"}\', b"[NaN]"))', 'leave(0)']],
      ['forges an answer and lingers', ['write(OUT, forged)', 'while True:', '    pass']],
    ])('and %s has crashed', async (_what, lines) => {
      expect(await runIn(sandbox, escaped(...lines))).toMatchObject({
        kind: 'killed',
        reason: 'sandbox_crashed',
      });
    });

    test('and floods its output is cut at the cap, and memory stays flat', async () => {
      const before = process.memoryUsage().rss;
      const code = escaped(
        'block = b"x" * 65536',
        'for _ in range(16384):',
        '    write(OUT, block)',
        'return 1',
      );
      const report = await runIn(sandbox, code);
      expect(report).toMatchObject({ kind: 'killed', reason: 'output_too_large' });
      expect(report.kind === 'killed' && report.usage.outputBytes).toBeLessThan(16 * 1024 * 1024);
      expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024);
      // The engine must not be left waiting for somebody to read the rest.
      await eventually(async () => (await containersOf(instanceId)).length <= 2, 'only the stock is left');
    });
  });

  describe('a run that is interrupted', () => {
    test('by its caller is killed and counts as cancelled', async () => {
      const caller = new AbortController();
      const report = sandbox.run(
        unadmitted(compute('while True:', '    pass')),
        dataOf({}),
        fakePermit(),
        { ...LIMITS, wallMs: 10_000 },
        caller.signal,
        { taken: () => setTimeout(() => caller.abort(), 200) },
      );
      expect(await report).toMatchObject({ kind: 'killed', reason: 'cancelled' });
    });

    test('by a closing sandbox leaves nothing behind', async () => {
      const own = randomUUID();
      const closing = await open(settings({ instanceId: own, poolSize: 1 }));
      const permit = fakePermit();
      const report = runIn(closing, compute('while True:', '    pass'), { permit });
      await eventually(() => permit.startedWith.length === 1, 'the run has started');
      await closing.close();
      expect(await report).toMatchObject({ kind: 'killed', reason: 'cancelled' });
      expect(await containersOf(own)).toEqual([]);
    });

    test('never began, where the queue was full', async () => {
      const small = await open(
        settings({ instanceId: randomUUID(), poolSize: 0, maxConcurrency: 1, queueLimit: 1 }),
      );
      const spin = compute('while True:', '    pass');
      const runs = [runIn(small, spin, { limits: { wallMs: 1000 } }), runIn(small, compute('return 2'))];
      expect(await runIn(small, spin)).toMatchObject({ kind: 'notStarted', reason: 'overloaded' });
      expect(await Promise.all(runs)).toMatchObject([{ reason: 'timeout' }, { kind: 'returned' }]);
      await small.close();
    });
  });

  describe('what the engine knows during a run', () => {
    test('is nothing of its code or data', async () => {
      const canary = `canary-${randomUUID()}`;
      const permit = fakePermit();
      const own = randomUUID();
      const single = await open(settings({ instanceId: own, poolSize: 0 }));
      const report = runIn(single, compute(`marker = "${canary}"`, 'while True:', '    pass'), {
        data: { secret: canary },
        permit,
        limits: { wallMs: 3000 },
      });
      await eventually(() => permit.startedWith.length === 1, 'the run has started');
      const running = (await containersOf(own)).filter(({ State }) => State === 'running');
      expect(running.length).toBe(1);
      const inspected = await docker.getContainer(running[0]?.Id ?? '').inspect();
      expect(JSON.stringify(inspected)).not.toContain(canary);
      expect(inspected.HostConfig.LogConfig?.Type).toBe('none');
      expect(Object.keys(inspected.Config.Labels).sort()).toEqual([
        'compute-step',
        'compute-step.expires',
        'compute-step.instance',
      ]);
      await report;
      await single.close();
    });
  });

  describe('an engine that cannot be used', () => {
    test.each([
      ['is not there', 'unix:///nowhere/engine.sock'],
      ['refuses the connection', 'tcp://127.0.0.1:1'],
    ])(
      'because it %s makes runs unavailable and uncounted, and readiness says so',
      async (_what, address) => {
        const away = await open(settings({ dockerHost: address, instanceId: randomUUID() }));
        const permit = fakePermit();
        expect(await runIn(away, compute('return 1'), { permit })).toMatchObject({
          reason: 'sandbox_unavailable',
        });
        expect(permit.startedWith).toEqual([]);
        expect(await away.readiness()).toContainEqual(
          expect.objectContaining({ check: 'engine', ok: false }),
        );
        await away.close();
      },
    );

    test('because it accepts and says nothing does not hang anyone', async () => {
      const socket = await startFaultySocket(() => {});
      const away = await open(settings({ dockerHost: socket.dockerHost, instanceId: randomUUID() }));
      expect(await runIn(away, compute('return 1'))).toMatchObject({ reason: 'sandbox_unavailable' });
      expect(await away.readiness()).toContainEqual(expect.objectContaining({ check: 'engine', ok: false }));
      await away.close();
      await socket.close();
    });

    test.each([
      ['has no such image', { image: 'compute-step-sandbox:none' }, 'image'],
      ['has no such runtime', { runtime: 'no-such-runtime' }, 'self_test'],
      ['cannot take the seccomp profile', { seccomp: '{"defaultAction":"SCMP_ACT_NOTHING"}' }, 'self_test'],
    ])('because it %s is not ready, by the name of the check', async (_what, more, check) => {
      const own = randomUUID();
      const broken = await open(settings({ ...more, instanceId: own }));
      expect(await runIn(broken, compute('return 1'))).toMatchObject({ reason: 'sandbox_unavailable' });
      await eventually(
        async () => (await broken.readiness()).find(({ ok }) => !ok)?.check === check,
        'the check that fails is named',
      );
      await broken.close();
      expect(await containersOf(own)).toEqual([]);
    });
  });
});
