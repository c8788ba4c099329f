import { afterEach, expect, test } from 'vitest';
import { startFaultySocket } from '../fakes/faulty-socket.ts';
import { type RunningSandboxd, startSandboxd } from '../fakes/running-sandboxd.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';
import { eventually } from '../fakes/sandbox-run.ts';

const SPIN = 'def compute(data):\n    while True:\n        pass\n';
const STEP = { step: 'how many', sources: [{ name: 'x', result: [1, 2] }] };

const running: BuiltService[] = [];
const daemons: RunningSandboxd[] = [];
/** One that is ended with its test, however that ends. */
async function startDaemon(...args: Parameters<typeof startSandboxd>): Promise<RunningSandboxd> {
  const daemon = await startSandboxd(...args);
  daemons.push(daemon);
  return daemon;
}
afterEach(async () => {
  for (const daemon of daemons.splice(0)) {
    await daemon.kill();
    daemon.removeContainers();
  }
  for (const built of running.splice(0)) {
    await built.stop();
    built.sandboxd?.removeContainers();
  }
});

test('a service with a sandboxd opens no connection to an engine', async () => {
  const engine = await startFaultySocket(() => {});
  const daemon = await startDaemon({ SANDBOXD_SOCKET: `${engine.dockerHost.slice('unix://'.length)}d` });
  const built = await startBuiltService({
    env: { SANDBOXD_SOCKET: daemon.socketPath, DOCKER_HOST: engine.dockerHost },
  });
  running.push(built);
  await built.ready();
  expect((await built.post('/v1/compute', STEP)).json).toMatchObject({ state: 'succeeded', result: 42 });
  expect(await built.stop()).toBe(0);
  running.splice(0);
  expect(engine.connections).toBe(0);
  // The socket does notice: a service without a sandboxd does connect.
  const embedded = await startBuiltService({ env: { DOCKER_HOST: engine.dockerHost } });
  running.push(embedded);
  await embedded.get('/readyz');
  expect(engine.connections).toBeGreaterThan(0);
  expect(await daemon.stop()).toBe(0);
  expect(daemon.containers()).toEqual([]);
  await engine.close();
});

test('a sandboxd that goes away and comes back takes its runs with it, and nothing else', async () => {
  const built = await startBuiltService({ sandboxd: true });
  running.push(built);
  const { sandboxd } = built;
  if (sandboxd === null) {
    throw new Error('there is no sandboxd');
  }
  await built.ready();
  const lost = built.post('/v1/compute/run', { code: SPIN, sources: STEP.sources });
  await eventually(
    async () => (await built.get('/v1/usage')).json.open_permits === 1,
    'the run has its permit',
  );
  await new Promise((resolve) => setTimeout(resolve, 500));
  await sandboxd.kill();
  expect((await lost).json).toMatchObject({
    state: 'failed',
    failure: { code: 'sandbox_lost', retryable: true },
    metered: { compute_runs: 1 },
  });

  const ready = await built.get('/readyz');
  expect(ready.status).toBe(503);
  expect(ready.json.failing).toContain('engine');
  const refused = await built.post('/v1/compute', STEP);
  expect(refused.status).toBe(503);
  expect(refused.json).toMatchObject({ code: 'sandbox_unavailable' });
  expect(refused.text).not.toContain('sandboxd.sock');
  expect(built.model.requests).toHaveLength(0);
  expect((await built.get('/healthz')).status).toBe(200);

  const next = await startDaemon({ SANDBOXD_SOCKET: sandboxd.socketPath });
  await built.ready();
  expect((await built.post('/v1/compute', STEP)).json).toMatchObject({ state: 'succeeded' });
  const { compute_runs, open_permits, outcomes } = (await built.get('/v1/usage')).json;
  expect({ used: compute_runs.used, open_permits, outcomes }).toEqual({
    used: 2,
    open_permits: 0,
    outcomes: { sandbox_lost: 1, succeeded: 1 },
  });
  expect(await built.service.stop()).toBe(0);
  expect(await next.stop()).toBe(0);
  expect(next.containers()).toEqual([]);
});

test('a service shows what the pool of its sandboxd comes to, over a restart of that', async () => {
  const built = await startBuiltService({ sandboxd: true, env: { SANDBOX_POOL_SIZE: '2' } });
  running.push(built);
  const { sandboxd } = built;
  if (sandboxd === null) {
    throw new Error('there is no sandboxd');
  }
  await built.ready();
  const ready = () => metric(built, 'compute_step_pool_containers{state="ready"}');
  const starts = () => metric(built, 'compute_step_container_starts_total{outcome="ok"}');
  await eventually(async () => (await ready()) === 2, 'the stock is shown');
  const first = await starts();
  expect(first).toBeGreaterThanOrEqual(2);

  const long = built.post('/v1/compute/run', {
    code: SPIN,
    sources: STEP.sources,
    limits: { wall_seconds: 5 },
  });
  await eventually(async () => (await metric(built, 'compute_step_running')) === 1, 'the run is shown');
  expect(await metric(built, 'compute_step_pool_containers{state="running"}')).toBe(1);
  await long;
  await eventually(async () => (await metric(built, 'compute_step_running')) === 0, 'its end is shown');
  await eventually(async () => (await starts()) > first, 'the refill is shown');
  const before = await starts();

  await sandboxd.kill();
  await eventually(async () => (await ready()) === 0, 'its containers are not known of any more');
  expect(await starts()).toBe(before);
  const next = await startDaemon({ SANDBOXD_SOCKET: sandboxd.socketPath, SANDBOX_POOL_SIZE: '1' });
  await eventually(async () => (await ready()) === 1, 'the next one’s stock is shown');
  expect(await starts()).toBeGreaterThan(before);
  expect(await built.service.stop()).toBe(0);
  expect(await next.stop()).toBe(0);
});

/** A sample of `/metrics`. */
async function metric(built: BuiltService, name: string): Promise<number> {
  const line = (await built.metrics()).split('\n').find((text) => text.startsWith(`${name} `));
  if (line === undefined) {
    throw new Error(`no ${name}`);
  }
  return Number(line.slice(name.length + 1));
}
