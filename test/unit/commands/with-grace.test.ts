import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

const MODULE = new URL('../../../src/commands/with-grace.ts', import.meta.url).href;
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const POLL = { timeout: 25_000 };

let child: ChildProcess;
let said: string;
afterEach(() => {
  child.kill('SIGKILL');
});

/** A process that is ended with grace; `body` makes `starting`, and may use `say` and `later`. */
function begin(body: string, options = '{}'): void {
  const code = `
    import { withGrace } from ${JSON.stringify(MODULE)};
    const say = (word) => process.stdout.write(word + ';');
    const later = (ms) => new Promise((done) => setTimeout(done, ms));
    const starting = (async () => { ${body} })();
    const grace = withGrace(0, starting, ${options});
    say('begun');
    await starting;
    say('started');
    await later(60000);`;
  said = '';
  child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', code], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout?.on('data', (chunk) => {
    said += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    said += chunk;
  });
}

const STARTED = `return { failed: (error) => say('failed ' + error.message), close: async () => say('closed') };`;
const hears = (words: string) => expect.poll(() => said, POLL).toContain(words);

async function ended(): Promise<unknown> {
  return child.exitCode === null && child.signalCode === null
    ? once(child, 'exit')
    : [child.exitCode, child.signalCode];
}

describe('a process that ends with grace', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'closes what it has started at %s, and ends with 0',
    async (signal) => {
      begin(STARTED);
      await hears('started;');
      child.kill(signal);
      expect(await ended()).toEqual([0, null]);
      expect(said).toBe('begun;started;closed;');
    },
  );

  it('heeds a signal during the start when there is something to close', async () => {
    begin(`await later(1000); ${STARTED}`, `{ ending: () => say('ending') }`);
    await hears('begun;');
    child.kill('SIGTERM');
    await hears('ending;');
    expect(await ended()).toEqual([0, null]);
    expect(said).toMatch(/closed;$/);
  });

  it('has nothing to close where the start found faults', async () => {
    begin(`await later(1000); return { faults: ['x'] };`);
    await hears('begun;');
    child.kill('SIGTERM');
    expect(await ended()).toEqual([0, null]);
    expect(said).not.toContain('closed');
  });

  it('ends at once with 1 at the second signal', async () => {
    begin(`return { failed: () => {}, close: async () => { say('closing'); await later(60000); } };`);
    await hears('started;');
    child.kill('SIGTERM');
    await hears('closing;');
    child.kill('SIGTERM');
    expect(await ended()).toEqual([1, null]);
    expect(said).toContain('told twice to end');
  });

  it('tells of an error that nobody caught, closes, and ends with 1', async () => {
    begin(`setTimeout(() => { throw new Error('unexpected'); }, 1000); ${STARTED}`);
    expect(await ended()).toEqual([1, null]);
    expect(said).toBe('begun;started;failed unexpected;closed;');
  });

  it('says why it could not start, and ends with 1', async () => {
    begin(`await later(100); throw new TypeError('no such file');`);
    expect(await ended()).toEqual([1, null]);
    await hears('the start failed: TypeError: no such file\n    at ');
  });

  it('tells of what kept it from closing, and ends with 1', async () => {
    begin(
      `return { failed: (error) => say('failed ' + error.message), close: async () => { throw new Error('stuck'); } };`,
    );
    await hears('started;');
    child.kill('SIGTERM');
    expect(await ended()).toEqual([1, null]);
    await hears('failed stuck;');
  });

  it('goes on at a signal that means something else', async () => {
    begin(`process.on('SIGHUP', () => say('read')); ${STARTED}`, `{ skip: ['SIGHUP'] }`);
    await hears('started;');
    child.kill('SIGHUP');
    await hears('read;');
    child.kill('SIGTERM');
    expect(await ended()).toEqual([0, null]);
    expect(said).toBe('begun;started;read;closed;');
  });
});
