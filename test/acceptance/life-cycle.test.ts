import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openLedger } from '../../src/metering/open-ledger.ts';
import { ownContainers, ownMemoryMb, removeContainers } from '../fakes/own-containers.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';
import type { ScriptedAnswer } from '../fakes/scripted-model.ts';

const RETURN = 'def compute(data):\n    return 42\n';
const SPIN = 'def compute(data):\n    while True:\n        pass\n';
/** A second or more. */
const COUNT = 'def compute(data):\n    n = 0\n    while n < 20000000:\n        n += 1\n    return n\n';
const memoryMb = 200 + ownMemoryMb();
/** Longer than a slow machine needs for anything that is to end by itself. */
const LONG = '100';
const POLL = { timeout: 60_000, interval: 100 };

let folder: string;
let ledgerPath: string;
let built: BuiltService;
let sockets: Socket[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'compute-step-life-'));
  ledgerPath = join(folder, 'ledger.db');
  sockets = [];
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  built.service.process.kill('SIGKILL');
  await built.stop();
  removeContainers(ownContainers(memoryMb));
  rmSync(folder, { recursive: true, force: true });
});

async function start(
  graceSeconds: string,
  answer: () => ScriptedAnswer | Promise<ScriptedAnswer> = () => RETURN,
): Promise<void> {
  built = await startBuiltService({
    env: {
      LEDGER_URL: `sqlite:${ledgerPath}`,
      SANDBOX_WALL_SECONDS: LONG,
      SANDBOX_MEMORY_MB: String(memoryMb),
      SANDBOX_POOL_SIZE: '1',
      SANDBOX_MAX_CONCURRENCY: '1',
      SHUTDOWN_GRACE_SECONDS: graceSeconds,
    },
    answer,
  });
}

const step = () => built.post('/v1/compute', { step: 'x', sources: [{ result: 1 }] });
const run = (code: string) => built.post('/v1/compute/run', { code, sources: [{ result: 1 }] });

function tell(signal: NodeJS.Signals): Promise<unknown> {
  const exited = once(built.service.process, 'exit');
  built.service.process.kill(signal);
  return exited;
}

function journal(): Record<string, unknown>[] {
  const db = new Database(ledgerPath, { timeout: 1000 });
  try {
    return db.prepare('select state, outcome from journal').all([]) as Record<string, unknown>[];
  } finally {
    db.close();
  }
}

const started = () => expect.poll(() => journal().map(({ state }) => state), POLL).toContain('started');
const stopping = () =>
  expect.poll(async () => (await built.get('/readyz')).text, POLL).toContain('"status":"stopping"');

/** The exit, the ledger and the engine after an end that was asked for. */
async function expectEnd(exited: Promise<unknown>, rows: readonly object[]): Promise<void> {
  expect(await exited).toEqual([0, null]);
  expect(journal()).toEqual(rows);
  const ledger = openLedger({ kind: 'sqlite', path: ledgerPath }, { clock: systemClock });
  expect(await ledger.verify()).toEqual([]);
  await ledger.close();
  expect(ownContainers(memoryMb)).toEqual([]);
}

const RELEASED = { state: 'released', outcome: null };
const settled = (outcome: string) => ({ state: 'settled', outcome });

/** A connection of its own, and all that comes on it until it is closed. */
function raw(bytes: string): { readonly socket: Socket; readonly all: Promise<string> } {
  const { hostname, port } = new URL(built.service.api);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  socket.write(bytes);
  return { socket, all: once(socket, 'close').then(() => text) };
}

