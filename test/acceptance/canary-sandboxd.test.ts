import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCanaries } from '../fakes/canaries.ts';
import { engineTraces } from '../fakes/engine-traces.ts';
import { type BuiltService, type HttpAnswer, startBuiltService } from '../fakes/running-service.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** No other service on this engine has this limit. */
const MEMORY_MB = 137;

const values = createCanaries();
const data = values.dataset();
const compute = (...lines: string[]) =>
  `def compute(data):\n    name = data["records"][0]["name"]\n${lines.map((line) => `    ${line}\n`).join('')}`;

const PATHS: Readonly<Record<string, readonly [code: string, ends: string]>> = {
  'a result of values': [compute('return [name]'), 'succeeded'],
  'an exception that quotes a value': [compute('raise KeyError(name)'), 'exception'],
  'no JSON below a value as key': [compute('return {name: {name}}'), 'result_not_json'],
  'too large': [compute('return name * 10_000'), 'output_too_large'],
  'another type': [compute('return {name: 1}'), 'result_type_mismatch'],
  'out of memory': [compute('return len(name * 40_000_000)'), 'out_of_memory'],
  'not admitted': [`import socket\n${compute('return name')}`, 'code_not_admitted'],
};

let daemon: ChildProcess;
let built: BuiltService;
let folder: string;
const output: Buffer[] = [];
const during: Record<string, Buffer> = {};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'compute-step-daemon-'));
  const socket = join(folder, 'sandboxd.sock');
  const scratch = mkdtempSync(join(folder, 'tmp-'));
  const env = {
    SANDBOXD_SOCKET: socket,
    SANDBOX_MEMORY_MB: String(MEMORY_MB),
    SANDBOX_POOL_SIZE: '1',
    SANDBOX_WALL_SECONDS: '6',
    RESULT_MAX_BYTES: '65536',
    TMPDIR: scratch,
    LOG_LEVEL: 'trace',
  };
  daemon = spawn(process.execPath, ['dist/main.js', 'sandboxd'], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  daemon.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
  daemon.stderr?.on('data', (chunk: Buffer) => output.push(chunk));
  await until(async () => existsSync(socket));
  built = await startBuiltService({
    env,
    answer: ({ user }) =>
      PATHS[Object.keys(PATHS).find((name) => user.includes(name)) ?? '']?.[0] ??
      compute('while name:', '    pass'),
  });
  await built.ready();
});
afterAll(async () => {
  if (daemon.exitCode === null) daemon.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function step(instruction: string): Promise<HttpAnswer> {
  const rest = JSON.stringify({ step: instruction, result_type: 'array' }).slice(1);
  return built.post('/v1/compute', `{"sources":[{"name":"records","result":${data}}],${rest}`);
}

describe('a sandbox in a process of its own', () => {
  it.each(Object.entries(PATHS))('answers nothing of the data but the result: %s', async (name, [, ends]) => {
    const { json, text } = await step(name);
    expect(json.failure?.code ?? json.state).toBe(ends);
    const { result, ...rest } = json;
    expect(values.find(ends === 'succeeded' ? JSON.stringify(rest) : text)).toEqual([]);
    expect(values.find(JSON.stringify(result ?? null)).length).toBe(ends === 'succeeded' ? 1 : 0);
  });

  it('shows none of it to the engine, the disk or the process table while a function holds it', async () => {
    let ended = false;
    const asked = built.model.requests.length;
    const run = step('spin').finally(() => {
      ended = true;
    });
    await until(async () => built.model.requests.length > asked);
    // From here on the function has six seconds; in one it has long begun.
    await new Promise((done) => setTimeout(done, 1_000));
    const { containers, hostReadable, sinks } = engineTraces(MEMORY_MB);
    Object.assign(during, sinks);
    expect(ended).toBe(false);
    expect(containers).toBeGreaterThan(0);
    if (hostReadable) {
      const processes = [daemon.pid, built.service.process.pid].flatMap((pid) =>
        ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${pid}/${name}`)),
      );
      during.services = Buffer.concat(processes);
    }
    expect((await run).json.failure.code).toBe('timeout');
  });

  it('writes none of it into its log, nor serve into its own, nor into any file', async () => {
    const sinks: Record<string, Buffer> = {
      webhook: Buffer.concat(
        built.model.requests.map(({ rawHeaders, body }) =>
          Buffer.concat([Buffer.from(rawHeaders.join(' ')), body]),
        ),
      ),
      serve: Buffer.from(built.log.join('\n')),
      metrics: Buffer.from(await built.metrics()),
      ledger: built.ledgerBytes(),
      ...during,
    };
    expect(await built.stop()).toBe(0);
    const ended = once(daemon, 'exit');
    daemon.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
    sinks.daemon = Buffer.concat(output);
    expect(sinks.daemon.toString('utf8')).toContain('raised');
    expect(sinks.webhook?.toString('utf8')).toContain('by_person');
    const found = Object.entries(sinks).map(([sink, bytes]) => [sink, values.find(bytes)] as const);
    expect(found.filter(([, sightings]) => sightings.length > 0)).toEqual([]);
    const left = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    expect(left.map(({ name }) => name)).toEqual([]);
  });
});

async function until(reached: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; !(await reached()); attempt += 1) {
    if (attempt === 300) throw new Error(`it did not come to that: ${Buffer.concat(output)}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
