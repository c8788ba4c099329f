import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import Docker from 'dockerode';
import { BUILT_IN_PACK_DIR, loadPack } from '../../src/prompt/pack.ts';
import { sandboxImageTag } from '../../src/sandbox/image.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';
import { closedLoop, oneByOne, percentile, type Samples, show, table, timed } from './measure.ts';
import { barePython, dockerRun, freshContainer, records } from './peers.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CODE = 'def compute(data):\n    p = [o["price"] for o in data["orders"]]\n    return sum(p) / len(p)\n';
const POOL = 4;
const quick = process.argv.includes('--quick');

/** The body of a run over N records, made once: making it is not what is measured. */
function bodyOf(orders: string): string {
  return `{"code":${JSON.stringify(CODE)},"sources":[{"name":"orders","result":${orders}}]}`;
}

async function step(built: BuiltService, body: string): Promise<void> {
  const { status, text } = await built.post('/v1/compute/run', body);
  if (status !== 200 || !text.includes('"state":"succeeded"')) {
    throw new Error(`${status} ${text.slice(0, 300)}`);
  }
}

/** Resident memory of a process in MB, and of a waiting container by its engine. */
function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

async function main(): Promise<void> {
  const docker = new Docker();
  const pack = await loadPack(BUILT_IN_PACK_DIR);
  const image = sandboxImageTag(Object.keys(pack.modules));
  const sizes = { 10: records(10), 1000: records(1000), 100000: records(100_000) };
  const data = (orders: string) => `{"orders":${orders}}`;
  const rounds = quick ? 5 : 30;

  const fresh = async (orders: string): Promise<void> => {
    const { answer, remove } = await freshContainer(docker, image, data(orders));
    Number(answer);
    void remove().catch(() => {});
  };
  const freshAndRemove = async (): Promise<void> => {
    await (await freshContainer(docker, image, data(sizes[10]))).remove();
  };

  const rows: Samples[] = [];
  rows.push(
    await oneByOne('`docker run --rm`, 10 records', rounds, 100, () => dockerRun(image, data(sizes[10]))),
  );
  rows.push(
    await oneByOne('dockerode fresh, to the answer, 10 records', rounds, 150, () => fresh(sizes[10])),
  );

  const cold = await startBuiltService({ env: { SANDBOX_POOL_SIZE: '0', LOG_LEVEL: 'info' } });
  await cold.ready();
  rows.push(
    await oneByOne('compute-step, no pool, HTTP to HTTP, 10 records', rounds, 150, () =>
      step(cold, bodyOf(sizes[10])),
    ),
  );
  await cold.stop();

  const built = await startBuiltService({ env: { SANDBOX_POOL_SIZE: String(POOL), LOG_LEVEL: 'info' } });
  await built.ready();
  const bodies = { 10: bodyOf(sizes[10]), 1000: bodyOf(sizes[1000]), 100000: bodyOf(sizes[100000]) };
  await oneByOne('warm-up', 8, 400, () => step(built, bodies[10]));
  const idleMb = residentMb(built.service.process.pid as number);
  const small = await oneByOne('compute-step, pool hit, HTTP to HTTP, 10 records', rounds, 400, () =>
    step(built, bodies[10]),
  );
  rows.push(small);
  rows.push(await oneByOne('the same, 1,000 records', rounds, 400, () => step(built, bodies[1000])));
  rows.push(
    await oneByOne('the same, 100,000 records (14 MB)', Math.ceil(rounds / 2), 800, () =>
      step(built, bodies[100000]),
    ),
  );
  rows.push({
    name: 'bare python3: parse and compute, 100,000 records',
    ms: barePython(data(sizes[100000]), 8),
  });

  const seconds = quick ? 5 : 20;
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const burst = await Promise.all(Array.from({ length: POOL }, () => timed(() => step(built, bodies[10]))));
  rows.push({ name: `a burst of ${POOL} at once, the slowest`, ms: [Math.max(...burst)] });
  await new Promise((resolve) => setTimeout(resolve, 2000));

  let large = true;
  const beside = (async () => {
    while (large) {
      await step(built, bodies[100000]);
    }
  })();
  const besideLarge = await oneByOne('10 records while 100,000 are in work', rounds, 300, () =>
    step(built, bodies[10]),
  );
  large = false;
  await beside;
  rows.push(besideLarge);
  await new Promise((resolve) => setTimeout(resolve, 2000));
  rows.push(
    await closedLoop('compute-step, concurrency 4, sustained', 4, seconds, () => step(built, bodies[10])),
  );
  await new Promise((resolve) => setTimeout(resolve, 3000));
  rows.push(await closedLoop('dockerode fresh, concurrency 4, sustained', 4, seconds, freshAndRemove));
  const afterMb = residentMb(built.service.process.pid as number);
  await built.stop();

  const text = report(rows, small, idleMb, afterMb, await docker.version());
  console.log(text);
  if (!quick) {
    writeFileSync(`${ROOT}docs/benchmark.md`, text);
  }
}

function report(
  rows: readonly Samples[],
  small: Samples,
  idleMb: number,
  afterMb: number,
  engine: { Version: string },
): string {
  const p50 = percentile(small.ms, 0.5);
  const cpu = cpus();
  const python = execFileSync('python3', ['--version'], { encoding: 'utf8' }).trim();
  return `# Benchmark

Printed by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}: ${cpu.length} cores (${cpu[0]?.model.trim()}), Docker
${engine.Version}, Node ${process.versions.node}, ${python}. Work: the average price over N records of eight fields.
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

Resident memory of the service: ${show(idleMb, 0)} MB idle, ${show(afterMb, 0)} MB at the end.
`;
}

await main();
