import { randomUUID } from 'node:crypto';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunLimits, RunReport, Sandbox } from '../../src/sandbox/port.ts';
import { compute, escaped } from '../fakes/python-functions.ts';
import { realSettings } from '../fakes/real-sandbox.ts';
import { dataOf, eventually, fakePermit, LIMITS, unadmitted } from '../fakes/sandbox-run.ts';
import { SANDBOX_SHAPES } from '../fakes/sandbox-shapes.ts';

const docker = new Docker();
const instanceId = randomUUID();
const WALL_MS = 1000;
/** A second to end it, and room for a machine with six times its load. */
const END_MAX_MS = 5000;
/** Results, frames and the test's own garbage; a flood or an endless answer would be a multiple. */
const RSS_MAX_BYTES = 160 * 1024 * 1024;

function ownContainers(): Promise<Docker.ContainerInfo[]> {
  return docker.listContainers({ all: true, filters: { label: [`compute-step.instance=${instanceId}`] } });
}

interface Ended {
  readonly report: RunReport;
  /** From the moment it had its container. */
  readonly ms: number;
}

const endless = (before: string[], loop: string[]) =>
  escaped(...before, 'while True:', ...loop.map((line) => `    ${line}`));

async function engineFacts(): Promise<{ readonly cgroupVersion: string }> {
  const info = (await docker.info()) as { CgroupVersion?: string };
  return { cgroupVersion: info.CgroupVersion ?? '1' };
}

