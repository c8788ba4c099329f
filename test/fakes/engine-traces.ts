import { execFileSync, spawn } from 'node:child_process';
import { type Dirent, existsSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';

/** What the engine and the host keep of the containers of one service, told apart by their memory limit. */
export interface EngineTraces {
  /** How many containers were looked at. */
  readonly containers: number;
  /** Whether `disk` and `process` could be looked at: the engine is on this host, and this is root. */
  readonly hostReadable: boolean;
  /** Bytes by where they were found: `inspect`, `disk`, `process`. */
  readonly sinks: Readonly<Record<'inspect' | 'disk' | 'process', Buffer>>;
}

interface Inspected {
  readonly Id: string;
  readonly State: { readonly Pid: number };
  readonly HostConfig: { readonly Memory: number };
  readonly GraphDriver?: { readonly Data?: Readonly<Record<string, string>> | null };
}

/** Files larger than this are read up to it only: what a container may write is bounded far below. */
const FILE_MAX_BYTES = 16 * 1024 * 1024;

/**
 * Looks at all running containers with this memory limit: `docker inspect`, their folders below the engine's root,
 * their writable layer, and the command line and environment of their first process. Needs root for the last three.
 */
export function engineTraces(memoryMb: number): EngineTraces {
  const ids = docker('ps', '-q', '--no-trunc', '--filter', 'label=compute-step').split('\n').filter(Boolean);
  const root = docker('info', '--format', '{{.DockerRootDir}}').trim();
  const found = ids.flatMap(inspect).filter(({ HostConfig }) => HostConfig.Memory === memoryMb * 1024 * 1024);
  const folders = found.flatMap(({ Id, GraphDriver }) => [
    join(root, 'containers', Id),
    ...(GraphDriver?.Data?.UpperDir === undefined ? [] : [GraphDriver.Data.UpperDir]),
  ]);
  const proc = found.flatMap(({ State }) =>
    ['cmdline', 'environ', 'comm'].map((name) => join('/proc', String(State.Pid), name)),
  );
  return {
    containers: found.length,
    hostReadable: process.getuid?.() === 0 && existsSync(join(root, 'containers')),
    sinks: {
      inspect: Buffer.from(JSON.stringify(found)),
      disk: Buffer.concat(folders.flatMap((folder) => filesBelow(folder, 0)).map(readSome)),
      process: Buffer.concat(proc.map(readSome)),
    },
  };
}

/** One container; none if it has gone since it was listed. */
function inspect(id: string): Inspected[] {
  try {
    return JSON.parse(docker('inspect', id)) as Inspected[];
  } catch {
    return [];
  }
}

/** Follows the engine's events until `stop`, which answers all of them. */
export function followEngineEvents(): { stop(): Promise<string> } {
  const child = spawn('docker', ['events', '--format', '{{json .}}'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const closed = new Promise<void>((done) => child.once('close', () => done()));
  return {
    stop: async () => {
      child.kill();
      await closed;
      return Buffer.concat(chunks).toString('utf8');
    },
  };
}

/** The bytes of all files that were changed since `sinceMs` in these folders, down to two levels, by path. */
export function filesChangedSince(sinceMs: number, folders: readonly string[]): ReadonlyMap<string, Buffer> {
  const paths = new Set(folders.flatMap((folder) => filesBelow(folder, 2)));
  const changed = [...paths].filter((path) => (statOf(path)?.mtimeMs ?? 0) >= sinceMs);
  return new Map(changed.map((path) => [path, readSome(path)]));
}

/** Files below a folder; `levels` 0: all levels. Version control and dependencies are not looked into. */
function filesBelow(folder: string, levels: number): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return [path];
    const skipped = !entry.isDirectory() || ['node_modules', '.git'].includes(entry.name) || levels === 1;
    return skipped ? [] : filesBelow(path, Math.max(0, levels - 1));
  });
}

function readSome(path: string): Buffer {
  try {
    return readFileSync(path).subarray(0, FILE_MAX_BYTES);
  } catch {
    // It has gone, or it is not for us.
    return Buffer.alloc(0);
  }
}

function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function docker(...args: string[]): string {
  return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}
