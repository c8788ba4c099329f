import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Docker from 'dockerode';
import { BUILT_IN_PACK_DIR, loadPack } from '../../src/prompt/pack.ts';
import { sandboxImageTag } from '../../src/sandbox/image.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';
import { closedLoop, oneByOne, percentile, type Samples, timed } from './measure.ts';
import { barePython, dockerRun, freshContainer, records } from './peers.ts';
import { report } from './report.ts';
import { stepsOf } from './steps.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CODE = 'def compute(data):\n    p = [o["price"] for o in data["orders"]]\n    return sum(p) / len(p)\n';
const POOL = 4;
const quick = process.argv.includes('--quick');

/** The body of a run over N records, made once and in bytes: making 14 MB of them is 9 ms, and is not what is measured. */
function bodyOf(orders: string): Buffer {
  return Buffer.from(`{"code":${JSON.stringify(CODE)},"sources":[{"name":"orders","result":${orders}}]}`);
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
  const coldStep = stepsOf(cold);
  rows.push(
    await oneByOne('compute-step, no pool, HTTP to HTTP, 10 records', rounds, 150, () =>
      coldStep(bodyOf(sizes[10])),
    ),
  );
  await cold.stop();

  const built = await startBuiltService({ env: { SANDBOX_POOL_SIZE: String(POOL), LOG_LEVEL: 'info' } });
  await built.ready();
  const step = stepsOf(built);
  const bodies = { 10: bodyOf(sizes[10]), 1000: bodyOf(sizes[1000]), 100000: bodyOf(sizes[100000]) };
  await oneByOne('first steps', 8, 400, () => step(bodies[10]));
  const idleMb = residentMb(built.service.process.pid as number);
  const containerMb = await waitingContainerMb(docker);
  // A service that has run for a minute: until then its code is interpreted.
  await oneByOne('warm-up', quick ? 10 : 250, 150, () => step(bodies[10]));
  const small = await oneByOne('compute-step, pool hit, HTTP to HTTP, 10 records', rounds * 2, 150, () =>
    step(bodies[10]),
  );
  rows.push(small);
  const medium = await oneByOne('the same, 1,000 records', rounds * 2, 150, () => step(bodies[1000]));
  rows.push(medium);
  await blockedMs(built);
  const large = await oneByOne('the same, 100,000 records (14 MB)', Math.ceil(rounds / 2), 800, () =>
    step(bodies[100000]),
  );
  rows.push(large);
  const blocked = await blockedMs(built);
  const bare = {
    name: 'bare python3: parse and compute, 100,000 records',
    ms: barePython(data(sizes[100000]), 8),
  };
  rows.push(bare);

  const seconds = quick ? 5 : 20;
  const slowest: number[] = [];
  for (let round = 0; round < (quick ? 2 : 9); round += 1) {
    await pause(2000);
    const atOnce = Array.from({ length: POOL }, () => timed(() => step(bodies[10])));
    slowest.push(Math.max(...(await Promise.all(atOnce))));
  }
  const burst = { name: `a burst of ${POOL} at once, the slowest`, ms: slowest };
  rows.push(burst);
  await pause(2000);

  let going = true;
  const beside = (async () => {
    while (going) {
      await step(bodies[100000]);
    }
  })();
  const besideLarge = await oneByOne('10 records while 100,000 are in work', rounds * 2, 300, () =>
    step(bodies[10]),
  );
  going = false;
  await beside;
  rows.push(besideLarge);
  await pause(2000);
  const sustained = await closedLoop('compute-step, concurrency 4, sustained', 4, seconds, () =>
    step(bodies[10]),
  );
  rows.push(sustained);
  await pause(3000);
  const peer = await closedLoop('dockerode fresh, concurrency 4, sustained', 4, seconds, freshAndRemove);
  rows.push(peer);
  const afterMb = residentMb(built.service.process.pid as number);
  await built.stop();
  const refused = await overloaded(rounds);
  rows.push(refused);

  const text = report({
    rows,
    small,
    medium,
    large,
    bare,
    burst,
    besideLarge,
    sustained,
    peer,
    fresh: rows[1] as Samples,
    refused,
    blocked,
    idleMb,
    afterMb,
    containerMb,
    engine: (await docker.version()).Version,
  });
  console.log(text);
  if (!quick) {
    writeFileSync(`${ROOT}docs/benchmark.md`, text);
  }
}

/** Answers to steps past stock and queue: one place, which a long run holds, and no queue. */
async function overloaded(rounds: number): Promise<Samples> {
  const env = { SANDBOX_MAX_CONCURRENCY: '1', SANDBOX_QUEUE_LIMIT: '0', LOG_LEVEL: 'info' };
  const full = await startBuiltService({ env });
  await full.ready();
  const long = full.post('/v1/compute/run', {
    code: 'def compute(data):\n    n = 0\n    while True:\n        n += 1\n',
    sources: [{ name: 'orders', result: [] }],
  });
  await pause(1000);
  const step = stepsOf(full, 503);
  const samples = await oneByOne('503 past stock and queue', rounds, 100, () => step(bodyOf('[]')));
  await long;
  await full.stop();
  return samples;
}

/** The longest that the event loop was blocked since it was asked last; node measures in steps of 10 ms. */
async function blockedMs(built: BuiltService): Promise<number> {
  const text = await built.metrics();
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1]) * 1000 - 10;
}

/** Memory of a container that waits, by the engine: of all that do the median, as the kernel counts in batches. */
async function waitingContainerMb(docker: Docker): Promise<number> {
  // One that was just started, or is being, has pages that are given back when it waits.
  await pause(3000);
  const waiting = await docker.listContainers({ filters: { label: ['compute-step=1'] } });
  const stats = await Promise.all(waiting.map(({ Id }) => docker.getContainer(Id).stats({ stream: false })));
  return percentile(
    stats.map(({ memory_stats }) => memory_stats.usage / 1024 ** 2),
    0.5,
  );
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

await main();
