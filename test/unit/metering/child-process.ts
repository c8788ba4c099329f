import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface LedgerChild {
  /** Sends a command and waits for its answer. */
  ask(command: Record<string, unknown>): Promise<unknown>;
  /** Ends the process as a crash does (SIGKILL), and waits until it is gone. */
  kill(): Promise<void>;
  readonly process: ChildProcess;
}

/** Starts a process of its own on a ledger and waits until it has recovered the ledger. */
export async function startChild(
  url: string,
  prefix: string,
  options: SpawnOptions = {},
  leaseMs = 30_000,
): Promise<LedgerChild> {
  const script = fileURLToPath(new URL('./children/ledger-child.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', script, url, prefix, String(leaseMs)], {
    ...options,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('no pipes');
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  async function next(): Promise<unknown> {
    const { value, done } = await lines.next();
    if (done) throw new Error('the child process ended');
    return JSON.parse(value);
  }
  await next();
  return {
    process: child,
    ask(command) {
      stdin.write(`${JSON.stringify(command)}\n`);
      return next();
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
