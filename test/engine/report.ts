import type { RunReport } from '../../src/sandbox/port.ts';

/** One thing that an engine must do. `run` answers what came instead, or null where it did. */
export interface Case {
  readonly name: string;
  readonly run: () => Promise<string | null>;
}

/** How long one case may take; an emulated machine needs minutes for what takes a second. */
const CASE_MAX_MS = 600_000;

/** Runs the cases one after another, says each as a line and answers how many did not hold. */
export async function runCases(cases: readonly Case[], say: (line: string) => void): Promise<number> {
  let failed = 0;
  for (const { name, run } of cases) {
    const startedAt = performance.now();
    const wrong = await Promise.race([run(), late()]).catch(
      (error: unknown) => `threw ${error instanceof Error ? error.message : 'something'}`,
    );
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    failed += wrong === null ? 0 : 1;
    say(`${wrong === null ? 'ok  ' : 'FAIL'}  ${name} (${seconds} s)${wrong === null ? '' : `: ${wrong}`}`);
  }
  return failed;
}

function late(): Promise<string> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(`took longer than ${CASE_MAX_MS / 1000} s`), CASE_MAX_MS).unref();
  });
}

/** A report in a few words: how it ended, with which exit code, and who told of the memory. */
export function inWords(report: RunReport): string {
  if (report.kind === 'notStarted') {
    return `${report.kind} ${report.reason}: ${report.detail}`;
  }
  const { exitCode, peakMemorySource } = report.usage;
  const what = report.kind === 'killed' ? report.reason : report.kind === 'raised' ? report.exception : '';
  return `${report.kind} ${what} (exit ${exitCode}, memory by ${peakMemorySource ?? 'nobody'})`;
}

/** Whether `actual` has every member of `expected`, at any depth; a function is asked. */
export function holds(actual: unknown, expected: unknown): boolean {
  if (typeof expected === 'function') {
    return (expected as (value: unknown) => boolean)(actual);
  }
  if (typeof expected !== 'object' || expected === null) {
    return Object.is(actual, expected);
  }
  return (
    typeof actual === 'object' &&
    actual !== null &&
    Object.entries(expected).every(([name, value]) => holds((actual as Record<string, unknown>)[name], value))
  );
}
