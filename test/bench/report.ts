import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { percentile, type Samples, show, table } from './measure.ts';

export interface Measured {
  readonly rows: readonly Samples[];
  readonly small: Samples;
  readonly medium: Samples;
  readonly large: Samples;
  readonly bare: Samples;
  readonly burst: Samples;
  readonly besideLarge: Samples;
  readonly sustained: Samples;
  readonly peer: Samples;
  readonly fresh: Samples;
  readonly refused: Samples;
  /** Longest time that the event loop was blocked beside 14 MB bodies, in ms. */
  readonly blocked: number;
  readonly idleMb: number;
  readonly afterMb: number;
  readonly containerMb: number;
  readonly engine: string;
}

/** The page that `npm run bench` writes: what was measured, and each bar beside it. */
export function report(measured: Measured): string {
  const { rows, small, idleMb, afterMb, containerMb, engine } = measured;
  const p50 = percentile(small.ms, 0.5);
  const cpu = cpus();
  const python = execFileSync('python3', ['--version'], { encoding: 'utf8' }).trim();
  return `# Benchmark

Printed by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}: ${cpu.length} cores (${cpu[0]?.model.trim()}), Docker
${engine}, Node ${process.versions.node}, ${python}. Work: the average price over N records of eight fields.
Ratios are what to look at; the figures move with the machine.

${table(
  ['what', 'p50 ms', 'p95 ms', '× pool hit', 'per second'],
  rows.map(({ name, ms, perSecond }) => [
    name,
    show(percentile(ms, 0.5)),
    ms.length > 1 ? show(percentile(ms, 0.95)) : '–',
    show(percentile(ms, 0.5) / p50),
    perSecond === undefined ? '–' : show(perSecond),
  ]),
)}

Resident memory of the service: ${show(idleMb, 0)} MB idle, ${show(afterMb, 0)} MB at the end; of a waiting container ${show(containerMb)} MB.

${table(['bar', 'measured', 'met'], bars(measured))}
`;
}

function bars(measured: Measured): string[][] {
  const p50 = ({ ms }: Samples) => percentile(ms, 0.5);
  const p99 = ({ ms }: Samples) => percentile(ms, 0.99);
  const { small, medium, large, bare, burst, besideLarge, sustained, peer, fresh, refused } = measured;
  const row = (bar: string, value: number, fits: boolean, unit: string, digits = 1): string[] => [
    bar,
    `${show(value, digits)}${unit}`,
    fits ? 'yes' : 'no',
  ];
  const most = (bar: string, value: number, limit: number, unit: string, digits = 1) =>
    row(`${bar}: at most ${limit}${unit}`, value, value <= limit, unit, digits);
  const least = (bar: string, value: number, limit: number, unit: string, digits = 1) =>
    row(`${bar}: at least ${limit}${unit}`, value, value >= limit, unit, digits);
  return [
    most('pool hit, 10 records, p50', p50(small), 5, ' ms'),
    least('a fresh dockerode container against that', p50(fresh) / p50(small), 25, ' ×'),
    most('pool hit, 1,000 records, p50', p50(medium), 9, ' ms'),
    most('pool hit, 100,000 records, against bare python3', p50(large) / p50(bare), 1.6, ' ×', 2),
    most('small steps beside a 14 MB one, p99 against alone', p99(besideLarge) / p99(small), 3, ' ×'),
    most('event loop blocked beside 14 MB bodies', measured.blocked, 20, ' ms'),
    least(
      'sustained against dockerode',
      (sustained.perSecond ?? 0) / (peer.perSecond ?? Number.NaN),
      1.1,
      ' ×',
      2,
    ),
    most('a burst of the pool, against one step', p50(burst) / p50(small), 4, ' ×'),
    most('503 past stock and queue, p50', p50(refused), 10, ' ms'),
    most('service idle', measured.idleMb, 150, ' MB', 0),
    most('waiting container', measured.containerMb, 8, ' MB'),
  ];
}
