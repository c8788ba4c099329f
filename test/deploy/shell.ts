import { spawn } from 'node:child_process';

/** Builds and stops on a loaded machine take minutes; what takes longer hangs. */
const COMMAND_MAX_MS = 900_000;
/** More than any command here says; the rest is dropped. */
const OUTPUT_MAX_BYTES = 4 * 1024 * 1024;

export interface ShellOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** Runs a shell text to its end and answers its standard output. Throws with the end of both outputs where it fails. */
export function shell(text: string, options: ShellOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-euo', 'pipefail', '-c', text], {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      timeout: COMMAND_MAX_MS,
    });
    let output = '';
    let all = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output = `${output}${chunk}`.slice(0, OUTPUT_MAX_BYTES);
      all = `${all}${chunk}`.slice(-2000);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      all = `${all}${chunk}`.slice(-2000);
    });
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve(output) : reject(new Error(`ended with ${code}: ${text}\n${all}`)),
    );
  });
}

/** Asks until the answer is wanted, a second apart; fails with what was last heard after `maxMs`. */
export async function eventually<T>(
  ask: () => Promise<T>,
  wanted: (answer: T) => boolean,
  maxMs = 180_000,
): Promise<T> {
  const until = Date.now() + maxMs;
  for (;;) {
    let last: unknown;
    try {
      const answer = await ask();
      if (wanted(answer)) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    if (Date.now() > until) {
      throw new Error(`not in time; at last: ${last instanceof Error ? last.message : JSON.stringify(last)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