describe.each(SANDBOX_SHAPES)('a sandbox that is $shape', ({ open }) => {
  let sandbox: Sandbox;
  let rssBefore = 0;

  beforeAll(async () => {
    sandbox = await open(realSettings({ instanceId }));
    // A daemon is not waited for while its first self-test is under way.
    await eventually(async () => (await sandbox.readiness()).every(({ ok }) => ok), 'it is ready');
    rssBefore = process.memoryUsage().rss;
  });

  afterAll(async () => {
    await sandbox.close();
    expect(await ownContainers()).toEqual([]);
  });

  async function runOf(code: string, limits: Partial<RunLimits> = {}, onTaken = () => {}): Promise<Ended> {
    let takenAt = 0;
    const report = await sandbox.run(
      unadmitted(code),
      dataOf({}),
      fakePermit(),
      { ...LIMITS, wallMs: WALL_MS, ...limits },
      new AbortController().signal,
      {
        taken: () => {
          takenAt = performance.now();
          onTaken();
        },
      },
    );
    return { report, ms: performance.now() - takenAt };
  }

  describe('a function that does not end', () => {
    test.each<[string, string]>([
      ['sleeps', escaped('found["time"].sleep(1000)')],
      ['spins', compute('while True:', '    pass')],
      [
        'swallows every exception there is',
        compute(
          'while True:',
          '    try:',
          '        while True:',
          '            raise KeyError',
          '    except:',
          '        continue',
        ),
      ],
      [
        'ignores every signal that it may and the backstop inside',
        endless(
          [
            'signals = found["_signal"]',
            'signals.setitimer(signals.ITIMER_REAL, 0)',
            'for number in (1, 2, 3, 14, 15):',
            '    signals.signal(number, signals.SIG_IGN)',
          ],
          ['pass'],
        ),
      ],
      [
        'is in a regular expression that backtracks',
        compute('import re', 'return re.match("(a+)+$", "a" * 64 + "b")'),
      ],
      ['is inside one call of C code', compute('return sum(range(10**12))')],
      ['waits for input', escaped('while True:', '    channel["readv"](0, [bytearray(1)])')],
    ])('because it %s is killed at its limit, and the engine says what it used', async (_what, code) => {
      const { report, ms } = await runOf(code);
      expect(report).toMatchObject({
        kind: 'killed',
        reason: 'timeout',
        usage: { wallNs: BigInt(WALL_MS) * 1_000_000n, exitCode: null },
      });
      expect(ms).toBeLessThan(WALL_MS + END_MAX_MS);
      if (report.kind === 'killed' && report.usage.peakMemorySource !== null) {
        // cgroup version 2 has no peak to tell on most engines; CPU time is always there.
        expect(report.usage.peakMemorySource).toBe('engine');
        expect(report.usage.peakMemoryBytes).toBeGreaterThan(2 ** 20);
      }
    });

    test('because its power is too large ends at one of its limits', async () => {
      const { report, ms } = await runOf(compute('return 10 ** 10 ** 10 % 7'));
      expect(report).toMatchObject({
        kind: 'killed',
        reason: expect.stringMatching(/^(timeout|out_of_memory)$/),
      });
      expect(ms).toBeLessThan(WALL_MS + END_MAX_MS);
    });
  });

  describe('what the engine measured of a run that was killed', () => {
    test('is at least what the function took', async () => {
      const { report } = await runOf(compute('held = bytearray(30_000_000)', 'while True:', '    pass'));
      const { cgroupVersion } = await engineFacts();
      expect(report).toMatchObject({ kind: 'killed', reason: 'timeout' });
      const usage = report.kind === 'killed' ? report.usage : null;
      expect(usage?.cpuSeconds).toBeGreaterThan(0.05);
      expect(usage?.cpuSeconds).toBeLessThan(10);
      if (cgroupVersion === '1') {
        expect(usage).toMatchObject({ peakMemorySource: 'engine' });
        expect(usage?.peakMemoryBytes).toBeGreaterThan(30_000_000);
      }
    });

    test('is the harness’s own where it answered', async () => {
      const { report } = await runOf(compute('return len(bytearray(30_000_000))'));
      expect(report).toMatchObject({ kind: 'returned', usage: { peakMemorySource: 'self' } });
      expect(report.kind === 'returned' && report.usage.peakMemoryBytes).toBeGreaterThan(30_000_000);
    });
  });

  describe('a process that dies', () => {
    test.each<[string, string, object]>([
      ['by os._exit(3)', escaped('leave(3)'), { reason: 'sandbox_crashed', usage: { exitCode: 3 } }],
      [
        'by os._exit(0) without an answer',
        escaped('leave(0)'),
        { reason: 'sandbox_crashed', usage: { exitCode: 0 } },
      ],
      [
        'of too much memory',
        compute('return len(bytearray(10**9))'),
        { reason: 'out_of_memory', usage: { exitCode: 137 } },
      ],
      [
        'of too much memory with an answer written before',
        escaped('write(OUT, forged)', 'return len(bytearray(10**9))'),
        // A busy machine takes so long over the memory that it is not waited for: the answer does not count either way.
        { reason: expect.stringMatching(/^(out_of_memory|sandbox_crashed)$/) },
      ],
    ])('%s has its own verdict', async (_what, code, expected) => {
      const { report, ms } = await runOf(code, { wallMs: 5000 });
      expect(report).toMatchObject({ kind: 'killed', ...expected });
      expect(ms).toBeLessThan(END_MAX_MS);
    });

    test.each([137, 139, 0x189, 2 ** 31 - 119, -119])(
      'cannot choose code %d, which would say that a signal ended it: it dies of another',
      async (code) => {
        const { report } = await runOf(escaped(`leave(${code})`));
        expect(report).toMatchObject({ kind: 'killed', reason: 'sandbox_crashed' });
        // SIGSEGV on amd64, SIGTRAP on arm64.
        expect(report.kind === 'killed' && report.usage.exitCode).toSatisfy(
          (exit) => exit === 139 || exit === 133,
        );
      },
    );

    test('cannot kill itself, with whatever signal', async () => {
      const code = escaped(
        'for number in (2, 14):',
        '    found["_signal"].signal(number, found["_signal"].SIG_DFL)',
        'for number in range(1, 65):',
        '    try:',
        '        found["_signal"].raise_signal(number)',
        '    except:',
        '        continue',
        'return "alive"',
      );
      const { report } = await runOf(code);
      expect(report).toMatchObject({ kind: 'returned', result: Buffer.from('"alive"') });
    });

    test.each<[string, (container: Docker.Container) => Promise<unknown>, string]>([
      ['killed', (container) => container.kill(), 'sandbox_crashed'],
      ['stopped', (container) => container.stop({ t: 0 }), 'sandbox_crashed'],
      ['removed', (container) => container.remove({ force: true }), 'sandbox_(crashed|lost)'],
    ])('because another client of the engine %s it is not out of memory', async (_what, end, reason) => {
      const own = randomUUID();
      const alone = await open(realSettings({ instanceId: own, poolSize: 0 }));
      const permit = fakePermit();
      const running = alone.run(
        unadmitted(compute('while True:', '    pass')),
        dataOf({}),
        permit,
        { ...LIMITS, wallMs: 10_000 },
        new AbortController().signal,
      );
      await eventually(() => permit.startedWith.length === 1, 'the run has started');
      const found = await docker.listContainers({
        filters: { label: [`compute-step.instance=${own}`], status: ['running'] },
      });
      await Promise.all(found.map(({ Id }) => end(docker.getContainer(Id))));
      const report = await running;
      expect(report).toMatchObject({ kind: 'killed' });
      expect(report.kind === 'killed' && report.reason).toMatch(new RegExp(`^${reason}$`));
      await alone.close();
    });
  });

  describe('a function that makes more of itself', () => {
    test('is refused a thread, and goes on alone', async () => {
      const { report } = await runOf(
        escaped('while True:', '    found["_thread"].start_new_thread(compute, (data,))'),
      );
      expect(report).toMatchObject({ kind: 'raised', exception: 'RuntimeError' });
    });

    test('finds no call that forks', async () => {
      const { report } = await runOf(escaped('return "fork" in found["posix"].__dict__'));
      expect(report).toMatchObject({ kind: 'returned', result: Buffer.from('false') });
    });
  });

  describe('a function that writes', () => {
    test('when it is torn down is not there any more by then', async () => {
      const { report } = await runOf(
        escaped(
          'class Writer:',
          '    def __del__(self):',
          '        write(OUT, b"late")',
          'found["builtins"].kept = Writer()',
          'return 1',
        ),
      );
      expect(report).toMatchObject({ kind: 'returned', result: Buffer.from('1') });
    });

    test('for ever is cut off at the cap and not waited for', async () => {
      const { report, ms } = await runOf(endless(['block = b"x" * 65536'], ['write(OUT, block)']), {
        wallMs: 8000,
      });
      expect(report).toMatchObject({ kind: 'killed', reason: 'output_too_large' });
      expect(ms).toBeLessThan(END_MAX_MS);
    });

    test('one byte at a time for ever is stopped at its limit', async () => {
      const { report, ms } = await runOf(
        escaped(
          'write(OUT, b"A" + (100).to_bytes(4, "big"))',
          'while True:',
          '    found["time"].sleep(0.3)',
          '    write(OUT, b"x")',
        ),
      );
      expect(report).toMatchObject({ kind: 'killed', reason: 'timeout' });
      expect(ms).toBeLessThan(WALL_MS + END_MAX_MS);
    });
  });

  test('after all of these the service’s memory is where it was', () => {
    expect(process.memoryUsage().rss - rssBefore).toBeLessThan(RSS_MAX_BYTES);
  });
});
