import { describe, expect, test } from 'vitest';
import { createSandboxOn, type DockerSandboxOptions } from '../../../src/sandbox/docker.ts';
import { EngineError } from '../../../src/sandbox/engine-call.ts';
import type { RunLimits, RunReport } from '../../../src/sandbox/port.ts';
import { answerFrame, FakeEngine, returnsOne, type ScriptedJob } from '../../fakes/fake-engine.ts';
import {
  dataOf,
  eventually,
  fakePermit,
  LIMITS,
  recordingObserver,
  sandboxSettings,
  unadmitted,
} from '../../fakes/sandbox-run.ts';

const CODE = 'def compute(data):\n    return 1\n';
const OK = { status: 'returned', cpu_ns: 5, maxrss_bytes: 7 };

function start(
  script: (job: ScriptedJob) => void = returnsOne,
  more: Partial<DockerSandboxOptions> = {},
  engine = new FakeEngine(),
) {
  engine.script = script;
  const sandbox = createSandboxOn(engine, sandboxSettings(more));
  const run = (
    options: {
      limits?: Partial<RunLimits>;
      signal?: AbortSignal;
      permit?: ReturnType<typeof fakePermit>;
    } = {},
  ): Promise<RunReport> =>
    sandbox.run(
      unadmitted(CODE),
      dataOf({ secret: 42 }),
      options.permit ?? fakePermit(),
      { ...LIMITS, ...options.limits },
      options.signal ?? new AbortController().signal,
    );
  return { engine, sandbox, run };
}

/** A container that answers nothing and ends only when it is killed. */
const spins = (): void => {};
const clean = (frame: Buffer) => (job: ScriptedJob) => {
  job.stdout(frame);
  job.exit(0);
};

