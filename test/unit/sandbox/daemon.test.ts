import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { ContainerSettings, containerSpec } from '../../../src/sandbox/container-spec.ts';
import type { PoolCounts } from '../../../src/sandbox/pool-counts.ts';
import { STOP, TAG } from '../../../src/sandbox/wire.ts';
import { decodeCounts } from '../../../src/sandbox/wire-counts.ts';
import { decodeStates } from '../../../src/sandbox/wire-report.ts';
import { answerFrame, FakeEngine, type ScriptedJob } from '../../fakes/fake-engine.ts';
import { eventually, LIMITS, unadmitted } from '../../fakes/sandbox-run.ts';
import {
  ONE,
  type RawClient,
  rawClient,
  startTestDaemon,
  type TestDaemon,
  temporaryFolder,
  wireHeader,
} from '../../fakes/sandboxd.ts';

const spins = (): void => {};
const jobsSent = (engine: FakeEngine): number =>
  [...engine.jobs.values()].filter((job) => job.byteLength > 0).length;

const open: TestDaemon[] = [];
afterEach(async () => {
  for (const daemon of open.splice(0)) {
    await daemon.close();
    expect(daemon.engine.containers.size, 'containers left').toBe(0);
    expect(daemon.log.unexpected).toEqual([]);
  }
});

async function start(...options: Parameters<typeof startTestDaemon>): Promise<TestDaemon> {
  const daemon = await startTestDaemon(...options);
  open.push(daemon);
  return daemon;
}

/** It still does its work. */
async function expectServing({ socketPath }: TestDaemon): Promise<void> {
  const client = await rawClient(socketPath);
  client.sendRun();
  expect(await client.next()).toMatchObject({ tag: TAG.taken });
  client.send(TAG.go);
  expect(await client.report()).toMatchObject({ kind: 'returned', result: Buffer.from('1') });
  client.socket.destroy();
}

/** A first piece, and then a byte every 50 ms: each in time, the whole not. */
function drip(socket: Socket, first: Buffer): void {
  socket.write(first);
  const timer = setInterval(() => socket.write(' '), 50);
  socket.on('close', () => clearInterval(timer));
}

