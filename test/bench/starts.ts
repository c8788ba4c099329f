import { randomUUID } from 'node:crypto';
import { createDockerSandbox } from '../../src/sandbox/docker.ts';
import { createDockerEngine } from '../../src/sandbox/engine.ts';
import { compute } from '../fakes/python-functions.ts';
import { realSettings } from '../fakes/real-sandbox.ts';
import { dataOf, fakePermit, LIMITS, recordingObserver, unadmitted } from '../fakes/sandbox-run.ts';

/**
 * `npx tsx test/bench/starts.ts [starts] [at once]`: that many runs without a stock, each in a container that is
 * started for it, so many at once. Ends with 1 if one of them is lost or a container is left.
 */
const starts = Number(process.argv[2] ?? 500);
const atOnce = Number(process.argv[3] ?? 32);

const instanceId = randomUUID();
const observer = recordingObserver();
const sandbox = createDockerSandbox(
  realSettings({
    instanceId,
    observer,
    poolSize: 0,
    maxConcurrency: atOnce,
    queueLimit: starts,
    memoryMb: 64,
  }),
);
const fn = unadmitted(compute('return data'));
const startedAt = performance.now();
const reports = await Promise.all(
  Array.from({ length: starts }, (_, i) =>
    sandbox.run(fn, dataOf(i), fakePermit(), { ...LIMITS, memoryMb: 64 }, AbortSignal.timeout(3_600_000)),
  ),
);
const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
const lost = reports.filter(
  (report, i) => report.kind !== 'returned' || report.result.toString() !== String(i),
);
for (const report of lost.slice(0, 10)) {
  const ending = report.kind === 'notStarted' ? `${report.reason}: ${report.detail}` : report.kind;
  console.log(`lost  ${'reason' in report ? report.reason : ''} ${ending}`);
}
await sandbox.close();
const engine = createDockerEngine(process.env.DOCKER_HOST ?? null);
const left = await engine.list(`compute-step.instance=${instanceId}`);
engine.close();
const failed = observer.starts.filter((outcome) => outcome !== 'ok').length;
console.log(
  `${starts} runs, ${atOnce} at once, in ${seconds} s: ${observer.starts.length} starts, ${failed} failed, ` +
    `${lost.length} runs lost, ${left.length} containers left`,
);
process.exitCode = lost.length + failed + left.length === 0 ? 0 : 1;
