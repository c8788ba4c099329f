import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Seconds where there is a processor; an emulated machine needs minutes. */
const START_TIMEOUT_MS = 300_000;

/** A running `compute-step serve`: its two addresses, and its end. */
export interface RunningService {
  readonly api: string;
  readonly metrics: string;
  readonly process: ChildProcess;
  /** SIGTERM, and waits: the service lets running steps end and removes its containers. */
  stop(): Promise<number | null>;
}

/** How node runs the command: from the sources, or as it was built. */
export const FROM_SOURCE = ['--import', 'tsx', 'src/main.ts'];
export const AS_BUILT = ['dist/main.js'];

/**
 * Starts `compute-step serve` in a process of its own; `onLog` gets every line of its log. `apart`: in a group of its
 * own, so that a Ctrl-C on the terminal does not reach it besides `stop`, as the second signal ends it at once.
 */
export async function startService(
  env: Readonly<Record<string, string>>,
  onLog: (line: string) => void = () => {},
  command: readonly string[] = FROM_SOURCE,
  { apart = false }: { readonly apart?: boolean } = {},
): Promise<RunningService> {
  const child = spawn(process.execPath, [...command, 'serve'], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: apart,
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const found = new Map<string, string>();
  const errors: string[] = [];
  const listening = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the service did not start in time')), START_TIMEOUT_MS);
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      act();
    };
    eachLine(child.stdout, (line) => {
      onLog(line);
      const { event, detail } = JSON.parse(line) as { event?: string; detail?: string };
      if ((event === 'listening' || event === 'metrics_listening') && detail !== undefined) {
        found.set(event, detail);
      }
      if (found.size === 2) {
        settle(resolve);
      }
    });
    eachLine(child.stderr, (line) => errors.push(line));
    exited.then((code) =>
      settle(() => reject(new Error(`the service ended with ${code}: ${errors.join(' ')}`))),
    );
  });
  try {
    await listening;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return {
    api: found.get('listening') as string,
    metrics: `${found.get('metrics_listening')}/metrics`,
    process: child,
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

function eachLine(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    lines.filter((line) => line !== '').forEach(onLine);
  });
}