/** Head and first half of a run's request; the rest comes with what is answered. */
function halfSent() {
  const body = JSON.stringify({ code: RETURN, sources: [{ result: 1 }] });
  const head = `POST /v1/compute/run HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${built.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const { socket, all } = raw(head + body.slice(0, 20));
  return { all, sendRest: () => socket.write(body.slice(20)) };
}

describe('a service that is told to end', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s while idle does so, whoever holds a connection',
    async (signal) => {
      await start(LONG);
      await built.ready();
      await step();
      const idle = raw('');
      const slow = raw('GET /healthz HTTP/1.1\r\nhost: x\r\n');
      await sleep(300);
      await expectEnd(tell(signal), [settled('succeeded')]);
      expect([await idle.all, await slow.all]).toEqual(['', '']);
    },
  );

  it('during its self-test removes what it has begun', async () => {
    await start(LONG);
    await expectEnd(tell('SIGTERM'), []);
    expect(built.log.join('\n')).not.toContain('container_start');
  });

  it('answers what it has, refuses what comes, and is not ready meanwhile', async () => {
    let answer = (_: string): void => {};
    const written = new Promise<string>((resolve) => {
      answer = resolve;
    });
    await start(LONG, () => written);
    await built.ready();
    const waiting = step();
    await expect.poll(() => built.model.requests.length, POLL).toBe(1);
    const sending = halfSent();
    await expect
      .poll(async () => (await built.metrics()).match(/permits_open \d+/)?.[0], POLL)
      .toBe('permits_open 1');
    const exited = tell('SIGTERM');
    await stopping();
    expect((await built.get('/healthz')).status).toBe(200);
    const late = await step();
    expect(late.status).toBe(503);
    expect(late.json).toMatchObject({ code: 'overloaded', retryable: true, retry_after_seconds: 5 });
    expect(late.json.detail).toContain('stopping');
    expect(late.headers.get('retry-after')).toBe('5');
    expect(late.headers.get('connection')).toBe('close');
    sending.sendRest();
    expect(await sending.all).toContain('"state":"succeeded"');
    answer(RETURN);
    expect((await waiting).json).toMatchObject({ state: 'succeeded', result: 42 });
    await expectEnd(exited, [settled('succeeded'), settled('succeeded')]);
    expect(built.model.requests).toHaveLength(1);
  });

  it('lets a run end within its grace, and counts it', async () => {
    await start(LONG);
    await built.ready();
    const running = run(COUNT);
    await started();
    const exited = tell('SIGTERM');
    expect((await running).json).toMatchObject({ state: 'succeeded', result: 20000000 });
    await expectEnd(exited, [settled('succeeded')]);
  });

  it('kills a run that outlasts its grace and counts it; what waits for a place gets its function back', async () => {
    await start('1', () => RETURN);
    await built.ready();
    const running = run(SPIN);
    await started();
    const queued = step();
    await expect
      .poll(async () => (await built.metrics()).match(/queue_depth \d+/)?.[0], POLL)
      .toBe('queue_depth 1');
    const exited = tell('SIGTERM');
    const killed = await running;
    expect(killed.status).toBe(200);
    expect(killed.json).toMatchObject({
      state: 'failed',
      failure: { code: 'cancelled', retryable: true },
      metered: { compute_runs: 1 },
    });
    const refused = await queued;
    expect(refused.status).toBe(503);
    expect(refused.json).toMatchObject({
      code: 'overloaded',
      retry_after_seconds: 5,
      code_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      function: { code: RETURN },
    });
    await expectEnd(exited, [settled('cancelled'), RELEASED]);
  });

  it('ends what still waits for a model or for its body when the grace is over, and counts nothing', async () => {
    await start('1', () => ({ hang: true }));
    await built.ready();
    const waiting = step();
    await expect.poll(() => built.model.requests.length, POLL).toBe(1);
    const sending = halfSent();
    await sleep(300);
    const exited = tell('SIGTERM');
    const ended = await waiting;
    expect(ended.status).toBe(503);
    expect(ended.json).toMatchObject({ code: 'overloaded', retry_after_seconds: 5 });
    expect(ended.json.detail).toContain('before anything was run or counted');
    expect(await sending.all).toMatch(/^HTTP\/1.1 503 .*"code":"overloaded"/s);
    await expectEnd(exited, [RELEASED]);
  });

  it('twice does so at once; its containers end by themselves, and the next start settles its runs', async () => {
    await start(LONG);
    await built.ready();
    const running = run(SPIN).catch(() => 'no answer');
    await started();
    const exited = tell('SIGTERM');
    await stopping();
    built.service.process.kill('SIGTERM');
    expect(await exited).toEqual([1, null]);
    expect(await running).toBe('no answer');
    expect(journal()).toEqual([{ state: 'started', outcome: null }]);
    await expect.poll(() => ownContainers(memoryMb).filter((one) => one.running), POLL).toHaveLength(1);
    removeContainers(ownContainers(memoryMb));
    await built.stop();
    await start(LONG);
    await built.ready();
    const { json: usage } = await built.get('/v1/usage');
    expect(usage).toMatchObject({ open_permits: 0, outcomes: { sandbox_lost: 1 } });
    await expectEnd(tell('SIGTERM'), [settled('sandbox_lost')]);
  });
});

describe('a service that is told to read its tenants again', () => {
  it('goes on', async () => {
    await start(LONG);
    built.service.process.kill('SIGHUP');
    await expect
      .poll(() => built.log.filter((line) => line.includes('"tenants_loaded"')).length, POLL)
      .toBe(2);
    await built.ready();
    expect((await run(RETURN)).json.state).toBe('succeeded');
    await expectEnd(tell('SIGTERM'), [settled('succeeded')]);
  });
});
