import { randomUUID } from 'node:crypto';
import Docker from 'dockerode';
import { describe, expect, test } from 'vitest';
import { createDockerSandbox } from '../../src/sandbox/docker.ts';
import type { RunReport, Sandbox } from '../../src/sandbox/port.ts';
import { type EngineFault, type EngineProxy, startEngineProxy } from '../fakes/engine-proxy.ts';
import { compute, escaped } from '../fakes/python-functions.ts';
import { realSettings } from '../fakes/real-sandbox.ts';
import {
  dataOf,
  eventually,
  fakePermit,
  LIMITS,
  recordingObserver,
  unadmitted,
} from '../fakes/sandbox-run.ts';
import { SANDBOX_SHAPES, type SandboxShape } from '../fakes/sandbox-shapes.ts';

const docker = new Docker();
const [EMBEDDED, OVER_SOCKET] = SANDBOX_SHAPES;
/** Of a request; no run may end later, whatever the engine does. */
const DEADLINE_MS = 30_000;
const RUN_WALL_MS = 1000;
/** Past the wait for an exit: the function does not end by its own backstop meanwhile. */
const LONG_WALL_MS = 8000;
/** The longest bounds of single calls, a self-test and a start on a busy machine. */
const RECOVERY_MAX_MS = 40_000;

const RETURNS = compute('return 1');
const SPINS = compute('while True:', '    pass');
const DIES = escaped('leave(3)');

interface Ran {
  readonly report: RunReport;
  /** How often its start was written to the ledger. */
  readonly started: number;
  readonly ms: number;
}

interface Bench {
  readonly proxy: EngineProxy;
  readonly sandbox: Sandbox;
  readonly observer: ReturnType<typeof recordingObserver>;
  /** Runs it with a permit of its own; `onStarted` is called when it counts from then on. */
  run(code: string, onStarted?: () => void, wallMs?: number): Promise<Ran>;
  /** Every container of this sandbox, asked of the engine itself. */
  containers(): Promise<Docker.ContainerInfo[]>;
  /** Tries until a run returns: by itself, with nothing started anew. */
  recovers(): Promise<void>;
}