describe('a run over the socket', () => {
  test('takes a container, waits for GO, runs and reports', async () => {
    let seen: ScriptedJob | undefined;
    const daemon = await start({
      script: (job) => {
        seen = job;
        job.stdout(answerFrame({ status: 'returned', cpu_ns: 5, maxrss_bytes: 7 }, '[9007199254740993]'));
        job.exit(0);
      },
    });
    const client = await rawClient(daemon.socketPath);
    client.sendRun(wireHeader({ data_bytes: 9 }), ONE.text, '{"x":1.0}');
    expect(await client.next()).toEqual({ tag: TAG.taken, payload: Buffer.alloc(0) });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(jobsSent(daemon.engine)).toBe(0);
    client.send(TAG.go);
    expect(await client.report()).toMatchObject({
      kind: 'returned',
      result: Buffer.from('[9007199254740993]'),
      usage: { peakMemoryBytes: 7, image: daemon.engine.image },
    });
    expect(seen).toMatchObject({ code: ONE.text, data: '{"x":1.0}' });
    expect(await client.next()).toBeNull();
    expect(daemon.log).toEqual({ ran: ['returned'], refused: [], broken: [], readiness: [], unexpected: [] });
  });

  test('is not sent without GO: a STOP or a hang-up instead gives the container back unused', async () => {
    const daemon = await start();
    for (const end of ['stop', 'close'] as const) {
      const client = await rawClient(daemon.socketPath);
      client.sendRun();
      expect(await client.next()).toMatchObject({ tag: TAG.taken });
      if (end === 'stop') {
        client.send(TAG.stop, Buffer.from([STOP.cancelled]));
      } else {
        client.socket.destroy();
      }
    }
    await eventually(
      () => daemon.log.ran.length === 2 && daemon.engine.removed.length >= 2,
      'both are removed',
    );
    expect(daemon.log.ran).toEqual(['ledger_unavailable', 'ledger_unavailable']);
    expect(jobsSent(daemon.engine)).toBe(0);
  });

  test('is not sent when GO does not come in time', async () => {
    const daemon = await start({ daemon: { goMs: 50 } });
    const client = await rawClient(daemon.socketPath);
    client.sendRun();
    await client.next();
    expect(await client.report()).toMatchObject({ kind: 'notStarted', reason: 'ledger_unavailable' });
    expect(jobsSent(daemon.engine)).toBe(0);
  });

  test('is killed by STOP, as the API says why', async () => {
    const daemon = await start({ script: spins });
    for (const [why, reason] of [
      [STOP.deadline, 'timeout'],
      [STOP.cancelled, 'cancelled'],
    ] as const) {
      const client = await rawClient(daemon.socketPath);
      client.sendRun();
      await client.next();
      client.send(TAG.go);
      await eventually(() => jobsSent(daemon.engine) > daemon.engine.killed.length, 'the job is sent');
      client.send(TAG.stop, Buffer.from([why]));
      expect(await client.report()).toMatchObject({ kind: 'killed', reason });
    }
    expect(daemon.engine.killed).toHaveLength(2);
  });

  test('is killed when the API goes away', async () => {
    const daemon = await start({ script: spins });
    const client = await rawClient(daemon.socketPath);
    client.sendRun();
    await client.next();
    client.send(TAG.go);
    await eventually(() => jobsSent(daemon.engine) === 1, 'the job is sent');
    client.socket.destroy();
    await eventually(() => daemon.engine.killed.length === 1, 'it is killed');
  });

  test('ends at the daemon’s own bound when its API never leaves', async () => {
    const daemon = await start({
      script: spins,
      sandbox: { wallSeconds: 60 },
      daemon: { runMs: 100, caps: { ...LIMITS, wallMs: 60_000 } },
    });
    const client = await rawClient(daemon.socketPath);
    client.sendRun(wireHeader({ limits: { ...(wireHeader().limits as object), wall_ms: 60_000 } }));
    await client.next();
    client.send(TAG.go);
    expect(await client.report()).toMatchObject({ kind: 'killed', reason: 'timeout' });
  });

  test('has each limit lowered to the daemon’s, and none raised', async () => {
    let seen: ScriptedJob | undefined;
    const daemon = await start({
      script: (job) => {
        seen = job;
        job.exit(1);
      },
    });
    const ask = async (limits: object): Promise<void> => {
      const client = await rawClient(daemon.socketPath);
      client.sendRun(wireHeader({ limits: { ...(wireHeader().limits as object), ...limits } }));
      await client.next();
      client.send(TAG.go);
      await client.report();
    };
    await ask({
      wall_ms: 3.6e6,
      memory_mb: 1e6,
      result_max_bytes: 4e9,
      result_max_depth: 9999,
      detail_max_bytes: 4e9,
    });
    expect(seen?.header).toMatchObject({
      wall_seconds: LIMITS.wallMs / 1000,
      result_max_bytes: LIMITS.resultMaxBytes,
      result_max_depth: LIMITS.resultMaxDepth,
      detail_max_bytes: 8192,
    });
    expect(daemon.engine.count('limitMemory')).toBe(0);
    await ask({ wall_ms: 100, memory_mb: 32, result_max_bytes: 9 });
    expect(seen?.header).toMatchObject({ wall_seconds: 0.1, result_max_bytes: 9 });
    expect(daemon.engine.calls).toContain(`memory ${32 * 1024 * 1024}`);
  });
});

describe('code that comes over the socket', () => {
  const refusing = async (daemon: TestDaemon, header: object, code: string | Buffer) => {
    const client = await rawClient(daemon.socketPath);
    client.sendRun(header, code);
    const report = await client.report();
    expect(client.tags).toBe('E');
    client.socket.destroy();
    return report;
  };

  test('is admitted again, whatever its digest', async () => {
    const daemon = await start();
    const evil = unadmitted('import socket\ndef compute(data):\n    return 1\n');
    const report = await refusing(daemon, wireHeader({ code_sha256: evil.sha256 }), evil.text);
    expect(report).toMatchObject({ kind: 'notStarted', reason: 'sandbox_unavailable' });
    expect(daemon.log.refused).toEqual([expect.stringContaining('import')]);
    expect(daemon.engine.count('create')).toBe(0);
  });

  test('must be what the digest says', async () => {
    const daemon = await start();
    const report = await refusing(daemon, wireHeader(), 'def compute(data):\n    return 2\n');
    expect(report).toMatchObject({ kind: 'notStarted', reason: 'sandbox_unavailable' });
    expect(daemon.log.refused).toEqual([expect.stringContaining('digest')]);
    expect(daemon.engine.count('create')).toBe(0);
  });

  test('must be UTF-8', async () => {
    const daemon = await start();
    const code = Buffer.concat([Buffer.from(ONE.text), Buffer.from([0xff, 0x0a])]);
    expect(await refusing(daemon, wireHeader(), code)).toMatchObject({ reason: 'sandbox_unavailable' });
    expect(daemon.log.refused).toEqual([expect.stringContaining('UTF-8')]);
  });
});

