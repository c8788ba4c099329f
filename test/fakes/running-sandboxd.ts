import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { AS_BUILT } from '../../examples/demo/service.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const START_TIMEOUT_MS = 60_000;

/** A built `compute-step sandboxd` in a process of its own. */
export interface RunningSandboxd {
  readonly socketPath: string;
  readonly process: ChildProcess;
  readonly log: readonly string[];
  /** Ids of its containers, running or not. */
  containers(): string[];
  /** SIGTERM, and waits; answers the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL, and waits. Its containers stay: `removeContainers` when nothing is to be learned of them any more. */
  kill(): Promise<void>;
  removeContainers(): void;
}

/** Starts it with the settings over the environment's; `command` goes before node, such as `unshare -n`. */
export async function startSandboxd(
  env: Readonly<Record<string, string>> & { readonly SANDBOXD_SOCKET: string },
  command: readonly string[] = [],
): Promise<RunningSandboxd> {
  const [file = '', ...args] = [...command, process.execPath, ...AS_BUILT, 'sandboxd'];
  const child = spawn(file, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const log: string[] = [];
  const errors: string[] = [];
  createInterface(child.stderr).on('line', (line) => errors.push(line));
  const instance = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('sandboxd did not start in time')), START_TIMEOUT_MS);
    createInterface(child.stdout).on('line', (line) => {
      log.push(line);
      const { event, detail } = JSON.parse(line) as { event?: string; detail?: string };
      if (event === 'instance' && detail !== undefined) {
        clearTimeout(timer);
        resolve(detail);
      }
    });
    exited.then((code) => {
      clearTimeout(timer);
      reject(new Error(`sandboxd ended with ${code}: ${errors.join(' ')}`));
    });
  });
  const containers = (): string[] =>
    execFileSync(
      'docker',
      ['ps', '-aq', '--no-trunc', '--filter', `label=compute-step.instance=${instance}`],
      {
        encoding: 'utf8',
      },
    )
      .split('\n')
      .filter((id) => id !== '');
  return {
    socketPath: env.SANDBOXD_SOCKET,
    process: child,
    log,
    containers,
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    removeContainers: () => {
      for (const id of containers()) {
        execFileSync('docker', ['rm', '-f', id]);
      }
    },
  };
}