describe('a run', () => {
  test('reports what was returned, with its usage', async () => {
    const { engine, run } = start();
    const report = await run();
    expect(report).toMatchObject({
      kind: 'returned',
      result: Buffer.from('1'),
      printed: null,
      usage: {
        cpuSeconds: 5e-9,
        peakMemoryBytes: 7,
        peakMemorySource: 'self',
        exitCode: 0,
        outputBytes: 1,
        image: engine.image,
      },
    });
    expect(report.kind === 'returned' && report.usage.wallNs > 0n).toBe(true);
  });

  test('sends code, data and limits by stdin and nothing of them anywhere else', async () => {
    let seen: ScriptedJob | undefined;
    const { engine, run } = start((job) => {
      seen = job;
      returnsOne(job);
    });
    const specs: string[] = [];
    const create = engine.create.bind(engine);
    engine.create = (spec) => {
      specs.push(JSON.stringify(spec));
      return create(spec);
    };
    await run({ limits: { wallMs: 2500, resultMaxBytes: 99, decimalAsString: true, detailMaxBytes: 3 } });
    expect(seen).toMatchObject({ code: CODE, data: '{"secret":42}' });
    expect(seen?.header).toMatchObject({
      wall_seconds: 2.5,
      result_max_bytes: 99,
      result_max_depth: 64,
      decimal_as_string: true,
      detail_max_bytes: 3,
    });
    expect(specs.join()).not.toMatch(/secret|compute\(|acme/);
  });

  test('writes started after it has a container and before the first byte of the job', async () => {
    const { engine, run } = start();
    let jobAtStarted = true;
    let containersAtStarted = 0;
    const permit = fakePermit({
      ledger: () => {
        containersAtStarted = [...engine.containers.values()].filter(({ state }) => state.running).length;
        jobAtStarted = [...engine.jobs.values()].some((job) => job.byteLength > 0);
        return true;
      },
    });
    await run({ permit });
    expect(permit.startedWith).toEqual([unadmitted(CODE).sha256]);
    expect(containersAtStarted).toBeGreaterThan(0);
    expect(jobAtStarted).toBe(false);
  });

  test('that the ledger cannot record is not started, and nothing is sent', async () => {
    const { engine, run } = start();
    expect(await run({ permit: fakePermit({ ledger: () => false }) })).toMatchObject({
      kind: 'notStarted',
      reason: 'ledger_unavailable',
    });
    expect([...engine.jobs.values()].every((job) => job.byteLength === 0)).toBe(true);
  });

  test('clamps wall time to the operator’s and lowers memory for a run that asked for less', async () => {
    const headers: unknown[] = [];
    const { engine, run } = start((job) => {
      headers.push(job.header.wall_seconds);
      returnsOne(job);
    });
    await run({ limits: { wallMs: 60_000, memoryMb: 4096 } });
    expect(headers).toEqual([5]);
    expect(engine.count('limitMemory')).toBe(0);
    await run({ limits: { memoryMb: 64 } });
    expect(engine.calls).toContain(`memory ${64 * 1024 * 1024}`);
  });

  test('whose memory cannot be lowered is not started', async () => {
    const { engine, run } = start();
    engine.faults.limitMemory = () => {
      throw new EngineError('refused', 'busy', 500);
    };
    const permit = fakePermit();
    expect(await run({ limits: { memoryMb: 64 }, permit })).toMatchObject({ reason: 'sandbox_unavailable' });
    expect(permit.startedWith).toEqual([]);
  });

  test('removes its container, whatever it came to', async () => {
    for (const script of [returnsOne, spins, (job: ScriptedJob) => job.exit(3)]) {
      const { engine, sandbox, run } = start(script);
      await run({ limits: { wallMs: 50 } });
      await eventually(() => engine.containers.size === 0, 'container removed');
      await sandbox.close();
    }
  });
});

describe('a sealed answer', () => {
  const sealed = (job: ScriptedJob, more: object = {}) =>
    answerFrame({ ...OK, seal: job.header.seal, ...more }, '1');

  test('is taken before the engine reports the exit', async () => {
    const { engine, sandbox, run } = start((job) => job.stdout(sealed(job)));
    await sandbox.readiness();
    const before = engine.count('wait');
    expect(await run()).toMatchObject({ kind: 'returned', usage: { exitCode: 0 } });
    expect(engine.count('wait')).toBe(before);
  });

  test('with bytes behind it is a crash all the same', async () => {
    const { run } = start((job) => {
      job.stdout(Buffer.concat([sealed(job), Buffer.from('x')]));
      job.exit(0);
    });
    expect(await run()).toMatchObject({ kind: 'killed', reason: 'sandbox_crashed' });
  });

  test('leaves its container the time to exit by itself before it is removed', async () => {
    const { engine, sandbox, run } = start((job) => {
      job.stdout(sealed(job));
      setTimeout(() => job.exit(0), 30);
    });
    await sandbox.readiness();
    await eventually(() => engine.containers.size === 0, 'probe removed');
    let running = 0;
    engine.faults.remove = () => {
      running += [...engine.containers.values()].filter(({ state }) => state.running).length;
    };
    await run();
    await eventually(() => engine.containers.size === 0, 'container removed');
    expect(running).toBe(0);
  });

  test('of another run is no seal: the exit is waited for', async () => {
    const { run } = start((job) => {
      job.stdout(answerFrame({ ...OK, seal: '0'.repeat(32) }, '1'));
      job.exit(3);
    });
    expect(await run()).toMatchObject({ kind: 'killed', reason: 'sandbox_crashed', usage: { exitCode: 3 } });
  });

  test('differs from run to run', async () => {
    const seals = new Set<unknown>();
    const { run } = start((job) => {
      seals.add(job.header.seal);
      returnsOne(job);
    });
    await run();
    await run();
    expect(seals.size).toBe(2);
    expect([...seals].every((seal) => typeof seal === 'string' && /^[0-9a-f]{32}$/.test(seal))).toBe(true);
  });
});

describe('a hostile container', () => {
  const crashes: [string, (job: ScriptedJob) => void][] = [
    ['says nothing and exits cleanly', (job) => job.exit(0)],
    ['exits with 3', (job) => job.exit(3)],
    [
      'answers and then exits with 3',
      (job) => {
        job.stdout(answerFrame(OK, '1'));
        job.exit(3);
      },
    ],
    ['answers twice', clean(Buffer.concat([answerFrame(OK, '1'), answerFrame(OK, '2')]))],
    ['writes one byte behind its answer', clean(Buffer.concat([answerFrame(OK, '1'), Buffer.from([0])]))],
    ['writes one byte before its answer', clean(Buffer.concat([Buffer.from([0]), answerFrame(OK, '1')]))],
    ['leaves its answer unfinished', clean(answerFrame(OK, '1').subarray(0, -1))],
    ['says ready once more', clean(Buffer.concat([Buffer.from('R'), answerFrame(OK, '1').subarray(1)]))],
    ['answers with what is not JSON', clean(answerFrame(OK, '{"a":NaN}'))],
    ['claims a verdict on limits', clean(answerFrame({ status: 'timeout' }))],
    ['claims to have run out of memory', clean(answerFrame({ status: 'out_of_memory' }))],
    ['answers and then lingers', (job) => job.stdout(answerFrame(OK, '1'))],
  ];
  test.each(crashes)('that %s has crashed', async (_what, script) => {
    const { run } = start(script);
    expect(await run()).toMatchObject({ kind: 'killed', reason: 'sandbox_crashed' });
  });

  test('that answers late behind its forged answer has crashed', async () => {
    const { run } = start((job) => {
      job.stdout(answerFrame(OK, '1'));
      setTimeout(() => {
        job.stdout(answerFrame(OK, '2'));
        job.exit(0);
      }, 30);
    });
    expect(await run()).toMatchObject({ kind: 'killed', reason: 'sandbox_crashed' });
  });

  test('that says its result is too large, or sends one that is, has a result that is too large', async () => {
    const limits = { resultMaxBytes: 4 };
    const said = start(clean(answerFrame({ status: 'too_large' })));
    expect(await said.run({ limits })).toMatchObject({ kind: 'killed', reason: 'output_too_large' });
    const sent = start(clean(answerFrame(OK, '12345')));
    expect(await sent.run({ limits })).toMatchObject({ kind: 'killed', reason: 'output_too_large' });
  });

  test.each(['stdout', 'stderr'] as const)('that floods %s is killed, and reading stops', async (channel) => {
    let sent = 0;
    const { engine, run } = start((job) => {
      const more = (): void => {
        if (engine.killed.length === 0 && sent < 1024) {
          sent += 1;
          job[channel](Buffer.alloc(64 * 1024, 'x'));
          setImmediate(more);
        }
      };
      more();
    });
    const report = await run();
    expect(report).toMatchObject({ kind: 'killed', reason: 'output_too_large' });
    expect(sent).toBeLessThan(1024);
    expect(report.kind === 'killed' && report.usage.outputBytes).toBeLessThan(8 * 1024 * 1024);
    expect(engine.killed.length).toBe(1);
  });

  test('that answers and then floods is killed for the flood', async () => {
    const { engine, run } = start((job) => {
      job.stdout(answerFrame(OK, '1'));
      setTimeout(() => {
        for (let i = 0; i < 64; i += 1) {
          job.stderr(Buffer.alloc(64 * 1024));
        }
      }, 30);
    });
    expect(await run()).toMatchObject({ kind: 'killed', reason: 'output_too_large' });
    expect(engine.killed.length).toBe(1);
  });

  test('is let go of before it is killed, as the engine waits for unread output', async () => {
    const { engine, run } = start(spins);
    let held = true;
    engine.faults.kill = () => {
      const running = [...engine.containers.values()].filter(({ received }) => received.length > 1);
      held = running.some(({ stream }) => !stream.destroyed);
    };
    await run({ limits: { wallMs: 50 } });
    expect(engine.count('kill')).toBe(1);
    expect(held).toBe(false);
  });

  test('may write to stderr within the cap; nothing of it comes back', async () => {
    const { run } = start((job) => {
      job.stderr(Buffer.from('secret'));
      returnsOne(job);
    });
    const report = await run({ limits: { detailMaxBytes: 100 } });
    expect(report.kind).toBe('returned');
    expect(
      JSON.stringify(report, (_key, value) => (typeof value === 'bigint' ? String(value) : value)),
    ).not.toMatch(/secret/);
  });
});

describe('a verdict from outside', () => {
  test('is timeout at the deadline, with the limit as its wall time', async () => {
    const { engine, run } = start(spins);
    const report = await run({ limits: { wallMs: 80 } });
    expect(report).toMatchObject({ kind: 'killed', reason: 'timeout', usage: { wallNs: 80_000_000n } });
    expect(engine.killed.length).toBe(1);
  });

  test('is out of memory by the engine’s flag with the exit code of a kill, not by the flag alone', async () => {
    const oom = start((job) => job.exit(137, true));
    expect(await oom.run()).toMatchObject({ reason: 'out_of_memory', usage: { exitCode: 137 } });
    const child = start((job) => job.exit(1, true));
    expect(await child.run()).toMatchObject({ reason: 'sandbox_crashed' });
    const survived = start((job) => {
      job.stdout(answerFrame(OK, '1'));
      job.exit(0, true);
    });
    expect(await survived.run()).toMatchObject({ kind: 'returned' });
  });

  test('is out of memory for a kill that nobody asked for, though the engine lost the kernel’s report', async () => {
    const { engine, run } = start((job) => job.exit(137));
    expect(await run()).toMatchObject({ reason: 'out_of_memory', usage: { exitCode: 137 } });
    engine.faults.reportedEnds = () => {
      throw new EngineError('refused', 'no such events', 500);
    };
    expect(await run()).toMatchObject({ reason: 'out_of_memory' });
  });

  test('is a crash for a kill that another client of the engine asked for, also if that is told late', async () => {
    const { engine, run } = start((job) => job.exit(137));
    engine.faults.reportedEnds = () => {
      engine.ends = { oom: false, kill: engine.count('reportedEnds') > 1 };
    };
    expect(await run()).toMatchObject({ reason: 'sandbox_crashed', usage: { exitCode: 137 } });
    expect(engine.count('reportedEnds')).toBe(2);
    engine.ends = { oom: true, kill: false };
    engine.faults.reportedEnds = () => {};
    expect(await run()).toMatchObject({ reason: 'out_of_memory' });
  });

  test('asks for such reports only on the exit code of a kill', async () => {
    const { engine, run } = start((job) => job.exit(3));
    engine.ends = { oom: true, kill: false };
    expect(await run()).toMatchObject({ reason: 'sandbox_crashed' });
    expect(engine.count('reportedEnds')).toBe(0);
  });

  test('is timeout for whatever ended by itself past the limit: a backstop came before our timer', async () => {
    let nowNs = 0n;
    const clock = { now: () => new Date(), monotonicNs: () => nowNs };
    const { run } = start(
      (job) => {
        nowNs += 60_000_000n;
        job.exit(137);
      },
      { clock },
    );
    expect(await run({ limits: { wallMs: 60 } })).toMatchObject({ kind: 'killed', reason: 'timeout' });
    expect(await run({ limits: { wallMs: 61 } })).toMatchObject({ reason: 'out_of_memory' });
  });

  test('carries what the engine measured before the kill; where it cannot tell, nothing fails', async () => {
    const { engine, run } = start(spins);
    engine.measured = { cpuSeconds: 0.25, peakMemoryBytes: 4096 };
    let usageBeforeKill = false;
    engine.faults.kill = () => {
      usageBeforeKill = engine.count('usage') === 1;
    };
    expect(await run({ limits: { wallMs: 50 } })).toMatchObject({
      reason: 'timeout',
      usage: { cpuSeconds: 0.25, peakMemoryBytes: 4096, peakMemorySource: 'engine' },
    });
    expect(usageBeforeKill).toBe(true);
    engine.faults.usage = () => {
      throw new EngineError('timeout', 'busy');
    };
    expect(await run({ limits: { wallMs: 50 } })).toMatchObject({
      reason: 'timeout',
      usage: { cpuSeconds: null, peakMemoryBytes: null, peakMemorySource: null },
    });
  });

  test('is cancelled when the caller leaves, timeout when the request’s deadline passes', async () => {
    for (const [reason, verdict] of [
      [new DOMException('gone', 'AbortError'), 'cancelled'],
      [new DOMException('late', 'TimeoutError'), 'timeout'],
    ] as const) {
      const { engine, run } = start(spins);
      const caller = new AbortController();
      const report = run({ signal: caller.signal });
      await eventually(() => [...engine.jobs.values()].some((job) => job.byteLength > 0), 'job sent');
      caller.abort(reason);
      expect(await report).toMatchObject({ kind: 'killed', reason: verdict });
      expect(engine.killed.length).toBe(1);
    }
  });

  test('still counts when the caller leaves between started and the job', async () => {
    const { run } = start();
    const caller = new AbortController();
    const permit = fakePermit({
      ledger: () => {
        caller.abort();
        return true;
      },
    });
    expect(await run({ signal: caller.signal, permit })).toMatchObject({
      kind: 'killed',
      reason: 'cancelled',
    });
  });

  test('is lost when the engine lets go of a container that runs on', async () => {
    const { run } = start((job) => job.disconnect());
    expect(await run()).toMatchObject({ kind: 'killed', reason: 'sandbox_lost', usage: { exitCode: null } });
  });

  test('is lost when the engine cannot say how the container ended', async () => {
    const { engine, sandbox, run } = start((job) => job.exit(0));
    await sandbox.readiness();
    engine.faults.state = () => {
      throw new EngineError('unreachable', 'connect ECONNREFUSED');
    };
    expect(await run()).toMatchObject({ kind: 'killed', reason: 'sandbox_lost' });
  });

  test('is lost, not timeout, when the engine is gone at the deadline', async () => {
    const { engine, run } = start(spins);
    engine.faults.kill = () => {
      engine.faults.ping = engine.faults.kill ?? (() => {});
      throw new EngineError('timeout', 'the engine did not answer');
    };
    expect(await run({ limits: { wallMs: 50 } })).toMatchObject({ kind: 'killed', reason: 'sandbox_lost' });
  });

  test('stays timeout when the engine is only too busy to confirm the kill', async () => {
    const { engine, run } = start(spins);
    engine.faults.kill = () => {
      throw new EngineError('timeout', 'the engine did not answer');
    };
    expect(await run({ limits: { wallMs: 50 } })).toMatchObject({ kind: 'killed', reason: 'timeout' });
  });
});

describe('a run that does not start', () => {
  test.each([
    ['create', 'no such image'],
    ['attach', 'reset'],
    ['start', 'no such runtime'],
    ['ping', 'connect ENOENT'],
  ] as const)(
    'for a failing %s is sandbox_unavailable, counts nothing and leaves nothing',
    async (call, message) => {
      const { engine, run } = start();
      engine.faults[call] = () => {
        throw new EngineError('refused', message, 500);
      };
      const permit = fakePermit();
      const report = await run({ permit });
      expect(report).toMatchObject({ kind: 'notStarted', reason: 'sandbox_unavailable' });
      expect(report.kind === 'notStarted' && report.detail).toContain(message);
      expect(permit.startedWith).toEqual([]);
      await eventually(() => engine.containers.size === 0, 'nothing left');
    },
  );

  test('for an engine that is away, with every place held by a container that it has yet to remove, is refused at once', async () => {
    const { engine, sandbox, run } = start(returnsOne, { maxConcurrency: 1 });
    await run();
    await eventually(() => engine.containers.size === 0, 'container removed');
    const away = () => {
      throw new EngineError('unreachable', 'connect ENOENT');
    };
    engine.faults.remove = away;
    await run();
    engine.faults.ping = away;
    engine.restart();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await run({ signal: AbortSignal.timeout(5000) })).toMatchObject({ reason: 'sandbox_unavailable' });
    engine.faults = {};
    await sandbox.close();
  });

  test('for a caller who leaves while the engine is being looked at does not wait for that', async () => {
    const { engine, sandbox, run } = start();
    let answer = (): void => {};
    engine.faults.ping = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const caller = new AbortController();
    const left = run({ signal: caller.signal });
    await eventually(() => engine.count('ping') === 1, 'the engine is being looked at');
    caller.abort();
    expect(await left).toMatchObject({ reason: 'cancelled' });
    answer();
    await sandbox.close();
  });

  test('for a failed create gives its place back', async () => {
    const { engine, sandbox, run } = start(returnsOne, { maxConcurrency: 1 });
    await sandbox.readiness();
    for (let i = 0; i < 2; i += 1) {
      engine.faults.create = () => {
        throw new EngineError('refused', 'disk full', 500);
      };
      expect(await run()).toMatchObject({ reason: 'sandbox_unavailable' });
      delete engine.faults.create;
      expect(await run()).toMatchObject({ kind: 'returned' });
    }
  });

  test('for a container that ends before it is ready, or says something else, is sandbox_unavailable', async () => {
    for (const ready of [null, { protocol: 2, python: '3.13', missing: [] }, { protocol: 1 }]) {
      const { engine, run } = start();
      engine.ready = ready;
      expect(await run()).toMatchObject({ kind: 'notStarted', reason: 'sandbox_unavailable' });
      await eventually(() => engine.containers.size === 0, 'nothing left');
    }
  });

  test('for an image that lacks a module of the pack is sandbox_unavailable, and readiness says so', async () => {
    const { engine, sandbox, run } = start();
    engine.ready = { protocol: 1, python: '3.13', missing: ['zoneinfo'] };
    expect(await run()).toMatchObject({ reason: 'sandbox_unavailable' });
    expect(await sandbox.readiness()).toContainEqual({
      check: 'self_test',
      ok: false,
      detail: 'modules: the image lacks zoneinfo',
    });
  });

  test('for a full queue is overloaded at once', async () => {
    const { engine, sandbox, run } = start(spins, { maxConcurrency: 1, queueLimit: 1 });
    const runs = [run(), run()];
    await eventually(() => [...engine.jobs.values()].some((job) => job.byteLength > 0), 'job sent');
    expect(await run()).toMatchObject({ kind: 'notStarted', reason: 'overloaded' });
    await sandbox.close();
    expect(await Promise.all(runs)).toMatchObject([{ kind: 'killed' }, { reason: 'sandbox_unavailable' }]);
  });

  test('for a caller or a deadline that did not wait is told apart', async () => {
    const { sandbox, run } = start(spins, { maxConcurrency: 1 });
    void run();
    const caller = new AbortController();
    const left = run({ signal: caller.signal });
    caller.abort();
    expect(await left).toMatchObject({ reason: 'cancelled' });
    expect(await run({ signal: AbortSignal.timeout(20) })).toMatchObject({ reason: 'deadline_exceeded' });
    expect(await run({ signal: AbortSignal.abort() })).toMatchObject({ reason: 'cancelled' });
    await sandbox.close();
  });

  test('makes readiness look again at once', async () => {
    const { engine, sandbox, run } = start();
    expect(await sandbox.readiness()).toContainEqual(expect.objectContaining({ check: 'engine', ok: true }));
    engine.faults.create = () => {
      throw new EngineError('unreachable', 'connect ENOENT');
    };
    engine.faults.ping = engine.faults.create;
    await run();
    expect(await sandbox.readiness()).toContainEqual(expect.objectContaining({ check: 'engine', ok: false }));
  });

  test('does not hold up the stock once the engine is back', async () => {
    let nowMs = 0;
    const observer = recordingObserver();
    const clock = { now: () => new Date(), monotonicNs: () => BigInt(nowMs) * 1_000_000n };
    const away = new FakeEngine();
    away.faults.ping = () => {
      throw new EngineError('unreachable', 'connect ENOENT');
    };
    const { engine, sandbox, run } = start(returnsOne, { poolSize: 4, clock, observer }, away);
    await eventually(() => observer.starts.length === 4, 'four failed starts');
    nowMs += 1700;
    expect(await run()).toMatchObject({ reason: 'sandbox_unavailable' });
    expect(observer.starts).not.toContain('ok');
    delete engine.faults.ping;
    nowMs += 2001;
    // The pause after so many failures is not over, and this clock stands still.
    await sandbox.readiness();
    await eventually(() => observer.counts.ready === 4, 'stock is full');
  });

  test('is readiness’ business too once containers do not start any more', async () => {
    const { engine, sandbox, run } = start();
    await run();
    engine.faults.start = () => {
      throw new EngineError('refused', 'disk full', 500);
    };
    for (let i = 0; i < 3; i += 1) {
      await run();
    }
    expect(await sandbox.readiness()).toContainEqual({ check: 'self_test', ok: false, detail: 'disk full' });
  });
});

