import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import Docker from 'dockerode';
import { afterAll, expect, test } from 'vitest';
import { containerSpec } from '../../src/sandbox/container-spec.ts';
import { createDockerSandbox } from '../../src/sandbox/docker.ts';
import { createDockerEngine } from '../../src/sandbox/engine.ts';
import { realSettings } from '../fakes/real-sandbox.ts';
import { eventually, type Observed, recordingObserver } from '../fakes/sandbox-run.ts';

const docker = new Docker();
const instances: string[] = [];

function newInstance(): string {
  const id = randomUUID();
  instances.push(id);
  return id;
}

async function containersOf(instance: string): Promise<Docker.ContainerInfo[]> {
  return docker.listContainers({ all: true, filters: { label: [`compute-step.instance=${instance}`] } });
}

afterAll(async () => {
  for (const instance of instances) {
    for (const { Id } of await containersOf(instance)) {
      await docker.getContainer(Id).remove({ force: true });
    }
  }
});

test('no container outlives a service that was killed, neither the running one nor the stock', async () => {
  const instance = newInstance();
  const child = fork(fileURLToPath(new URL('./children/sandbox-child.ts', import.meta.url)), [instance], {
    execArgv: ['--import', 'tsx'],
  });
  await new Promise((resolve) => child.once('message', resolve));
  const running = async () =>
    (await containersOf(instance)).filter(({ State }) => State === 'running').length;
  expect(await running()).toBeGreaterThan(0);
  child.kill('SIGKILL');
  // Its limit of 2 s and the harness's own alarm a second later; a stock ends with its input.
  await eventually(async () => (await running()) === 0, 'every container has ended by itself');
});

test('a new instance removes what has expired and leaves what is live alone', async () => {
  const { image, seccomp, memoryMb, cpus, wallSeconds } = realSettings();
  const engine = createDockerEngine(process.env.DOCKER_HOST ?? null);
  const nowSeconds = Math.floor(Date.now() / 1000);
  const orphan = (expiresAtSeconds: number) =>
    engine.create(
      containerSpec({
        image,
        seccomp,
        memoryMb,
        cpus,
        wallSeconds,
        instanceId: newInstance(),
        expiresAtSeconds,
        runtime: null,
        cgroupVersion: 1,
      }),
    );
  const expired = await orphan(nowSeconds - 1);
  const live = await orphan(nowSeconds + 600);
  const sandbox = createDockerSandbox(realSettings({ instanceId: newInstance(), poolSize: 0 }));
  const ids = async () => (await docker.listContainers({ all: true })).map(({ Id }) => Id);
  await eventually(async () => !(await ids()).includes(expired), 'the expired one is removed');
  expect(await ids()).toContain(live);
  await sandbox.close();
  expect(await ids()).toContain(live);
  engine.close();
});

test('two instances on one engine never touch each other’s containers', async () => {
  const [one, two] = [newInstance(), newInstance()];
  const [watchOne, watchTwo] = [recordingObserver(), recordingObserver()];
  const first = createDockerSandbox(realSettings({ instanceId: one, poolSize: 1, observer: watchOne }));
  const second = createDockerSandbox(realSettings({ instanceId: two, poolSize: 1, observer: watchTwo }));
  const settled = (watch: Observed) => watch.counts.ready === 1 && watch.counts.removing === 0;
  await eventually(() => settled(watchOne) && settled(watchTwo), 'both have a stock');
  const [stock] = await containersOf(two);
  await first.close();
  expect(await containersOf(one)).toEqual([]);
  expect((await containersOf(two)).map(({ Id, State }) => [Id, State])).toEqual([[stock?.Id, 'running']]);
  await second.close();
  expect(await containersOf(two)).toEqual([]);
});
