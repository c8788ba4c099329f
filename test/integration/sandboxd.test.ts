import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { createAdmission } from '../../src/admission/admit.ts';
import { systemClock } from '../../src/clock.ts';
import { draftOf } from '../../src/model/reply.ts';
import { BUILT_IN_PACK_DIR, loadPack } from '../../src/prompt/pack.ts';
import type { RunReport, Sandbox } from '../../src/sandbox/port.ts';
import { createRemoteSandbox } from '../../src/sandbox/remote.ts';
import { type RunningSandboxd, startSandboxd } from '../fakes/running-sandboxd.ts';
import { dataOf, eventually, fakePermit, LIMITS, recordingObserver } from '../fakes/sandbox-run.ts';
import { temporaryFolder } from '../fakes/sandboxd.ts';

const folder = temporaryFolder();
const socketPath = join(folder.path, 'sandboxd.sock');
const sandbox: Sandbox = createRemoteSandbox({
  socketPath,
  maxRuns: 8,
  clock: systemClock,
  observer: recordingObserver(),
});
const admission = await createAdmission((await loadPack(BUILT_IN_PACK_DIR)).modules);

const started: RunningSandboxd[] = [];
async function start(
  env: Record<string, string> = {},
  command: readonly string[] = [],
): Promise<RunningSandboxd> {
  const daemon = await startSandboxd(
    { SANDBOX_POOL_SIZE: '1', SANDBOX_MAX_CONCURRENCY: '2', ...env, SANDBOXD_SOCKET: socketPath },
    command,
  );
  started.push(daemon);
  await eventually(async () => (await sandbox.readiness()).every(({ ok }) => ok), 'it is ready');
  return daemon;
}

afterEach(async () => {
  for (const daemon of started.splice(0)) {
    if (daemon.process.exitCode === null && daemon.process.signalCode === null) {
      expect(await daemon.stop()).toBe(0);
    }
    daemon.removeContainers();
  }
});
afterAll(async () => {
  await sandbox.close();
  folder.remove();
});

function run(
  code: string,
  options: { data?: unknown; wallMs?: number; taken?: () => void } = {},
): Promise<RunReport> {
  const fn = admission.admit(draftOf(code));
  if ('admitted' in fn) {
    throw new Error(fn.message);
  }
  const events = options.taken === undefined ? undefined : { taken: options.taken };
  const limits = { ...LIMITS, wallMs: options.wallMs ?? 10_000 };
  return sandbox.run(
    fn,
    dataOf(options.data ?? {}),
    fakePermit(),
    limits,
    new AbortController().signal,
    events,
  );
}

const SUM = 'import math\ndef compute(data):\n    return math.fsum(data["x"]) + len(data)\n';
const SPIN = 'def compute(data):\n    while True:\n        pass\n';

describe('sandboxd, on a real engine', () => {
  test('runs functions, kills them at their limit, and ends cleanly', async () => {
    const daemon = await start();
    expect(statSync(socketPath).mode & 0o7777).toBe(0o660);
    expect(await run(SUM, { data: { x: [0.1, 0.2] } })).toMatchObject({
      kind: 'returned',
      result: Buffer.from('1.3'),
      usage: { exitCode: 0, image: expect.stringMatching(/^sha256:/) },
    });
    expect(await run(SPIN, { wallMs: 1000 })).toMatchObject({ kind: 'killed', reason: 'timeout' });
    expect(await run('def compute(data):\n    return 1 // 0\n')).toMatchObject({
      kind: 'raised',
      exception: 'ZeroDivisionError',
      line: 2,
    });
    expect(await daemon.stop()).toBe(0);
    expect(daemon.containers()).toEqual([]);
    expect(existsSync(socketPath)).toBe(false);
    expect(daemon.log.join('\n')).not.toMatch(/fsum|\b0\.1\b|ZeroDivision/);
  });

  test('carries large data and large results as they are', async () => {
    await start();
    const text = 'é'.repeat(1_500_000);
    const report = await run('def compute(data):\n    return data["t"][:400000] + str(len(data["t"]))\n', {
      data: { t: text },
    });
    expect(report.kind === 'returned' && report.result.toString()).toBe(`"${'é'.repeat(400_000)}1500000"`);
  });

  test('that is killed loses its runs and nothing else; the next one replaces its socket', async () => {
    const first = await start();
    let running = (): void => {};
    const begun = new Promise<void>((resolve) => {
      running = resolve;
    });
    const lost = run(SPIN, { taken: running });
    await begun;
    await new Promise((resolve) => setTimeout(resolve, 300));
    await first.kill();
    const report = await lost;
    expect(report).toMatchObject({
      kind: 'killed',
      reason: 'sandbox_lost',
      usage: { image: expect.stringMatching(/^sha256:/) },
    });
    expect(report.kind === 'killed' && report.usage.wallNs > 200_000_000n).toBe(true);
    expect(existsSync(socketPath)).toBe(true);
    expect(await sandbox.readiness()).toMatchObject([
      { check: 'engine', ok: false },
      { ok: false },
      { ok: false },
    ]);
    expect(await run(SUM)).toMatchObject({ kind: 'notStarted', reason: 'sandbox_unavailable' });
    await start();
    expect(await run(SUM, { data: { x: [1] } })).toMatchObject({ kind: 'returned' });
  });

  test('that is told to end kills what runs past the grace, as lost, and removes every container', async () => {
    const daemon = await start({ SHUTDOWN_GRACE_SECONDS: '0' });
    let running = (): void => {};
    const begun = new Promise<void>((resolve) => {
      running = resolve;
    });
    const lost = run(SPIN, { taken: running });
    await begun;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await daemon.stop()).toBe(0);
    expect(await lost).toMatchObject({ kind: 'killed', reason: 'sandbox_lost' });
    expect(daemon.containers()).toEqual([]);
    expect(existsSync(socketPath)).toBe(false);
  });

  test('needs no network at all', async ({ skip }) => {
    if (spawnSync('unshare', ['-n', 'true']).status !== 0) {
      skip('this user may not make a network namespace');
    }
    await start({}, ['unshare', '-n']);
    expect(await run(SUM, { data: { x: [1] } })).toMatchObject({
      kind: 'returned',
      result: Buffer.from('2.0'),
    });
  });

  test('is not started twice on one socket', async () => {
    await start();
    await expect(startSandboxd({ SANDBOXD_SOCKET: socketPath })).rejects.toThrow(
      'ended with 2: SANDBOXD_SOCKET is held by a running sandboxd',
    );
    expect(await run(SUM, { data: { x: [1] } })).toMatchObject({ kind: 'returned' });
  });
});
