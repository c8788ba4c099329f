import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './readme.ts';
import { shell } from './shell.ts';

/** A deployment of a test's own, in a copy of deploy/, on a port and under names of its own. */
export interface Deployment {
  /** The copy of deploy/. */
  readonly folder: string;
  /** What tells it from others on this engine. */
  readonly name: string;
  readonly api: string;
  /** Runs commands of the README there, with 127.0.0.1:8080 replaced by its own address. */
  run(commands: string, env?: Readonly<Record<string, string>>): Promise<string>;
  /** The key in a file that `key create` wrote. */
  key(file?: string): string;
  call(path: string, options?: CallOptions): Promise<Answer>;
  removeFolder(): void;
}

export interface CallOptions {
  readonly key?: string;
  /** Sent as JSON by POST. */
  readonly body?: unknown;
  /** The caller hangs up at it. */
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

/** Longest wait for an answer: a step on a loaded machine, through a stack that is being stopped. */
const ANSWER_MAX_MS = 300_000;

/** Copies deploy/ and chooses a port; starts nothing. */
export async function newDeployment(
  image: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Deployment> {
  const checkout = mkdtempSync(join(tmpdir(), 'compute-step-deploy-'));
  const folder = join(checkout, 'deploy');
  cpSync(join(ROOT, 'deploy'), folder, { recursive: true });
  for (const own of ['.env', 'config', 'secrets', 'pack', 'key.txt']) {
    rmSync(join(folder, own), { recursive: true, force: true });
  }
  const port = await freePort();
  const name = `csdeploy${process.pid}`;
  const address = `127.0.0.1:${port}`;
  const settings = {
    COMPUTE_STEP_IMAGE: image,
    COMPOSE_PROJECT_NAME: name,
    LISTEN: address,
    PUBLISHED_PORT: String(port),
    SANDBOX_POOL_SIZE: '2',
    ...env,
  };
  const key = (file = 'key.txt'): string =>
    /^ {2}(cs_\S+)$/m.exec(readFileSync(join(folder, file), 'utf8'))?.[1] ?? '';
  return {
    folder,
    name,
    api: `http://${address}`,
    run: (commands, more = {}) =>
      shell(commands.replaceAll('127.0.0.1:8080', address).replace(/^cd deploy$/m, ''), {
        cwd: folder,
        env: { ...settings, ...more },
      }),
    key,
    call: async (path, { key: given, body, signal } = {}) => {
      const answer = await fetch(`http://${address}${path}`, {
        headers: { authorization: `Bearer ${given ?? key()}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        signal: signal ?? AbortSignal.timeout(ANSWER_MAX_MS),
      });
      return { status: answer.status, json: await answer.json() };
    },
    removeFolder: () => rmSync(checkout, { recursive: true, force: true }),
  };
}

/** Runs JavaScript in a container by its id and answers what it hands to `answer`, which ends it. There is no shell. */
export async function inContainer(id: string, script: string): Promise<unknown> {
  return JSON.parse(await shell(`docker exec -i ${id} node -`, { cwd: ROOT, input: program(script) }));
}

/** Runs JavaScript in a new container of the image on a network, the same way. */
export async function onNetwork(image: string, network: string, script: string): Promise<unknown> {
  const run = `docker run --rm -i --network ${network} --entrypoint node ${image} -`;
  return JSON.parse(await shell(run, { cwd: ROOT, input: program(script) }));
}

function program(script: string): string {
  return `
    const fs = require('node:fs');
    const net = require('node:net');
    const answer = (value) => process.stdout.write(JSON.stringify(value), () => process.exit(0));
    /** 'open', or the code of what went wrong. */
    const tryConnect = (target) => new Promise((resolve) => {
      const socket = net.connect(target);
      const end = (what) => { socket.destroy(); resolve(what); };
      socket.setTimeout(5000, () => end('timeout'));
      socket.once('connect', () => end('open')).once('error', (error) => end(error.code));
    });
    const tryWrite = (path) => {
      try { fs.writeFileSync(path, ''); fs.rmSync(path); return 'written'; } catch (error) { return error.code; }
    };
    (async () => { ${script} })().catch((error) => { console.error(error); process.exit(1); });
  `;
}

/** What a container's process may do, as the kernel says it. */
export const POWERS = `
  const status = Object.fromEntries(
    fs.readFileSync('/proc/self/status', 'utf8').split('\\n').map((line) => line.split(/:\\s*/)));
  answer({
    uid: process.getuid(), gid: process.getgid(), groups: process.getgroups(),
    capabilities: [status.CapInh, status.CapPrm, status.CapEff, status.CapBnd, status.CapAmb],
    noNewPrivileges: status.NoNewPrivs, seccomp: status.Seccomp,
    root: ['/x', '/app/x', '/usr/bin/x'].map(tryWrite),
    shell: require('node:child_process').spawnSync('/bin/sh').error?.code ?? 'there is one',
    tools: fs.readdirSync('/usr/bin'),
    networks: fs.readdirSync('/sys/class/net'),
    routes: fs.readFileSync('/proc/net/route', 'utf8').split('\\n').filter((line) => /^\\S+\\t00000000/.test(line)).length,
  });
`;

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
