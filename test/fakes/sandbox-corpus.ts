import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { runJob, SECCOMP } from '../integration/harness-container.ts';

const FILES = ['legit.jsonl', 'more-legit.jsonl', 'varied-legit.jsonl'];

/** One honest function, its data and what it must give. */
export interface HonestCase {
  readonly id: string;
  readonly result_type: string;
  readonly data: unknown;
  readonly expect: unknown;
  readonly code: string;
}

/** Every honest function of the corpora. */
export function honestCases(): readonly HonestCase[] {
  return FILES.flatMap((name) =>
    readFileSync(new URL(`../cases/${name}`, import.meta.url), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as HonestCase),
  );
}

/**
 * The profile with another end for a call that it does not list: the process is killed (exit 159) instead of given
 * an error, which Python may get around in silence. A call that is missing cannot stay unnoticed.
 */
export function killingProfile(): string {
  const { defaultErrnoRet: _, ...profile } = JSON.parse(SECCOMP) as Record<string, unknown>;
  return JSON.stringify({ ...profile, defaultAction: 'SCMP_ACT_KILL_PROCESS' });
}

/** Runs each case in a container of its own under a profile, some at a time; answers what went wrong, by id. */
export async function runHonestly(
  cases: readonly HonestCase[],
  seccomp: string,
  atOnce: number,
): Promise<readonly string[]> {
  const wrong: string[] = [];
  const waiting = cases[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const one of waiting) {
      const fault = await faultOf(one, seccomp).catch((error: unknown) => String(error));
      if (fault !== null) {
        wrong.push(`${one.id}: ${fault}`);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return wrong;
}

async function faultOf(one: HonestCase, seccomp: string): Promise<string | null> {
  const options = { detail_max_bytes: 1000, decimal_as_string: one.result_type === 'decimal' };
  const { header, result } = await runJob(one.code, JSON.stringify(one.data), options, seccomp);
  if (header.status !== 'returned') {
    return JSON.stringify(header);
  }
  return isDeepStrictEqual(JSON.parse(result), one.expect) ? null : `gave ${result.slice(0, 200)}`;
}
