import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { createKey } from '../../src/tenants.ts';
import { processesWith } from '../fakes/processes.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

// npm passes a signal on to its shell alone: a service below that shell went on, and held port and ledger.
it('ends the service with the npm that started it', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'compute-step-start-'));
  onTestFinished(() => {
    for (const pid of processesWith(scratch)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
    rmSync(scratch, { recursive: true, force: true });
  });
  // A copy: it builds, and other tests run what is built.
  for (const part of ['src', 'sandbox-image', 'package.json', 'tsconfig.json', 'tsconfig.build.json']) {
    cpSync(join(ROOT, part), join(scratch, part), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(scratch, 'node_modules'), 'dir');
  writeFileSync(
    join(scratch, 'tenants.json'),
    JSON.stringify({ tenants: [createKey('acme', 1, null).entry] }),
  );
  const npm = spawn('npm', ['start'], {
    cwd: scratch,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      PORT: '0',
      METRICS_PORT: '0',
      TENANTS_FILE: join(scratch, 'tenants.json'),
      LEDGER_URL: `sqlite:${join(scratch, 'ledger.db')}`,
      // Starting and ending takes no engine, and so makes no container.
      DOCKER_HOST: `unix://${join(scratch, 'none.sock')}`,
    },
  });
  let said = '';
  npm.stdout.on('data', (chunk) => {
    said += chunk;
  });
  await expect.poll(() => said, { timeout: 100_000 }).toMatch(/"event":"metrics_listening"/);
  const exited = once(npm, 'exit');
  npm.kill('SIGTERM');
  await exited;
  await expect.poll(() => processesWith(scratch), { timeout: 60_000 }).toEqual([]);
  await expect.poll(() => said, { timeout: 10_000 }).toContain('"event":"stopped"');
});