describe('the create options', () => {
  test('are those of the daemon’s settings, byte for byte, whatever a request says', async () => {
    const GOLDEN = JSON.parse(
      readFileSync(new URL('./fixtures/container-spec.json', import.meta.url), 'utf8'),
    ) as ReturnType<typeof containerSpec>;
    const settings: Omit<ContainerSettings, 'image' | 'expiresAtSeconds' | 'cgroupVersion'> = {
      instanceId: 'instance-1',
      seccomp: '{"defaultAction":"SCMP_ACT_ERRNO"}',
      memoryMb: 256,
      cpus: 1.5,
      wallSeconds: 9.5,
      runtime: null,
    };
    const bodies: string[] = [];
    const engine = new FakeEngine();
    engine.image = `sha256:${'0123456789abcdef'.repeat(4)}`;
    const create = engine.create.bind(engine);
    engine.create = (spec) => {
      bodies.push(JSON.stringify(spec));
      return create(spec);
    };
    const daemon = await start({ engine, sandbox: settings, daemon: { caps: { ...LIMITS, memoryMb: 256 } } });

    const names = fc.constantFrom(
      'HostConfig',
      'Binds',
      'Mounts',
      'image',
      'Image',
      'Cmd',
      'Entrypoint',
      'Env',
      'User',
      'Privileged',
      'cpus',
      'runtime',
      'seccomp',
      'memoryMb',
      'wallSeconds',
      'instanceId',
      'labels',
      '__proto__',
      'constructor',
      'toString',
    ); // prettier-ignore
    const values = fc.oneof(
      fc.constantFrom<unknown>('/:/host', ['/:/host'], true, 1e308, -1, null, {
        Binds: ['/:/host'],
        Privileged: true,
      }),
      fc.jsonValue(),
    );
    const extra = fc.dictionary(names, values, { maxKeys: 5, noNullPrototype: true });
    const wrong = fc.constantFrom<[string, unknown]>(
      ['memory_mb', '999999'],
      ['memory_mb', 1e300],
      ['wall_ms', '1'],
      ['wall_ms', -5],
      ['result_max_bytes', null],
      ['memory_mb', 2],
      ['memory_mb', 1048576],
      ['wall_ms', 3.6e6],
      ['wall_ms', 1e-9],
      ['detail_max_bytes', 4e9],
    ); // prettier-ignore
    let started = 0;
    await fc.assert(
      fc.asyncProperty(extra, extra, fc.option(wrong), async (top, inner, fault) => {
        const limits = {
          ...(wireHeader().limits as object),
          ...inner,
          ...(fault && { [fault[0]]: fault[1] }),
        };
        // As text: an own member of this name is not kept by a spread.
        const header = JSON.stringify({ ...top, ...wireHeader(), limits }).replace(
          '{',
          '{"__proto__":{"image":"evil","HostConfig":{"Privileged":true}},',
        );
        const client = await rawClient(daemon.socketPath);
        client.send(TAG.run, header);
        client.send(TAG.code, ONE.text);
        client.send(TAG.data, '{}');
        const first = await client.next();
        if (first?.tag === TAG.taken) {
          started += 1;
          client.send(TAG.go);
          await client.next();
        }
        client.socket.destroy();
      }),
      { numRuns: 150 },
    );
    expect(started).toBeGreaterThan(50);
    expect(bodies.length).toBeGreaterThanOrEqual(started);
    const golden = (body: string): string => {
      const expires =
        (JSON.parse(body) as { Labels: Record<string, string> }).Labels['compute-step.expires'] ?? '';
      expect(Math.abs(Number(expires) - Date.now() / 1000)).toBeLessThan(3600);
      return JSON.stringify({ ...GOLDEN, Labels: { ...GOLDEN.Labels, 'compute-step.expires': expires } });
    };
    for (const body of new Set(bodies)) {
      expect(body).toBe(golden(body));
    }
  });
});

