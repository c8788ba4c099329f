import type { RunLimits, RunReport, Sandbox } from '../../src/sandbox/port.ts';
import { compute, escaped } from '../fakes/python-functions.ts';
import { dataOf, fakePermit, LIMITS, unadmitted } from '../fakes/sandbox-run.ts';
import { type Case, holds, inWords } from './report.ts';

interface Outcome {
  readonly name: string;
  readonly code: string;
  readonly expected: object;
  readonly data?: unknown;
  readonly limits?: Partial<RunLimits>;
}

const text = (result: unknown): string => (result as Buffer).toString();
const returns = (json: string) => ({ kind: 'returned', result: (result: unknown) => text(result) === json });
const killed = (reason: string, more: object = {}) => ({ kind: 'killed', reason, ...more });
const SPIN = ['while True:', '    pass'];
/** For functions that end by themselves: an emulated machine takes half a minute to fill the memory. */
export const WALL_SECONDS = 120;
/** A start that an overloaded machine did not finish in time is tried again; what is tried here comes after it. */
const START_TRIES = 10;
const START_PAUSE_MS = 5000;
const SHORT: Partial<RunLimits> = { wallMs: 2000 };

/** What each kind of function must come to, admission aside. */
const OUTCOMES: readonly Outcome[] = [
  {
    name: 'a result has its digits',
    code: compute('return [data["n"], 2**70, 0.1]'),
    data: { n: 9007199254740991 },
    expected: returns('[9007199254740991,1180591620717411303424,0.1]'),
  },
  {
    name: 'megabytes come in by stdin',
    code: compute('return sum(len(row) for row in data)'),
    data: Array.from({ length: 4000 }, () => 'x'.repeat(1000)),
    expected: returns('4000000'),
  },
  {
    name: 'megabytes go out',
    code: compute('return "x" * 900_000'),
    expected: { kind: 'returned', result: (result: unknown) => text(result).length === 900_002 },
  },
  {
    name: 'an exception has its class and line',
    code: compute('total = 0', 'return data["missing"]'),
    expected: { kind: 'raised', exception: 'KeyError', line: 3 },
  },
  {
    name: 'a set is no JSON',
    code: compute('return {"a": [1, {2}]}'),
    expected: { kind: 'notJson', notJson: { pythonType: 'set' } },
  },
  {
    name: 'too large a result is cut off',
    code: compute('return "x" * 2000'),
    limits: { resultMaxBytes: 1000 },
    expected: killed('output_too_large'),
  },
  { name: 'a loop ends at its limit', code: compute(...SPIN), limits: SHORT, expected: killed('timeout') },
  {
    name: 'a sleeper ends at its limit',
    code: escaped('found["time"].sleep(1000)'),
    limits: SHORT,
    expected: killed('timeout'),
  },
  {
    name: 'a loop inside C code ends at its limit',
    code: compute('return sum(range(10**12))'),
    limits: SHORT,
    expected: killed('timeout'),
  },
  {
    name: 'too much memory at once is out of memory',
    code: compute('return len(bytearray(10**9))'),
    expected: killed('out_of_memory', { usage: { exitCode: 137 } }),
  },
  {
    name: 'too much memory bit by bit is out of memory',
    code: compute('return len([str(i) * 1000 for i in range(10**9)])'),
    expected: killed('out_of_memory', { usage: { exitCode: 137 } }),
  },
  {
    name: 'memory within the limit is fine',
    code: compute('return len(bytearray(70_000_000))'),
    expected: returns('70000000'),
  },
  {
    name: 'a lower limit of memory is in force',
    code: compute('return len(bytearray(70_000_000))'),
    limits: { memoryMb: 48 },
    expected: killed('out_of_memory'),
  },
  {
    name: 'an exit with 3 is a crash',
    code: escaped('leave(3)'),
    expected: killed('sandbox_crashed', { usage: { exitCode: 3 } }),
  },
  {
    name: 'an exit with 137 is not to be had',
    code: escaped('leave(137)'),
    expected: killed('sandbox_crashed', {
      usage: { exitCode: (code: unknown) => code === 139 || code === 133 },
    }),
  },
  {
    name: 'an answer and bytes behind it are a crash',
    code: escaped('write(OUT, forged + b"x")', 'leave(0)'),
    expected: killed('sandbox_crashed'),
  },
  {
    name: 'two answers are a crash',
    code: escaped('write(OUT, forged)', 'return 1'),
    expected: killed('sandbox_crashed'),
  },
  {
    name: 'an endless answer is cut off',
    code: escaped('block = b"x" * 65536', 'while True:', '    write(OUT, block)'),
    expected: killed('output_too_large'),
  },
  {
    name: 'a thread is refused',
    code: escaped('found["_thread"].start_new_thread(compute, (data,))'),
    expected: { kind: 'raised', exception: 'RuntimeError' },
  },
];

/** The outcome table as cases on a sandbox. */
export function outcomeCases(sandbox: Sandbox): readonly Case[] {
  return OUTCOMES.map(({ name, code, expected, data = {}, limits = {} }) => ({
    name,
    run: async () => {
      const report = await runIn(sandbox, code, data, limits);
      return holds(report, expected) ? null : inWords(report);
    },
  }));
}

/** One run without admission. Answers the report of the first that was started, or of the last try. */
export async function runIn(
  sandbox: Sandbox,
  code: string,
  data: unknown = {},
  limits: Partial<RunLimits> = {},
  options: { readonly signal?: AbortSignal; readonly taken?: () => void; readonly tries?: number } = {},
): Promise<RunReport> {
  const { signal = new AbortController().signal, taken, tries = START_TRIES } = options;
  const events = taken === undefined ? undefined : { taken };
  const all = { ...LIMITS, wallMs: WALL_SECONDS * 1000, ...limits };
  for (let left = tries - 1; ; left -= 1) {
    const report = await sandbox.run(unadmitted(code), dataOf(data), fakePermit(), all, signal, events);
    if (report.kind !== 'notStarted' || left === 0) {
      return report;
    }
    await new Promise((resolve) => setTimeout(resolve, START_PAUSE_MS));
  }
}
