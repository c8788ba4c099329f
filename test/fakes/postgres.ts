import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** A PostgreSQL server of a test's own: a new cluster in a temporary folder, on a Unix socket there. */
export interface PostgresServer {
  /** The folder of its socket. */
  readonly socketFolder: string;
  /** URL of a database of it, with the socket as host. */
  url(database?: string): string;
  start(): Promise<void>;
  /** Ends it as a crash does (SIGQUIT: no checkpoint, connections cut); `start` brings it back. */
  crash(): Promise<void>;
  /** Ends it and removes the folder. */
  remove(): Promise<void>;
}

const USER = 'ledger';
const START_MAX_MS = 60_000;

/** Makes a cluster and starts it. Installs nothing: without the programs it throws, and says what to install. */
export async function startPostgres(folder = newFolder()): Promise<PostgresServer> {
  const bin = programs();
  const owner = clusterOwner();
  const data = join(folder, 'data');
  mkdirSync(folder, { recursive: true });
  chownSync(folder, owner.uid, owner.gid);
  // The server syncs every commit as in production; only making the cluster need not survive a power cut.
  const initdb = ['-D', data, '-U', USER, '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C'];
  execFileSync(join(bin, 'initdb'), initdb, { ...owner, stdio: 'ignore' });
  let server: ChildProcess | null = null;

  const url = (database = 'postgres') => `postgres://${USER}@/${database}?host=${encodeURIComponent(folder)}`;

  async function start(): Promise<void> {
    const args = ['-D', data, '-k', folder, '-c', 'listen_addresses=', '-c', 'max_connections=300'];
    server = spawn(join(bin, 'postgres'), [...args, '-c', 'shared_buffers=32MB'], {
      ...owner,
      cwd: folder,
      detached: true,
      stdio: 'ignore',
    });
    server.unref();
    await answers(url(), server);
  }

  await start();
  return {
    socketFolder: folder,
    url,
    start,
    crash: () => end(server, 'SIGQUIT'),
    async remove() {
      await end(server, 'SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Ends the server that runs on a folder, whoever started it, and removes the folder. */
export async function removePostgres(folder: string): Promise<void> {
  const pidFile = join(folder, 'data', 'postmaster.pid');
  if (existsSync(pidFile)) {
    process.kill(Number(readFileSync(pidFile, 'utf8').split('\n', 1)[0]), 'SIGQUIT');
    for (let waited = 0; existsSync(pidFile) && waited < 200; waited += 1) await sleep(50);
  }
  rmSync(folder, { recursive: true, force: true });
}

/** A temporary folder that the server's user may enter. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pg-'));
  chmodSync(folder, 0o755);
  return folder;
}

function programs(): string {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions
    .map((version) => join(root, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')));
  if (found === undefined) {
    throw new Error(
      'PostgreSQL is missing for these tests: run `bash test/postgres.sh`, or install postgresql',
    );
  }
  return found;
}

/** The server refuses to run as root. */
function clusterOwner(): { readonly uid: number; readonly gid: number } {
  const uid = process.getuid?.() ?? 0;
  if (uid !== 0) return { uid, gid: process.getgid?.() ?? 0 };
  const [, , user = '65534', group = '65534'] =
    /^postgres:([^:]*):(\d+):(\d+)/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? [];
  return { uid: Number(user), gid: Number(group) };
}

async function answers(url: string, server: ChildProcess): Promise<void> {
  for (let waited = 0; waited < START_MAX_MS; waited += 50) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode} at its start`);
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      return;
    } catch {
      await sleep(50);
    }
  }
  throw new Error('PostgreSQL did not answer in time');
}

async function end(server: ChildProcess | null, signal: NodeJS.Signals): Promise<void> {
  if (server === null || server.exitCode !== null || server.signalCode !== null) return;
  const gone = new Promise((resolve) => server.once('exit', resolve));
  server.ref();
  server.kill(signal);
  await gone;
}
