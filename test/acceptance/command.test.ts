import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { SETTINGS } from '../../src/config.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'compute-step-command-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function command(args: readonly string[], env: Record<string, string> = {}) {
  return spawnSync(process.execPath, ['dist/main.js', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 60_000,
    env: { PATH: process.env.PATH ?? '', ...env },
  });
}

describe('compute-step', () => {
  it('prints the settings table with every setting', () => {
    const { status, stdout } = command(['serve', '--help']);
    expect(status).toBe(0);
    for (const name of Object.keys(SETTINGS)) {
      expect(stdout).toContain(name);
    }
  });

  it.each([
    ['serve', 'PORT'],
    ['sandboxd', 'SANDBOXD_SOCKET'],
    ['doctor', '--json'],
    ['key create', '--seconds'],
    ['key', '--seconds'],
    ['usage export', '--month'],
    ['usage', '--month'],
    ['model', '--script'],
  ])('prints the help of %s, and no other', (name, option) => {
    for (const flag of ['--help', '-h']) {
      const { status, stdout, stderr } = command([...name.split(' '), flag]);
      expect([status, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(new RegExp(`^compute-step ${name}`));
      expect(stdout).toContain(option);
      expect(stdout.match(/^compute-step /gm)).toHaveLength(1);
    }
  });

  it('prints the help of all, and that of a command whose options are wrong', () => {
    const { status, stdout } = command(['--help']);
    expect(status).toBe(0);
    for (const word of ['serve', 'sandboxd', 'doctor', 'key create', 'usage export', 'model', '--script']) {
      expect(stdout).toContain(word);
    }
    for (const name of ['doctor', 'key create', 'usage export', 'model']) {
      const wrong = command([...name.split(' '), '--wrong']);
      expect(wrong.status).toBe(2);
      expect(wrong.stderr).toContain('--wrong');
      expect(wrong.stderr).toMatch(new RegExp(`^compute-step ${name} `, 'm'));
    }
  });

  it('makes a key whose digest is in the entry, and shows it once', () => {
    const { status, stdout } = command([
      'key',
      'create',
      '--tenant',
      'acme',
      '--runs',
      '1000',
      '--seconds',
      'unlimited',
    ]);
    expect(status).toBe(0);
    const key = /cs_[\w-]{43}/.exec(stdout)?.[0] ?? '';
    const entry = JSON.parse(stdout.slice(stdout.indexOf('{')));
    expect(entry).toEqual({
      id: 'acme',
      key_sha256: [createHash('sha256').update(key).digest('hex')],
      quotas: { compute_runs: 1000, compute_seconds: null },
    });
  });

  it('names every fault of a key command', () => {
    const { status, stderr } = command(['key', 'create', '--tenant', 'Bad Name', '--runs', 'many']);
    expect(status).toBe(2);
    expect(stderr).toContain('--tenant');
    expect(stderr).toContain('--runs');
    expect(stderr).toContain('--seconds');
  });

  it('stops with every faulty setting named, and no value of a secret', () => {
    const { status, stderr, stdout } = command(['serve'], {
      PORT: '99999',
      LEDGER_URL: 'mysql://x',
      SANDBOX_MEMORY_MB: 'lots',
      MODEL_SIGNING_SECRET: 'hunter2',
      MODEL_WEBHOOK_URL: 'ftp://models.example.com',
      SANDBOXD_SOCKET: 'run/x.sock',
    });
    expect(status).toBe(2);
    expect(stdout).toBe('');
    for (const name of [
      'PORT',
      'LEDGER_URL',
      'SANDBOX_MEMORY_MB',
      'MODEL_SIGNING_SECRET',
      'MODEL_WEBHOOK_URL',
      'TENANTS_FILE',
      'SANDBOXD_SOCKET',
    ]) {
      expect(stderr, name).toMatch(new RegExp(`^${name} `, 'm'));
    }
    expect(stderr).not.toContain('hunter2');
    expect(stderr).not.toContain('    at ');
  });

  it('stops with every fault of the tenants file named', () => {
    const file = join(folder, 'tenants.json');
    writeFileSync(
      file,
      JSON.stringify({
        tenants: [
          { id: 'acme', key_sha256: ['short'] },
          { id: 'b', key_sha256: [], quotas: { compute_runs: 1 } },
        ],
      }),
    );
    const { status, stderr } = command(['serve'], { TENANTS_FILE: file });
    expect(status).toBe(2);
    for (const field of [
      'tenants[0].key_sha256[0]',
      'tenants[0].quotas',
      'tenants[1].key_sha256',
      'tenants[1].quotas.compute_seconds',
    ]) {
      expect(stderr).toContain(field);
    }
    writeFileSync(file, '{');
    expect(command(['serve'], { TENANTS_FILE: file }).stderr).toContain('TENANTS_FILE is not valid JSON');
    expect(command(['serve'], { TENANTS_FILE: join(folder, 'none') }).stderr).toContain(
      'TENANTS_FILE cannot be read (ENOENT): check the path and its permissions',
    );
  });

  it('serves a scripted model until it is told to stop, and names its faults', async () => {
    const script = join(folder, 'answers.json');
    writeFileSync(script, JSON.stringify([{ when: 'sum', replies: ['def compute(data):\n    return 1\n'] }]));
    const child = spawn(process.execPath, ['dist/main.js', 'model', '--script', script, '--port', '0'], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    const [first] = (await once(child.stdout, 'data')) as [Buffer];
    const url = /^listening (http:\/\/127\.0\.0\.1:\d+\/write)$/m.exec(first.toString())?.[1] ?? '';
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ user: 'the sum' }) });
    expect(await answer.json()).toEqual({ code: 'def compute(data):\n    return 1\n' });
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    const { status, stderr } = command(['model', '--script', join(folder, 'none'), '--port', 'x']);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^--port must be/m);
    expect(stderr).toMatch(/^--script cannot be read/m);
  });

  it('names no wildcard as the host to allow for a scripted model on every address', async () => {
    const script = join(folder, 'answers.json');
    writeFileSync(script, JSON.stringify([{ when: 'sum', replies: ['x'] }]));
    const args = ['dist/main.js', 'model', '--script', script, '--host', '0.0.0.0'];
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    const [first] = (await once(child.stdout, 'data')) as [Buffer];
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    expect(first.toString()).toMatch(/MODEL_ALLOWED_HOSTS=<address or name of this machine>:\d+$/m);
  });

  it('names an address that cannot be listened on, and the setting', async () => {
    const held = createServer();
    await new Promise<void>((resolve) => held.listen(0, '127.0.0.1', resolve));
    const { port } = held.address() as { port: number };
    const file = join(folder, 'good.json');
    const { stdout } = command(['key', 'create', '--tenant', 'acme', '--runs', '1', '--seconds', '1']);
    writeFileSync(file, JSON.stringify({ tenants: [JSON.parse(stdout.slice(stdout.indexOf('{')))] }));
    const env = {
      TENANTS_FILE: file,
      LEDGER_URL: `sqlite:${join(folder, 'ledger.db')}`,
      DOCKER_HOST: process.env.DOCKER_HOST ?? '',
      METRICS_PORT: '0',
      PORT: String(port),
    };
    const { status, stdout: log, stderr } = command(['serve'], env);
    held.close();
    expect(status).toBe(2);
    // What it had begun to start was called off: no start has failed.
    expect(log).not.toContain('container_start');
    expect(stderr).toContain(`127.0.0.1:${port} is in use`);
    expect(stderr).not.toContain('    at ');
    expect(command(['serve'], { ...env, HOST: 'no-such-host.invalid' }).stderr).toBe(
      'no-such-host.invalid is not an address of this machine: choose another HOST or METRICS_HOST\n',
    );
  });

  it('refuses an unknown command', () => {
    expect(command(['run']).status).toBe(2);
    expect(command([]).status).toBe(0);
  });
});