describe('a sandbox', () => {
  test('runs no more at a time than it may', async () => {
    let now = 0;
    let most = 0;
    const { run } = start(
      (job) => {
        now += 1;
        most = Math.max(most, now);
        setTimeout(() => {
          now -= 1;
          returnsOne(job);
        }, 5);
      },
      { maxConcurrency: 3, queueLimit: 50 },
    );
    const reports = await Promise.all(Array.from({ length: 20 }, () => run()));
    expect(reports.every(({ kind }) => kind === 'returned')).toBe(true);
    expect(most).toBe(3);
  });

  test('without a pool has no more containers than runs it may have, removals included', async () => {
    const { engine, sandbox, run } = start(returnsOne, { maxConcurrency: 2, queueLimit: 50 });
    await sandbox.readiness();
    await eventually(() => engine.containers.size === 0, 'probe removed');
    let most = 0;
    const create = engine.create.bind(engine);
    engine.create = async (spec) => {
      const id = await create(spec);
      most = Math.max(most, engine.containers.size);
      return id;
    };
    engine.faults.remove = () => new Promise((resolve) => setTimeout(resolve, 10));
    await Promise.all(Array.from({ length: 12 }, () => run()));
    expect(most).toBe(2);
  });

  test('uses a fresh container for every run', async () => {
    const { engine, run } = start(returnsOne, { poolSize: 2 });
    for (let i = 0; i < 5; i += 1) {
      await run();
    }
    expect([...engine.jobs.values()].filter((job) => job.byteLength > 0).length).toBe(5);
  });

  test('closed ends what runs, removes every container and starts no more', async () => {
    const { engine, sandbox, run } = start(spins, { poolSize: 2 });
    const running = run();
    await eventually(() => [...engine.jobs.values()].some((job) => job.byteLength > 0), 'job sent');
    await Promise.all([sandbox.close(), sandbox.close()]);
    expect((await running).kind).toBe('killed');
    expect(engine.containers.size).toBe(0);
    expect(engine.watches()).toBe(0);
    expect(await run()).toMatchObject({ kind: 'notStarted', reason: 'sandbox_unavailable' });
    expect(engine.containers.size).toBe(0);
  });

  test('closed removes what it knows of even if the engine cannot list it', async () => {
    const { engine, sandbox, run } = start(spins, { poolSize: 2 });
    void run();
    await eventually(() => engine.containers.size === 3, 'stock and run');
    engine.faults.list = () => {
      throw new EngineError('refused', 'busy', 500);
    };
    engine.faults.remove = () => new Promise((resolve) => setTimeout(resolve, 30));
    await sandbox.close();
    expect(engine.containers.size).toBe(0);
  });

  test('closed removes what carries its label even if it does not know of it', async () => {
    const { engine, sandbox } = start();
    await sandbox.readiness();
    const labels = { 'compute-step': '1', 'compute-step.instance': 'instance-under-test' };
    engine.foreign.push({ id: 'unknown', labels, createdSeconds: Date.now() / 1000, ended: false });
    await sandbox.close();
    expect(engine.removed).toContain('unknown');
  });
});
