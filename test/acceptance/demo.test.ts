import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { processesWith } from '../fakes/processes.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

it('shows three steps, their outcomes and the usage, in plain text in a pipe', async () => {
  const { stdout, stderr } = await promisify(execFile)('npm', ['run', '--silent', 'demo'], { cwd: ROOT });
  expect(stderr).toBe('');
  expect(stdout).not.toContain('\u001b[');
  expect(stdout.match(/^schema /gm)).toHaveLength(3);
  expect(stdout.match(/def compute\(data\):/g)).toHaveLength(3);
  expect([...stdout.matchAll(/^state +(\w+)$/gm)].map(([, state]) => state)).toEqual([
    'succeeded',
    'not_admitted',
    'failed',
  ]);
  expect(stdout).toMatch(/^rule +import: socket, line 1$/m);
  expect(stdout).toMatch(/^failure +exception: ZeroDivisionError, line 7$/m);
  expect(stdout).toMatch(/^compute_runs +\{"used":2,"limit":1000,"remaining":998\}$/m);
});

it.each([
  ['npm is told to end', 'SIGTERM', 1],
  ['the terminal sends Ctrl-C to all of it', 'SIGINT', -1],
] as const)('keeps its service until %s, and leaves nothing then', async (_name, signal, whom) => {
  const child = spawn('npm', ['run', '--silent', 'demo', '--', '--keep'], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = child.pid as number;
  let said = '';
  let folder = '';
  onTestFinished(() => {
    for (const left of [-pid, ...(folder === '' ? [] : processesWith(folder))]) {
      try {
        process.kill(left, 'SIGKILL');
      } catch {}
    }
    if (folder !== '') rmSync(folder, { recursive: true, force: true });
  });
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  const end = /^Description: (\S+)\/docs .*Files: (\S+)$/m;
  await expect.poll(() => said, { timeout: 100_000 }).toMatch(end);
  const [, url = ''] = end.exec(said) ?? [];
  folder = end.exec(said)?.[2] ?? '';
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect(processesWith(folder).length).toBeGreaterThan(0);
  const exited = once(child, 'exit');
  process.kill(whom * pid, signal);
  await exited;
  await expect.poll(() => processesWith(folder), { timeout: 60_000 }).toEqual([]);
  await expect.poll(() => existsSync(folder), { timeout: 60_000 }).toBe(false);
});