/** `onEnd` gets what cleans up where a test failed half-way. */
async function benchWith(
  onEnd: (cleanUp: () => Promise<void>) => void,
  more: { poolSize?: number } = {},
  open: SandboxShape['open'] = EMBEDDED.open,
): Promise<Bench> {
  const instanceId = randomUUID();
  const proxy = await startEngineProxy();
  const observer = recordingObserver();
  const settings = realSettings({
    instanceId,
    dockerHost: proxy.dockerHost,
    observer,
    poolSize: 0,
    maxConcurrency: 1,
  });
  const sandbox = await open({ ...settings, ...more });
  const run: Bench['run'] = async (code, onStarted = () => {}, wallMs = RUN_WALL_MS) => {
    const permit = fakePermit({
      ledger: () => {
        onStarted();
        return true;
      },
    });
    const beganAt = performance.now();
    const limits = { ...LIMITS, wallMs };
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const report = await sandbox.run(unadmitted(code), dataOf({}), permit, limits, signal);
    return { report, started: permit.startedWith.length, ms: performance.now() - beganAt };
  };
  const bench: Bench = {
    proxy,
    sandbox,
    observer,
    run,
    containers: () =>
      docker.listContainers({ all: true, filters: { label: [`compute-step.instance=${instanceId}`] } }),
    recovers: async () => {
      const until = Date.now() + RECOVERY_MAX_MS;
      for (;;) {
        const { report, started } = await run(RETURNS);
        if (report.kind === 'returned') {
          return;
        }
        expect(started).toBe(0);
        if (Date.now() > until) {
          throw new Error(`did not recover: ${JSON.stringify(report)}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    },
  };
  onEnd(async () => {
    await sandbox.close();
    await proxy.close();
  });
  return bench;
}

/** Ends the sandbox and shows that it left nothing on the engine. */
async function cleanEnd({ sandbox, proxy, containers }: Bench): Promise<void> {
  await sandbox.close();
  await proxy.close();
  expect(await containers()).toEqual([]);
}

const isReady = async (sandbox: Sandbox) => (await sandbox.readiness()).every(({ ok }) => ok);

/** What a run comes to where a call of this phase goes wrong, and whether it counts. */
interface Phase {
  readonly name: string;
  readonly call: RegExp;
  readonly code: string;
  /** Kind, or reason where there is one. */
  readonly outcome: string;
  readonly counts: boolean;
  /** A question asks only: to it it is the same whether the engine did not hear it or its answer was lost. */
  readonly kind: 'question' | 'act';
  /** It meets the first look at an engine, not the run of a sandbox that is ready. */
  readonly first: boolean;
}

function phase(
  kind: Phase['kind'],
  name: string,
  call: string,
  [code, outcome]: readonly [string, string],
  first = false,
): Phase {
  const id = '[0-9a-f]{64}';
  const counts = outcome !== 'sandbox_unavailable';
  return { kind, name, call: new RegExp(`^${call.replace('ID', id)}$`), code, outcome, counts, first };
}

const PHASES: readonly Phase[] = [
  phase('question', 'ping', 'GET /_ping', [RETURNS, 'sandbox_unavailable'], true),
  phase('question', 'looking for the image', 'GET /images/.*', [RETURNS, 'sandbox_unavailable'], true),
  phase('act', 'create', 'POST /containers/create', [RETURNS, 'sandbox_unavailable']),
  phase('act', 'attach', 'POST /containers/ID/attach', [RETURNS, 'sandbox_unavailable']),
  phase('act', 'start', 'POST /containers/ID/start', [RETURNS, 'sandbox_unavailable']),
  phase('question', 'reading the usage', 'GET /containers/ID/stats', [SPINS, 'timeout']),
  phase('act', 'kill', 'POST /containers/ID/kill', [SPINS, 'timeout']),
  phase('question', 'waiting for the exit', 'POST /containers/ID/wait', [DIES, 'sandbox_lost']),
  phase('question', 'inspect', 'GET /containers/ID/json', [DIES, 'sandbox_lost']),
  phase('act', 'remove', 'DELETE /containers/ID', [RETURNS, 'returned']),
];
const FAULTS: readonly EngineFault[] = ['silent', 'deaf', 'half', 'reset', 'error'];
const CASES = PHASES.flatMap((one) =>
  FAULTS.filter((fault) => fault !== 'deaf' || one.kind === 'act').map((fault) => ({
    ...one,
    fault,
    ...EMBEDDED,
  })),
);
/** What stands between is the same whatever the fault: one each. */
const CASES_OVER_SOCKET = PHASES.map((one) => ({ ...one, fault: 'reset' as const, ...OVER_SOCKET }));

describe.concurrent('an engine', () => {
  test.for([...CASES, ...CASES_OVER_SOCKET])(
    'that is $fault at $name, $shape',
    async (one, { onTestFinished }) => {
      const { call, code, first, outcome, counts, fault, open } = one;
      const bench = await benchWith(onTestFinished, {}, open);
      if (!first) {
        // A daemon is not waited for while its first self-test is under way.
        await eventually(() => isReady(bench.sandbox), 'it is ready');
        await eventually(async () => (await bench.containers()).length === 0, 'the probe is removed');
      }
      const met = bench.proxy.failNext(call, fault);
      const { report, started, ms } = await bench.run(code);
      await met;
      expect('reason' in report ? report.reason : report.kind).toBe(outcome);
      expect(started).toBe(counts ? 1 : 0);
      expect(ms).toBeLessThan(DEADLINE_MS);
      await bench.recovers();
      await cleanEnd(bench);
    },
  );

  test('that is slow in everything it does runs what is asked all the same, and its slowness is not metered', async ({
    onTestFinished,
  }) => {
    const bench = await benchWith(onTestFinished);
    bench.proxy.slowDown(300);
    const { report, started } = await bench.run(RETURNS);
    expect(report.kind).toBe('returned');
    expect(started).toBe(1);
    const wallNs = report.kind === 'returned' ? report.usage.wallNs : 0n;
    expect(wallNs).toBeLessThan(BigInt(RUN_WALL_MS) * 1_000_000n);
    await cleanEnd(bench);
  });

  test('that loses the stream of a run has lost the run, and what runs on is removed', async ({
    onTestFinished,
  }) => {
    const bench = await benchWith(onTestFinished);
    expect(await isReady(bench.sandbox)).toBe(true);
    const run = bench.run(SPINS, () => setTimeout(bench.proxy.cutStreams, 300), LONG_WALL_MS);
    const { report, started } = await run;
    expect(report).toMatchObject({ kind: 'killed', reason: 'sandbox_lost' });
    expect(started).toBe(1);
    await bench.recovers();
    await cleanEnd(bench);
  });

  test('that keeps the stream and says nothing more on it is not waited for past the limit', async ({
    onTestFinished,
  }) => {
    const bench = await benchWith(onTestFinished);
    expect(await isReady(bench.sandbox)).toBe(true);
    const code = escaped('found["time"].sleep(0.5)', 'return 1');
    const run = bench.run(code, () => setTimeout(bench.proxy.stallStreams, 200));
    const { report, started, ms } = await run;
    expect(report).toMatchObject({ kind: 'killed', reason: 'timeout' });
    expect(started).toBe(1);
    expect(ms).toBeLessThan(DEADLINE_MS);
    await bench.recovers();
    await cleanEnd(bench);
  });

  test('that does not remove a container gets no other one in its place until it has', async ({
    onTestFinished,
  }) => {
    const bench = await benchWith(onTestFinished);
    expect(await isReady(bench.sandbox)).toBe(true);
    await eventually(async () => (await bench.containers()).length === 0, 'the probe is removed');
    const lost = bench.proxy.failNext(/^DELETE /, 'error');
    const lostAgain = bench.proxy.failNext(/^DELETE /, 'error');
    await bench.run(RETURNS);
    const created = () => bench.proxy.calls.filter((call) => call === 'POST /containers/create').length;
    const before = created();
    const next = bench.run(RETURNS);
    await lost;
    expect(created()).toBe(before);
    await lostAgain;
    expect((await next).report.kind).toBe('returned');
    expect(bench.observer.removalFailures).toBe(0);
    await cleanEnd(bench);
  });
});

describe('an engine that restarts', () => {
  test('during a run has lost it; the service is not ready, then ready again by itself with a new stock', async ({
    onTestFinished,
  }) => {
    const bench = await benchWith(onTestFinished, { poolSize: 2 });
    await eventually(() => bench.observer.counts.ready === 2, 'stock is full');
    const stock = (await bench.containers()).map(({ Id }) => Id);
    const run = bench.run(SPINS, () => setTimeout(() => void bench.proxy.down(), 200), LONG_WALL_MS);
    const { report, started } = await run;
    expect(report).toMatchObject({ kind: 'killed', reason: 'sandbox_lost' });
    expect(started).toBe(1);
    // What was found out before may be told for two more seconds.
    await eventually(
      async () => (await bench.sandbox.readiness()).some(({ check, ok }) => check === 'engine' && !ok),
      'the engine is seen to be away',
    );
    expect(await bench.run(RETURNS)).toMatchObject({ report: { reason: 'sandbox_unavailable' }, started: 0 });
    await bench.proxy.up();
    await bench.recovers();
    expect(await isReady(bench.sandbox)).toBe(true);
    await eventually(async () => {
      const now = await bench.containers();
      return now.length === 2 && now.every(({ Id, State }) => State === 'running' && !stock.includes(Id));
    }, 'a new stock and nothing else');
    await cleanEnd(bench);
  });

  test('so quickly that no call failed is tested again before anything runs on it', async ({
    onTestFinished,
  }) => {
    const bench = await benchWith(onTestFinished);
    expect(await isReady(bench.sandbox)).toBe(true);
    const probes = () => bench.proxy.calls.filter((call) => call === 'POST /containers/create').length;
    expect(probes()).toBe(1);
    await bench.proxy.down();
    await bench.proxy.up();
    await eventually(async () => (await isReady(bench.sandbox)) && probes() === 2, 'a second probe');
    await cleanEnd(bench);
  });
});

describe('a sandbox whose engine has no such runtime', () => {
  test('is not ready, says which setting names it, and runs nothing on another one', async () => {
    const instanceId = randomUUID();
    const sandbox = createDockerSandbox(
      realSettings({ instanceId, runtime: 'no-such-runtime', poolSize: 1 }),
    );
    const states = await sandbox.readiness();
    expect(states).toMatchObject([{ ok: true }, { ok: true }, { check: 'self_test', ok: false }]);
    expect(states[2]?.detail).toContain('no-such-runtime');
    expect(states[2]?.detail).toContain('SANDBOX_RUNTIME');
    const permit = fakePermit();
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const report = await sandbox.run(unadmitted(RETURNS), dataOf({}), permit, LIMITS, signal);
    expect(report).toMatchObject({ kind: 'notStarted', reason: 'sandbox_unavailable' });
    expect(permit.startedWith).toEqual([]);
    await sandbox.close();
  });
});
