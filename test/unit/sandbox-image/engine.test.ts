import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { SANDBOX_IMAGE_FOLDER } from '../../../src/sandbox/image.ts';

const SCRIPT = `${SANDBOX_IMAGE_FOLDER}engine.sh`;
const servers: Server[] = [];
const folders: string[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Runs the script with DOCKER_HOST; answers its exit code and everything it said. */
function engine(dockerHost: string): Promise<{ code: number | null; said: string }> {
  const { PATH } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn('bash', [SCRIPT], { env: { PATH, DOCKER_HOST: dockerHost } });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk;
    });
    child.once('error', reject).once('close', (code) => resolve({ code, said }));
  });
}

function listen(server: Server, path?: string): Promise<number> {
  servers.push(server);
  return new Promise((resolve) => {
    const heard = () => resolve(path === undefined ? (server.address() as AddressInfo).port : 0);
    if (path === undefined) server.listen(0, '127.0.0.1', heard);
    else server.listen(path, heard);
  });
}

/** Answers as an engine does to the one question it is asked. */
const fakeEngine = (asked: string[] = [], status = 200) =>
  createHttpServer((request, reply) => {
    asked.push(`${request.method} ${request.url}`);
    reply.writeHead(status).end('OK');
  });

test('an engine that answers at a TCP address is taken, without a word, and only asked whether it answers', async () => {
  const asked: string[] = [];
  const port = await listen(fakeEngine(asked));
  expect(await engine(`tcp://127.0.0.1:${port}`)).toEqual({ code: 0, said: '' });
  expect(asked).toEqual(['GET /_ping']);
});

test('an engine that answers at a Unix socket is taken', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'engine-'));
  folders.push(folder);
  await listen(fakeEngine(), join(folder, 'docker.sock'));
  expect(await engine(`unix://${folder}/docker.sock`)).toEqual({ code: 0, said: '' });
});

test.each(['tcp://127.0.0.1:1', 'unix:///nowhere/docker.sock', 'nonsense'])(
  'a DOCKER_HOST where nobody answers is an error of one line, and no other engine is taken: %s',
  async (host) => {
    const { code, said } = await engine(host);
    expect(code).toBe(1);
    expect(said).toMatch(/^engine: .*DOCKER_HOST.*\n$/);
  },
);

test('a server that answers with an error is no engine', async () => {
  const port = await listen(fakeEngine([], 500));
  expect((await engine(`tcp://127.0.0.1:${port}`)).code).toBe(1);
});

test('a server that takes the connection and says nothing does not hold the script', async () => {
  const port = await listen(createServer(() => undefined));
  const { code, said } = await engine(`tcp://127.0.0.1:${port}`);
  expect(code).toBe(1);
  expect(said.trim().split('\n')).toHaveLength(1);
});
