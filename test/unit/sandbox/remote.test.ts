import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { countingObserver } from '../../../src/sandbox/pool-counts.ts';
import type { RunLimits, RunReport, Sandbox } from '../../../src/sandbox/port.ts';
import { createRemoteSandbox, type RemoteSandboxOptions } from '../../../src/sandbox/remote.ts';
import { encodeFrame, TAG } from '../../../src/sandbox/wire.ts';
import { encodeReport, encodeStates } from '../../../src/sandbox/wire-report.ts';
import { answerFrame, type FakeEngine, type ScriptedJob } from '../../fakes/fake-engine.ts';
import { dataOf, eventually, fakePermit, LIMITS, recordingObserver } from '../../fakes/sandbox-run.ts';
import { ONE, startTestDaemon, type TestDaemon, temporaryFolder } from '../../fakes/sandboxd.ts';

const spins = (): void => {};
const jobsSent = (engine: FakeEngine): number =>
  [...engine.jobs.values()].filter((job) => job.byteLength > 0).length;
const deadline = (): Error => new DOMException('the deadline passed', 'TimeoutError');

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) {
    await cleanup();
  }
});

function remote(socketPath: string, more: Partial<RemoteSandboxOptions> = {}): Sandbox {
  const sandbox = createRemoteSandbox({
    socketPath,
    maxRuns: 8,
    clock: systemClock,
    observer: recordingObserver(),
    ...more,
  });
  cleanups.push(() => sandbox.close());
  return sandbox;
}

async function daemon(...options: Parameters<typeof startTestDaemon>): Promise<TestDaemon> {
  const started = await startTestDaemon(...options);
  cleanups.push(() => started.close());
  return started;
}

interface RunOptions {
  readonly permit?: ReturnType<typeof fakePermit>;
  readonly signal?: AbortSignal;
  readonly limits?: Partial<RunLimits>;
  readonly taken?: () => void;
}

function run(sandbox: Sandbox, options: RunOptions = {}): Promise<RunReport> {
  const { permit = fakePermit(), signal = new AbortController().signal, limits = {}, taken } = options;
  const events = taken === undefined ? undefined : { taken };
  return sandbox.run(ONE, dataOf({ secret: 42 }), permit, { ...LIMITS, ...limits }, signal, events);
}

/** Something that listens where a daemon should, and does what it likes with what it is sent. */
async function impostor(
  act: (socket: Socket, received: Buffer) => void,
  accepted: (socket: Socket) => void = () => {},
): Promise<{ readonly socketPath: string; readonly sockets: Set<Socket> }> {
  const folder = temporaryFolder();
  const socketPath = join(folder.path, 's');
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => act(socket, chunk));
    accepted(socket);
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  cleanups.push(async () => {
    for (const socket of sockets) {
      socket.destroy();
    }
    await new Promise<void>((resolve) => server.close(() => resolve()));
    folder.remove();
  });
  return { socketPath, sockets };
}

const taken = Buffer.concat(encodeFrame(TAG.taken));
const report = (of: RunReport): Buffer => Buffer.concat(encodeFrame(TAG.report, ...encodeReport(of)));
const isGo = (bytes: Buffer): boolean => bytes.includes(Buffer.concat(encodeFrame(TAG.go)));
/** Takes the run, and after GO does what it likes. */
const takes = (afterGo: (socket: Socket) => void) => (socket: Socket, bytes: Buffer) => {
  if (bytes[0] === TAG.run) {
    socket.write(taken);
  } else if (isGo(bytes)) {
    afterGo(socket);
  }
};
const RETURNED: RunReport = {
  kind: 'returned',
  result: Buffer.from('1'),
  printed: null,
  usage: {
    wallNs: 1000n,
    cpuSeconds: null,
    peakMemoryBytes: null,
    peakMemorySource: null,
    exitCode: 0,
    outputBytes: 1,
    image: 'sha256:x',
  },
};