describe('a client that misbehaves', () => {
  test.each<[string, (client: RawClient) => void]>([
    ['sends garbage', ({ socket }) => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')],
    ['sends an unknown tag', (client) => client.send(0x7a, 'x')],
    ['sends a frame out of turn', (client) => client.send(TAG.data, '{}')],
    [
      'sends a header without end',
      ({ socket }) => socket.write(Buffer.from([TAG.run, 0xff, 0xff, 0xff, 0xff])),
    ],
    ['asks with a payload', (client) => client.send(TAG.readyAsk, 'x')],
    ['sends code past its bound', (client) => client.sendRun(wireHeader(), 'x'.repeat(64 * 1024 + 1))],
    ['sends more data than it said', (client) => client.sendRun(wireHeader(), ONE.text, '{"a":1}')],
    ['sends less data than it said', (client) => client.sendRun(wireHeader({ data_bytes: 9 }))],
    ['gives GO before it is asked', (client) => client.send(TAG.go)],
  ])('that %s loses its connection, and nobody else does', async (_what, act) => {
    const daemon = await start();
    const client = await rawClient(daemon.socketPath);
    act(client);
    expect(await client.next()).toBeNull();
    expect(daemon.log.broken).toHaveLength(1);
    expect(daemon.engine.count('create')).toBe(0);
    await expectServing(daemon);
  });

  test('that gives GO in the queue, or twice, gets its run ended', async () => {
    const daemon = await start({ script: spins, sandbox: { maxConcurrency: 1 } });
    const first = await rawClient(daemon.socketPath);
    first.sendRun();
    expect(await first.next()).toMatchObject({ tag: TAG.taken });
    const second = await rawClient(daemon.socketPath);
    second.sendRun();
    second.send(TAG.go);
    expect(await second.report()).toMatchObject({ kind: 'notStarted', reason: 'cancelled' });
    first.send(TAG.go);
    first.send(TAG.go);
    expect(await first.report()).toMatchObject({ kind: 'killed', reason: 'cancelled' });
  });

  test.each<[string, (client: RawClient) => void]>([
    ['nothing', () => {}],
    ['half a header', ({ socket }) => socket.write('R')],
    ['a header and then byte by byte', ({ socket }) => drip(socket, Buffer.from([TAG.run, 0, 0, 16, 0]))],
    ['a run without code', (client) => client.send(TAG.run, JSON.stringify(wireHeader()))],
    [
      'a run and then byte by byte',
      (client) => {
        client.send(TAG.run, JSON.stringify(wireHeader()));
        drip(client.socket, Buffer.from([TAG.code, 0, 0, 16, 0]));
      },
    ],
  ])('that sends %s is cut off', async (_what, act) => {
    const daemon = await start({ daemon: { receiveMs: 300 } });
    const client = await rawClient(daemon.socketPath);
    act(client);
    expect(await client.next()).toBeNull();
    expect(daemon.log.broken).toEqual([expect.stringContaining('in time')]);
    await expectServing(daemon);
  });

  test('of another version is told so', async () => {
    const daemon = await start();
    const client = await rawClient(daemon.socketPath);
    client.sendRun(wireHeader({ protocol: 2 }));
    expect(await client.report()).toMatchObject({
      kind: 'notStarted',
      reason: 'sandbox_unavailable',
      detail: expect.stringContaining('version'),
    });
    expect(daemon.log.broken).toEqual([expect.stringContaining('version')]);
  });

  test('survives any bytes', async () => {
    const daemon = await start({ daemon: { receiveMs: 200 } });
    const tag = fc.constantFrom(...Object.values(TAG));
    const frames = fc.array(fc.tuple(tag, fc.uint8Array({ maxLength: 300 })), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(frames, fc.uint8Array({ maxLength: 50 }), async (some, tail) => {
        const client = await rawClient(daemon.socketPath);
        for (const [letter, payload] of some) {
          client.send(letter, Buffer.from(payload));
        }
        client.socket.end(Buffer.from(tail));
        while ((await client.next()) !== null);
        client.socket.destroy();
      }),
      { numRuns: 100 },
    );
    await expectServing(daemon);
  });
});

describe('the daemon’s own bounds', () => {
  test('refuse a run past those that may run and wait, at once and before its data', async () => {
    const daemon = await start({
      script: spins,
      daemon: { maxRuns: 2 },
      sandbox: { maxConcurrency: 1, queueLimit: 9 },
    });
    const held = await Promise.all([rawClient(daemon.socketPath), rawClient(daemon.socketPath)]);
    for (const client of held) {
      client.sendRun();
    }
    await held[0]?.next();
    const third = await rawClient(daemon.socketPath);
    third.send(TAG.run, JSON.stringify(wireHeader()));
    expect(await third.report()).toMatchObject({ kind: 'notStarted', reason: 'overloaded' });
    for (const { socket } of held) {
      socket.destroy();
    }
    await eventually(() => daemon.log.ran.length === 2, 'their places are free again');
    daemon.engine.script = (job) => {
      job.stdout(answerFrame({ status: 'returned', cpu_ns: 5, maxrss_bytes: 7 }, '1'));
      job.exit(0);
    };
    await expectServing(daemon);
  });

  test('refuse data past one run’s, and past all runs’ together', async () => {
    const daemon = await start({ daemon: { dataMaxBytes: 1000, dataInflightMaxBytes: 1500 } });
    const large = await rawClient(daemon.socketPath);
    large.send(TAG.run, JSON.stringify(wireHeader({ data_bytes: 1001 })));
    expect(await large.report()).toMatchObject({ reason: 'sandbox_unavailable' });
    expect(daemon.log.refused).toEqual([expect.stringContaining('BODY_MAX_BYTES')]);
    const one = await rawClient(daemon.socketPath);
    one.send(TAG.run, JSON.stringify(wireHeader({ data_bytes: 1000 })));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const two = await rawClient(daemon.socketPath);
    two.send(TAG.run, JSON.stringify(wireHeader({ data_bytes: 1000 })));
    expect(await two.report()).toMatchObject({ reason: 'overloaded' });
    one.socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await expectServing(daemon);
  });

  test('close connections past those for runs and questions', async () => {
    const daemon = await start({ daemon: { maxRuns: 1 } });
    const idle = await Promise.all(Array.from({ length: 257 }, () => rawClient(daemon.socketPath)));
    const [past, ...others] = [await rawClient(daemon.socketPath), ...idle];
    expect(await past.next()).toBeNull();
    expect(daemon.log.broken).toEqual([expect.stringContaining('more connections')]);
    for (const { socket } of others) {
      socket.destroy();
    }
    await eventually(async () => {
      const client = await rawClient(daemon.socketPath);
      client.send(TAG.readyAsk);
      return (await client.next()) !== null;
    }, 'there is room again');
  });

  test('a report reaches a client that is still sending', async () => {
    const daemon = await start();
    const client = await rawClient(daemon.socketPath);
    client.sendRun(wireHeader({ protocol: 2 }), ONE.text, Buffer.alloc(8 * 1024 * 1024));
    expect(await client.report()).toMatchObject({ kind: 'notStarted' });
  });
});

describe('readiness over the socket', () => {
  test('is the sandbox’s own', async () => {
    const daemon = await start();
    const ask = async () => {
      const client = await rawClient(daemon.socketPath);
      client.send(TAG.readyAsk);
      const answer = await client.next();
      client.socket.destroy();
      return answer?.tag === TAG.ready ? decodeStates(answer.payload) : null;
    };
    expect(await ask()).toMatchObject([
      { check: 'engine', ok: true },
      { check: 'image', ok: true, detail: daemon.engine.image },
      { check: 'self_test', ok: true },
    ]);
    expect(daemon.log.readiness).toMatchObject([
      [
        { check: 'engine', ok: true },
        { check: 'image', ok: true },
        { check: 'self_test', ok: true },
      ],
    ]);
    await eventually(() => daemon.engine.containers.size === 0, 'the probe is removed');
  });

  test('is followed by what the pool has come to', async () => {
    const daemon = await start({ sandbox: { poolSize: 2 } });
    const ask = async (): Promise<PoolCounts | null> => {
      const client = await rawClient(daemon.socketPath);
      client.send(TAG.readyAsk);
      await client.next();
      const frame = await client.next();
      expect(await client.next()).toBeNull();
      expect(client.tags).toBe('AN');
      return frame === null ? null : decodeCounts(frame.payload);
    };
    await eventually(async () => (await ask())?.containers.ready === 2, 'the stock is counted');
    const client = await rawClient(daemon.socketPath);
    client.sendRun();
    expect((await client.next())?.tag).toBe(TAG.taken);
    expect(await ask()).toMatchObject({
      instance: 'daemon-under-test',
      running: 1,
      containers: { running: 1 },
    });
    client.send(TAG.go);
    await client.report();
    await eventually(async () => (await ask())?.starts.ok === 3, 'the refill is counted');
  });
});

describe('the socket’s file', () => {
  test.each([0o000, 0o077, 0o777])(
    'has the mode 0660 under the umask %o, which stays as it was',
    async (mask) => {
      const before = process.umask(mask);
      try {
        const daemon = await start();
        expect(statSync(daemon.socketPath).mode & 0o7777).toBe(0o660);
        expect(process.umask()).toBe(mask);
      } finally {
        process.umask(before);
      }
    },
  );

  test('goes with the daemon', async () => {
    const folder = temporaryFolder();
    const socketPath = join(folder.path, 's');
    const daemon = await startTestDaemon({ socketPath });
    expect(existsSync(socketPath)).toBe(true);
    await daemon.close();
    expect(existsSync(socketPath)).toBe(false);
    folder.remove();
  });

  test('of a dead daemon is replaced', async () => {
    const folder = temporaryFolder();
    const socketPath = join(folder.path, 's');
    // A process that ends without closing: its file stays behind.
    const script = `require('node:net').createServer().listen(${JSON.stringify(socketPath)}, () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', script]);
    expect(existsSync(socketPath)).toBe(true);
    const daemon = await start({ socketPath });
    await expectServing(daemon);
    folder.remove();
  });

  test('of a live one is refused in one line, and left as it is', async () => {
    const daemon = await start();
    await expect(startTestDaemon({ socketPath: daemon.socketPath })).rejects.toThrow(
      /^SANDBOXD_SOCKET is held by a running sandboxd/,
    );
    await expectServing(daemon);
  });

  test('that is no socket is refused and left as it is', async () => {
    const folder = temporaryFolder();
    const socketPath = join(folder.path, 's');
    writeFileSync(socketPath, 'precious');
    await expect(startTestDaemon({ socketPath })).rejects.toThrow(
      /^SANDBOXD_SOCKET is a file that is no socket/,
    );
    expect(readFileSync(socketPath, 'utf8')).toBe('precious');
    folder.remove();
  });

  test('needs its folder', async () => {
    const folder = temporaryFolder();
    await expect(startTestDaemon({ socketPath: join(folder.path, 'none', 's') })).rejects.toThrow(
      /^SANDBOXD_SOCKET cannot be listened on \(ENOENT\): its folder does not exist/,
    );
    folder.remove();
  });
});

describe('the end of the daemon', () => {
  test('lets a run finish within the grace', async () => {
    let finish = (): void => {};
    const daemon = await startTestDaemon({
      script: (job) => {
        finish = () => {
          job.stdout(answerFrame({ status: 'returned', cpu_ns: 5, maxrss_bytes: 7 }, '1'));
          job.exit(0);
        };
      },
    });
    const client = await rawClient(daemon.socketPath);
    client.sendRun();
    await client.next();
    client.send(TAG.go);
    await eventually(() => jobsSent(daemon.engine) === 1, 'the job is sent');
    const closed = daemon.close(60_000);
    setTimeout(finish, 50);
    expect(await client.report()).toMatchObject({ kind: 'returned' });
    client.socket.destroy();
    await closed;
    expect(daemon.engine.containers.size).toBe(0);
  });

  test('kills a run past the grace and calls it lost, not cancelled: nobody has left', async () => {
    const daemon = await startTestDaemon({ script: spins });
    const client = await rawClient(daemon.socketPath);
    client.sendRun();
    await client.next();
    client.send(TAG.go);
    await eventually(() => jobsSent(daemon.engine) === 1, 'the job is sent');
    const closed = daemon.close(50);
    expect(await client.report()).toMatchObject({ kind: 'killed', reason: 'sandbox_lost' });
    client.socket.destroy();
    await closed;
    expect(daemon.engine.containers.size).toBe(0);
  });

  test('waits neither for a GO nor for a client that says nothing', async () => {
    const daemon = await startTestDaemon();
    const [silent, waiting] = await Promise.all([rawClient(daemon.socketPath), rawClient(daemon.socketPath)]);
    waiting.sendRun();
    await waiting.next();
    await daemon.close(0);
    expect(await silent.next()).toBeNull();
    expect(jobsSent(daemon.engine)).toBe(0);
    expect(daemon.engine.containers.size).toBe(0);
    waiting.socket.destroy();
  });
});
