/** One look of `compute-step doctor`. */
export interface Finding {
  /** A word or two; the same from run to run. */
  readonly check: string;
  readonly ok: boolean;
  /** What was found: counts, ids, versions. Never a secret, never a value of anybody's data. */
  readonly detail: string;
  /** What to do; empty where nothing is wrong. */
  readonly fix: string;
}

export function fine(check: string, detail: string): Finding {
  return { check, ok: true, detail, fix: '' };
}

export function wrong(check: string, detail: string, fix: string): Finding {
  return { check, ok: false, detail, fix };
}

/** Whether a service with these findings would do its work. */
export function healthy(findings: readonly Finding[]): boolean {
  return findings.length > 0 && findings.every(({ ok }) => ok);
}

/** The findings as an aligned table, a fix under each that needs one, and a last line that sums up. */
export function findingsTable(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length), 0);
  const lines = findings.flatMap(({ check, ok, detail, fix }) => [
    `${ok ? 'ok  ' : 'FAIL'}  ${check.padEnd(width)}  ${detail}`,
    ...(fix === '' ? [] : [`${' '.repeat(width + 8)}fix: ${fix}`]),
  ]);
  const failed = findings.filter(({ ok }) => !ok).length;
  const sum = failed === 0 ? 'all is well' : `${failed} of ${findings.length} checks failed`;
  return [...lines, '', sum].join('\n');
}

/** The findings for a program: `{"ok", "checks": [{"check", "ok", "detail", "fix"}]}`. */
export function findingsJson(findings: readonly Finding[]): string {
  return JSON.stringify({ ok: healthy(findings), checks: findings }, null, 2);
}