describe('a run in another process', () => {
  test('is the run it would be in this one', async () => {
    let seen: ScriptedJob | undefined;
    const { engine, socketPath } = await daemon({
      script: (job) => {
        seen = job;
        job.stdout(answerFrame({ status: 'returned', cpu_ns: 5, maxrss_bytes: 7, printed: 'p' }, '[1e400]'));
        job.exit(0);
      },
    });
    const got = await run(remote(socketPath), {
      limits: { wallMs: 2500, decimalAsString: true, detailMaxBytes: 30 },
    });
    expect(got).toMatchObject({ kind: 'killed', reason: 'sandbox_crashed' });
    engine.script = (job) => {
      seen = job;
      job.stdout(answerFrame({ status: 'returned', cpu_ns: 5, maxrss_bytes: 7, printed: 'p' }, '[2]'));
      job.exit(0);
    };
    expect(
      await run(remote(socketPath), { limits: { wallMs: 2500, decimalAsString: true, detailMaxBytes: 30 } }),
    ).toMatchObject({
      kind: 'returned',
      result: Buffer.from('[2]'),
      printed: 'p',
      usage: {
        cpuSeconds: 5e-9,
        peakMemoryBytes: 7,
        peakMemorySource: 'self',
        exitCode: 0,
        image: engine.image,
      },
    });
    expect(seen).toMatchObject({
      code: ONE.text,
      data: '{"secret":42}',
      header: { wall_seconds: 2.5, decimal_as_string: true, detail_max_bytes: 30 },
    });
  });

  test('has a container before *started* is written, and its job after', async () => {
    const { engine, socketPath } = await daemon();
    const seen: string[] = [];
    const permit = fakePermit({
      ledger: async () => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        seen.push(`started with ${engine.count('start')} containers and ${jobsSent(engine)} jobs`);
        return true;
      },
    });
    const got = await run(remote(socketPath), { permit, taken: () => void seen.push('taken') });
    expect(got).toMatchObject({ kind: 'returned' });
    expect(permit.startedWith).toEqual([ONE.sha256]);
    expect(seen[0]).toBe('taken');
    expect(seen[1]).toMatch(/^started with [1-9]\d* containers and 0 jobs$/);
    expect(jobsSent(engine)).toBe(1);
  });

  test('that the ledger cannot record is not sent', async () => {
    const { engine, socketPath, log } = await daemon();
    const permit = fakePermit({ ledger: () => false });
    expect(await run(remote(socketPath), { permit })).toMatchObject({
      kind: 'notStarted',
      reason: 'ledger_unavailable',
    });
    await eventually(() => log.ran.length === 1, 'the daemon has let go');
    expect(jobsSent(engine)).toBe(0);
  });

  test('whose ledger breaks lets go of its container and passes the error on', async () => {
    const { engine, socketPath, log } = await daemon();
    const permit = fakePermit({ ledger: () => Promise.reject(new Error('a bug')) });
    await expect(run(remote(socketPath), { permit })).rejects.toThrow('a bug');
    await eventually(() => log.ran.length === 1, 'the daemon has let go');
    expect(jobsSent(engine)).toBe(0);
  });

  test.each([
    ['deadline_exceeded', deadline()],
    ['cancelled', new Error('left')],
  ] as const)('that is waiting leaves the queue: %s', async (reason, why) => {
    const { engine, socketPath, log } = await daemon({ script: spins, sandbox: { maxConcurrency: 1 } });
    const sandbox = remote(socketPath);
    const first = new AbortController();
    const running = run(sandbox, { signal: first.signal });
    await eventually(() => jobsSent(engine) === 1, 'the first runs');
    const second = new AbortController();
    const waiting = run(sandbox, { signal: second.signal });
    setTimeout(() => second.abort(why), 50);
    expect(await waiting).toMatchObject({ kind: 'notStarted', reason });
    await eventually(() => log.ran.length === 1, 'the daemon has let the second go');
    first.abort(new Error('left'));
    await running;
  });

  test.each([
    ['timeout', deadline()],
    ['cancelled', new Error('left')],
  ] as const)('that is running is killed there when its caller’s signal says so: %s', async (reason, why) => {
    const { engine, socketPath } = await daemon({ script: spins });
    const stop = new AbortController();
    const running = run(remote(socketPath), { signal: stop.signal });
    await eventually(() => jobsSent(engine) === 1, 'it runs');
    stop.abort(why);
    const got = await running;
    expect(got).toMatchObject({ kind: 'killed', reason, usage: { image: engine.image } });
    expect(engine.killed).toHaveLength(1);
  });

  test('whose caller leaves while *started* is being written counts and is never sent', async () => {
    const { engine, socketPath } = await daemon();
    const stop = new AbortController();
    const permit = fakePermit({
      ledger: () => {
        stop.abort(new Error('left'));
        return true;
      },
    });
    expect(await run(remote(socketPath), { permit, signal: stop.signal })).toMatchObject({
      kind: 'killed',
      reason: 'cancelled',
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(jobsSent(engine)).toBe(0);
  });

  test('whose caller has left already opens no connection', async () => {
    const { socketPath, sockets } = await impostor(() => {});
    expect(await run(remote(socketPath), { signal: AbortSignal.abort() })).toMatchObject({
      reason: 'cancelled',
    });
    expect(sockets.size).toBe(0);
  });

  test('past those that may run and wait is overloaded at once', async () => {
    const { socketPath, sockets } = await impostor(() => {});
    const sandbox = remote(socketPath, { maxRuns: 1, stopGraceMs: 100 });
    const stop = new AbortController();
    const first = run(sandbox, { signal: stop.signal });
    expect(await run(sandbox)).toMatchObject({ kind: 'notStarted', reason: 'overloaded' });
    stop.abort(new Error('left'));
    await first;
    await eventually(() => sockets.size === 1, 'only the first has connected');
  });

  test('that the daemon has no room for is overloaded', async () => {
    const { socketPath } = await daemon({ script: spins, sandbox: { maxConcurrency: 1, queueLimit: 0 } });
    const sandbox = remote(socketPath);
    const stop = new AbortController();
    let running = false;
    const first = run(sandbox, { signal: stop.signal, taken: () => (running = true) });
    await eventually(() => running, 'the first has its container');
    expect(await run(sandbox)).toMatchObject({ kind: 'notStarted', reason: 'overloaded' });
    stop.abort(new Error('left'));
    await first;
  });
});

test('a run that is refused while it is still being sent says why', async () => {
  const { socketPath } = await daemon({ daemon: { dataMaxBytes: 1000 } });
  const chunk = Buffer.alloc(4 * 1024 * 1024, 0x20);
  const data = { chunks: Array.from({ length: 8 }, () => chunk), byteLength: 8 * chunk.byteLength };
  for (let round = 0; round < 5; round += 1) {
    const got = await remote(socketPath).run(ONE, data, fakePermit(), LIMITS, new AbortController().signal);
    expect(got).toMatchObject({ detail: expect.stringContaining('BODY_MAX_BYTES') });
  }
});

describe('a daemon that breaks', () => {
  test('before it listens: the run is not started, and the detail names no path', async () => {
    const got = await run(remote('/nonexistent/sandboxd.sock'));
    expect(got).toMatchObject({ kind: 'notStarted', reason: 'sandbox_unavailable' });
    expect(JSON.stringify(got)).toContain('ENOENT');
    expect(JSON.stringify(got)).not.toContain('nonexistent');
  });

  test.each<[string, (socket: Socket) => void]>([
    ['closes', (socket) => socket.end()],
    ['resets', (socket) => socket.destroy()],
    ['sends garbage', (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
    [
      'sends a report that is none',
      (socket) => socket.write(Buffer.concat(encodeFrame(TAG.report, Buffer.from('{}')))),
    ],
    [
      'sends a report without end',
      (socket) => socket.write(Buffer.from([TAG.report, 0xff, 0xff, 0xff, 0xff])),
    ],
    ['sends a result that nobody started', (socket) => socket.write(report(RETURNED))],
  ])('and %s before TAKEN: the run is not started', async (_what, act) => {
    const { socketPath } = await impostor((socket, bytes) => void (bytes[0] === TAG.run && act(socket)));
    const permit = fakePermit();
    expect(await run(remote(socketPath), { permit })).toMatchObject({
      kind: 'notStarted',
      reason: 'sandbox_unavailable',
    });
    expect(permit.startedWith).toEqual([]);
  });

  test.each<[string, (socket: Socket) => void]>([
    ['closes', (socket) => socket.end()],
    ['resets', (socket) => socket.destroy()],
    ['sends garbage', (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
    [
      'sends a report that is none',
      (socket) => socket.write(Buffer.concat(encodeFrame(TAG.report, Buffer.from('{}')))),
    ],
    ['sends half a report', (socket) => void socket.end(report(RETURNED).subarray(0, 20))],
    ['sends a report past its bound', (socket) => socket.write(Buffer.from([TAG.report, 0x7f, 0, 0, 0]))],
    [
      'takes it back',
      (socket) => socket.write(report({ kind: 'notStarted', reason: 'overloaded', detail: '' })),
    ],
    [
      'has measured more than there was',
      (socket) => socket.write(report({ ...RETURNED, usage: { ...RETURNED.usage, wallNs: 10n ** 15n } })),
    ],
    ['says nothing any more', () => {}],
  ])('and %s after GO: lost, and charged the time since, up to its limit', async (_what, act) => {
    const { socketPath } = await impostor(takes((socket) => setTimeout(() => act(socket), 30)));
    const got = await run(remote(socketPath, { reportGraceMs: 100 }), { limits: { wallMs: 100 } });
    expect(got).toMatchObject({ kind: 'killed', reason: 'sandbox_lost' });
    const wallNs = got.kind === 'killed' ? got.usage.wallNs : 0n;
    expect(wallNs).toBeGreaterThan(25_000_000n);
    expect(wallNs).toBeLessThanOrEqual(100_000_000n);
  });

  test('and does not answer STOP: the run ends all the same', async () => {
    const { socketPath } = await impostor(takes(() => stop.abort(new Error('left'))));
    const stop = new AbortController();
    const got = await run(remote(socketPath, { stopGraceMs: 100 }), {
      signal: stop.signal,
      limits: { wallMs: 50 },
    });
    // It is not known when it ended; the wait for the daemon is nothing that the function ran.
    expect(got).toMatchObject({ kind: 'killed', reason: 'cancelled', usage: { wallNs: 50_000_000n } });
  });

  test('and is gone for good before a large run is sent: not started, without a hang', async () => {
    const { socketPath } = await impostor(
      () => {},
      (socket) => socket.destroy(),
    );
    const data = { chunks: [Buffer.alloc(8 * 1024 * 1024, 0x20)], byteLength: 8 * 1024 * 1024 };
    const got = await remote(socketPath).run(ONE, data, fakePermit(), LIMITS, new AbortController().signal);
    expect(got).toMatchObject({ kind: 'notStarted', reason: 'sandbox_unavailable' });
  });
});

describe('readiness of a sandbox in another process', () => {
  const ok = async (sandbox: Sandbox) => (await sandbox.readiness()).map((state) => state.ok);

  test('is what the daemon says', async () => {
    const { engine, socketPath } = await daemon();
    const sandbox = remote(socketPath);
    expect(await sandbox.readiness()).toMatchObject([
      { check: 'engine', ok: true },
      { check: 'image', ok: true, detail: engine.image },
      { check: 'self_test', ok: true },
    ]);
    await eventually(() => engine.containers.size === 0, 'the probe is removed');
  });

  test('is lost with the daemon and comes back with it, by itself', async () => {
    const folder = temporaryFolder();
    cleanups.push(() => folder.remove());
    const socketPath = join(folder.path, 's');
    const sandbox = remote(socketPath);
    expect(await sandbox.readiness()).toMatchObject([
      { check: 'engine', ok: false, detail: expect.stringContaining('ENOENT') },
      { check: 'image', ok: false },
      { check: 'self_test', ok: false },
    ]);
    for (let round = 0; round < 2; round += 1) {
      const started = await startTestDaemon({ socketPath });
      await eventually(async () => (await ok(sandbox)).every(Boolean), 'it is ready');
      expect(await run(sandbox)).toMatchObject({ kind: 'returned' });
      await started.close();
      await eventually(async () => !(await ok(sandbox)).some(Boolean), 'it is not ready');
    }
  });

  test('is doubted at once when a run finds the daemon gone', async () => {
    const started = await startTestDaemon();
    const sandbox = remote(started.socketPath, { clock: { now: () => new Date(), monotonicNs: () => 0n } });
    expect(await ok(sandbox)).toEqual([true, true, true]);
    await started.close();
    // By a clock that stands still the old answer would be fresh for ever.
    expect(await ok(sandbox)).toEqual([true, true, true]);
    expect(await run(sandbox)).toMatchObject({ reason: 'sandbox_unavailable' });
    expect(await ok(sandbox)).toEqual([false, false, false]);
  });

  test('brings what the pool has come to, over the end of one daemon and the start of the next', async () => {
    const folder = temporaryFolder();
    cleanups.push(() => folder.remove());
    const socketPath = join(folder.path, 's');
    const observer = recordingObserver();
    const sandbox = remote(socketPath, { observer });
    const readyCount = (count: number) => async () => {
      await sandbox.readiness();
      return observer.counts.ready === count;
    };
    for (const round of [1, 2]) {
      const counting = countingObserver(`daemon-${round}`, recordingObserver());
      const started = await startTestDaemon({
        socketPath,
        sandbox: { poolSize: 2, observer: counting.observer },
        daemon: { counts: counting.counts },
      });
      await eventually(readyCount(2), 'the stock is seen');
      expect(observer.daemon).toEqual({
        ok: 2 * round,
        failed: 0,
        timeout: 0,
        cancelled: 0,
        removalFailures: 0,
      });
      await started.close();
      await eventually(readyCount(0), 'the containers went with the daemon');
    }
    expect(observer.daemon.ok).toBe(4);
  });

  const STATES = encodeStates(
    (['engine', 'image', 'self_test'] as const).map((check) => ({ check, ok: true, detail: '' })),
  );
  test.each<[string, readonly Buffer[]]>([
    ['does not count', []],
    ['garbles its counts', [Buffer.from('HTTP/1.1 400 Bad Request')]],
    [
      'sends no counts in their frame',
      encodeFrame(TAG.counts, Buffer.from('{"protocol":1,"starts":{"ok":"many"}}')),
    ],
    ['announces more than there may be', [Buffer.from([TAG.counts, 0xff, 0xff, 0xff, 0xff])]],
    ['does not finish its counts', [Buffer.from([TAG.counts, 0, 0, 1, 0])]],
  ])('stands when a daemon %s', async (_what, after) => {
    const { socketPath } = await impostor((socket) => {
      socket.write(Buffer.concat([...encodeFrame(TAG.ready, STATES), ...after]));
    });
    const observer = recordingObserver();
    expect(await ok(remote(socketPath, { observer }))).toEqual([true, true, true]);
    expect(observer.counts).toEqual({ starting: 0, ready: 0, running: 0, removing: 0, queued: 0, slots: 0 });
    expect(observer.daemon).toEqual({});
  });

  test('asks once for all who want to know', async () => {
    const states = (['engine', 'image', 'self_test'] as const).map((check) => ({
      check,
      ok: true,
      detail: '',
    }));
    let asked = 0;
    const { socketPath } = await impostor((socket) => {
      asked += 1;
      socket.end(Buffer.concat(encodeFrame(TAG.ready, encodeStates(states))));
    });
    const sandbox = remote(socketPath);
    await Promise.all(Array.from({ length: 20 }, () => sandbox.readiness()));
    await sandbox.readiness();
    expect(asked).toBe(1);
  });

  test.each<[string, (socket: Socket) => void]>([
    ['says nothing', () => {}],
    ['closes', (socket) => socket.destroy()],
    ['sends garbage', (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['sends no states', (socket) => socket.write(Buffer.concat(encodeFrame(TAG.ready, Buffer.from('[]'))))],
  ])('is none when something that %s holds the socket', async (_what, act) => {
    const { socketPath } = await impostor(act);
    expect(await ok(remote(socketPath))).toEqual([false, false, false]);
  });
});

test('closing ends what runs and takes nothing more, and the daemon lives on', async () => {
  const { engine, socketPath } = await daemon({ script: spins });
  const sandbox = remote(socketPath);
  const running = run(sandbox);
  await eventually(() => jobsSent(engine) === 1, 'it runs');
  await sandbox.close();
  expect(await running).toMatchObject({ kind: 'killed', reason: 'cancelled' });
  expect(await run(sandbox)).toMatchObject({ kind: 'notStarted', reason: 'sandbox_unavailable' });
  expect(await remote(socketPath).readiness()).toMatchObject([{ ok: true }, { ok: true }, { ok: true }]);
});
