import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { createKey } from '../../src/tenants.ts';
import { ownContainers, ownMemoryMb } from '../fakes/own-containers.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'compute-step-doctor-'));
const tenants = join(folder, 'tenants.json');
writeFileSync(tenants, JSON.stringify({ tenants: [createKey('acme', 10, null).entry] }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Check {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly fix: string;
}

async function doctor(args: readonly string[], env: Record<string, string> = {}) {
  const { DOCKER_HOST } = process.env;
  const child = spawn(process.execPath, ['dist/main.js', 'doctor', ...args], {
    cwd: ROOT,
    timeout: 90_000,
    env: {
      PATH: process.env.PATH ?? '',
      ...(DOCKER_HOST === undefined ? {} : { DOCKER_HOST }),
      TENANTS_FILE: tenants,
      LEDGER_URL: `sqlite:${join(folder, 'ledger.db')}`,
      SANDBOX_POOL_SIZE: '1',
      ...env,
    },
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8');
    child[name].on('data', (text: string) => {
      said[name] += text;
    });
  }
  const [status] = (await once(child, 'close')) as [number | null];
  expect(said.stderr).not.toContain('    at ');
  return { status, ...said };
}

function failed(stdout: string): readonly Check[] {
  return (JSON.parse(stdout) as { checks: Check[] }).checks.filter(({ ok }) => !ok);
}

describe('compute-step doctor', () => {
  test('finds nothing wrong where nothing is, and leaves no container', async () => {
    const memoryMb = ownMemoryMb();
    const { status, stdout } = await doctor([], { SANDBOX_MEMORY_MB: String(memoryMb) });
    expect(stdout).toMatch(/^ok {4}engine +version .+, cgroup v[12], runtime /m);
    expect(stdout).toMatch(/^ok {4}self-test +every check holds/m);
    expect(stdout).toMatch(/^ok {4}pool +1 containers? ready/m);
    expect(stdout).toMatch(/all is well\n$/);
    expect(status).toBe(0);
    expect(ownContainers(memoryMb)).toEqual([]);
  });

  test('says the same to a program', async () => {
    const { status, stdout } = await doctor(['--json'], { SANDBOX_POOL_SIZE: '0' });
    const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] };
    expect(ok).toBe(true);
    expect(checks.map(({ check }) => check)).toEqual([
      ...['engine', 'image', 'self-test', 'prompt pack', 'tenants file', 'ledger', 'clock'],
    ]);
    expect(status).toBe(0);
  });

  test('names a wrong DOCKER_HOST, with the fix, and goes on to the rest', async () => {
    const { status, stdout } = await doctor(['--json'], { DOCKER_HOST: 'unix:///nowhere/engine.sock' });
    expect(status).toBe(1);
    expect(failed(stdout).map(({ check }) => check)).toEqual(['engine', 'image', 'self-test']);
    expect(failed(stdout)[0]?.fix).toContain('DOCKER_HOST');
    expect(stdout).toContain('"tenants file"');
  });

  test('sends whoever has no sandboxd to sandboxd, and never to an engine of its own', async () => {
    const { status, stdout } = await doctor(['--json'], { SANDBOXD_SOCKET: join(folder, 'no.sock') });
    expect(status).toBe(1);
    expect(failed(stdout).map(({ check }) => check)).toEqual(['engine', 'image', 'self-test']);
    expect(failed(stdout)[0]?.fix).toMatch(/^start sandboxd/);
    expect(failed(stdout)[0]?.fix).not.toContain('DOCKER_HOST');
  });

  test('names an image, a runtime, a tenants file and a ledger that are not right', async () => {
    const image = await doctor(['--json'], {
      SANDBOX_IMAGE: 'compute-step-sandbox:none',
      TENANTS_FILE: join(folder, 'x'),
    });
    expect(image.status).toBe(1);
    expect(failed(image.stdout).map(({ check }) => check)).toEqual(['image', 'self-test', 'tenants file']);
    const runtime = await doctor(['--json'], {
      SANDBOX_RUNTIME: 'no-such-runtime',
      LEDGER_URL: `sqlite:${tenants}/ledger.db`,
    });
    expect(failed(runtime.stdout).map(({ check }) => check)).toEqual(['self-test', 'ledger']);
    expect(failed(runtime.stdout)[0]?.detail).toContain('no-such-runtime');
  });

  test('names every bad setting instead of looking at anything', async () => {
    const { status, stdout } = await doctor([], { PORT: 'x', SANDBOX_MEMORY_MB: 'lots' });
    expect(status).toBe(1);
    expect(stdout).toMatch(/^FAIL {2}settings +PORT /m);
    expect(stdout).toMatch(/^FAIL {2}settings +SANDBOX_MEMORY_MB /m);
  });

  test('connects to the default webhook when asked to, under the rules for addresses, and sends it nothing', async () => {
    let received = 0;
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        received += chunk.byteLength;
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const host = `127.0.0.1:${port}`;
    const none = { SANDBOX_POOL_SIZE: '0', MODEL_WEBHOOK_URL: `http://${host}/write` };
    expect(failed((await doctor(['--json', '--model'], none)).stdout)).toMatchObject([
      { check: 'model webhook', fix: expect.stringContaining('MODEL_ALLOWED_HOSTS') },
    ]);
    const allowed = { ...none, MODEL_ALLOWED_HOSTS: host };
    expect((await doctor(['--json'], allowed)).status).toBe(0);
    const reached = await doctor(['--json', '--model'], allowed);
    expect(reached.status).toBe(0);
    expect(reached.stdout).toContain('takes connections');
    await new Promise<void>((resolve) => server.close(() => resolve()));
    expect([connections, received]).toEqual([1, 0]);
    expect(failed((await doctor(['--json', '--model'], allowed)).stdout)).toMatchObject([
      { check: 'model webhook', detail: expect.stringContaining('ECONNREFUSED') },
    ]);
  });

  test('refuses an unknown option', async () => {
    expect((await doctor(['--fix'])).status).toBe(2);
  });
});
