import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

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
