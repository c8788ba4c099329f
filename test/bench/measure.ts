/** Milliseconds of many runs of one thing. */
export interface Samples {
  readonly name: string;
  readonly ms: readonly number[];
  /** Completed per second, where the runs were a closed loop. */
  readonly perSecond?: number;
}

/** The value below which `share` of the samples lie. */
export function percentile(ms: readonly number[], share: number): number {
  const sorted = [...ms].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** Runs `work` `count` times, one after the other, `pauseMs` apart so that stock can be made up. */
export async function oneByOne(
  name: string,
  count: number,
  pauseMs: number,
  work: () => Promise<unknown>,
): Promise<Samples> {
  const ms: number[] = [];
  for (let index = 0; index < count; index += 1) {
    ms.push(await timed(work));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return { name, ms };
}

/** Keeps `concurrency` runs going for `seconds`. */
export async function closedLoop(
  name: string,
  concurrency: number,
  seconds: number,
  work: () => Promise<unknown>,
): Promise<Samples> {
  const ms: number[] = [];
  const endAt = performance.now() + seconds * 1000;
  const startAt = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (performance.now() < endAt) {
        ms.push(await timed(work));
      }
    }),
  );
  return { name, ms, perSecond: (ms.length / (performance.now() - startAt)) * 1000 };
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startAt = performance.now();
  await work();
  return performance.now() - startAt;
}

/** Rows as a Markdown table. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

export function show(value: number, digits = 1): string {
  return Number.isFinite(value) ? value.toFixed(digits) : '–';
}
