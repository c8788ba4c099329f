import { chmodSync, chownSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { readmeCommand, readmeCommands } from './readme.ts';
import { eventually } from './shell.ts';
import { type Deployment, inContainer, newDeployment, onNetwork, POWERS } from './stack.ts';

const IMAGE = inject('serviceImage');
const NO_CAPABILITIES = Array(5).fill('0000000000000000');
/** How long the scripted model thinks, so that a step is in flight while the stack is being stopped. */
const THINKS_MS = 20_000;

let deployment: Deployment;
let firstStep: string;

/** The id of a service's container, running or not. */
async function container(service: string): Promise<string> {
  const labels = { project: deployment.name, service, oneoff: 'False' };
  const filters = Object.entries(labels).map(
    ([name, value]) => `--filter label=com.docker.compose.${name}=${value}`,
  );
  return (await deployment.run(`docker ps --all --quiet ${filters.join(' ')}`)).trim();
}

/** A field of `docker inspect`, as JSON. */
async function inspect(service: string, field: string): Promise<unknown> {
  return JSON.parse(
    await deployment.run(`docker inspect --format '{{json ${field}}}' ${await container(service)}`),
  );
}

async function usedRuns(): Promise<number> {
  return (await deployment.call('/v1/usage')).json.compute_runs.used;
}

async function ready(): Promise<void> {
  await eventually(
    () => deployment.call('/readyz'),
    ({ status }) => status === 200,
  );
}

function run(code: string, key?: string) {
  return deployment.call('/v1/compute/run', {
    ...(key === undefined ? {} : { key }),
    body: { code, sources: [{ name: 'xs', result: [1, 2, 3] }], result_type: 'number' },
  });
}

const SUM = 'def compute(data):\n    return sum(data["xs"])\n';

beforeAll(async () => {
  deployment = await newDeployment(IMAGE, {
    SHUTDOWN_GRACE_SECONDS: '120',
    STOP_GRACE_PERIOD: '200s',
    REQUEST_TIMEOUT_SECONDS: '240',
  });
  const [, start = '', step = ''] = readmeCommands('First start');
  await deployment.run(start);
  firstStep = await deployment.run(step);
});

afterAll(async () => {
  await deployment?.run('docker-compose down --volumes --remove-orphans --timeout 30');
  deployment?.removeFolder();
});

describe('the README’s first start', () => {
  it('leads to a metered step', () => {
    const [computation, usage] = firstStep
      .replace('}{', '}\n{')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
    expect(computation).toMatchObject({ state: 'succeeded', result: 27.75, metered: { compute_runs: 1 } });
    expect(usage).toMatchObject({ tenant: 'acme', compute_runs: { used: 1, limit: 1000 } });
  });

  it('leads to a service in which the doctor finds nothing wrong', async () => {
    expect(await deployment.run(readmeCommand('First start', 'doctor'))).toContain('ledger');
  });

  it('leads to containers that show as healthy', async () => {
    for (const service of ['api', 'sandboxd']) {
      await eventually(
        () => inspect(service, '.State.Health.Status'),
        (health) => health === 'healthy',
      );
    }
  });
});

describe('the API', () => {
  it('reaches no engine: no socket but that of sandboxd, no address, nothing that listens', async () => {
    const found = await inContainer(
      await container('api'),
      `const sockets = fs.readdirSync('/').filter((name) => !['proc', 'sys'].includes(name))
         .flatMap((name) => fs.statSync('/' + name).isDirectory()
           ? fs.readdirSync('/' + name, { recursive: true, withFileTypes: true }) : [])
         .filter((entry) => entry.isSocket())
         .map((entry) => entry.parentPath + '/' + entry.name);
       const [, , gateway] = fs.readFileSync('/proc/net/route', 'utf8').split('\\n')
         .map((line) => line.split('\\t')).find(([, to]) => to === '00000000');
       const host = gateway.match(/../g).reverse().map((byte) => parseInt(byte, 16)).join('.');
       const tries = [];
       for (const target of [{ path: '/var/run/docker.sock' }, { path: '/run/docker.sock' },
                             { host, port: 2375 }, { host, port: 2376 }, { host, port: 2377 }])
         tries.push(await tryConnect(target));
       answer({ sockets, tries, engineHost: process.env.DOCKER_HOST ?? null });`,
    );
    expect(found).toEqual({
      sockets: ['/run/compute-step/sandboxd.sock'],
      tries: ['ENOENT', 'ENOENT', 'ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED'],
      engineHost: null,
    });
  });

  it('gets nothing of the engine through the socket that it has', async () => {
    const found = await inContainer(
      await container('api'),
      `const socket = net.connect('/run/compute-step/sandboxd.sock', () =>
         socket.write('GET /containers/json HTTP/1.1\\r\\nhost: engine\\r\\n\\r\\n'));
       let heard = '';
       socket.on('data', (chunk) => { heard += chunk; });
       socket.on('error', () => {});
       socket.on('close', () => answer({ heard }));`,
    );
    expect(found).toEqual({ heard: '' });
  });

  it('runs as nobody in particular, without a capability, on a read-only root without a shell', async () => {
    expect(await inContainer(await container('api'), POWERS)).toMatchObject({
      uid: 10001,
      gid: 10001,
      groups: [10001],
      capabilities: NO_CAPABILITIES,
      noNewPrivileges: '1',
      seccomp: '2',
      root: ['EROFS', 'EROFS', 'EROFS'],
      shell: 'ENOENT',
      tools: ['node'],
    });
  });

  it('writes to its ledger and to memory only, and runs nothing from there', async () => {
    const found = await inContainer(
      await container('api'),
      `const [, , , options] = fs.readFileSync('/proc/mounts', 'utf8').split('\\n')
         .map((line) => line.split(' ')).find(([, at]) => at === '/tmp');
       const paths = ['/tmp', '/var/lib/compute-step', '/etc/compute-step', '/run/secrets', '/run/compute-step', '/pack'];
       answer({
         memory: ['noexec', 'nosuid', 'nodev'].filter((option) => options.split(',').includes(option)),
         written: paths.map((path) => tryWrite(path + '/x')),
       });`,
    );
    expect(found).toEqual({
      memory: ['noexec', 'nosuid', 'nodev'],
      written: ['written', 'written', 'EROFS', 'EROFS', 'EROFS', 'EROFS'],
    });
  });

  it('has bounds on memory, processes and core dumps', async () => {
    for (const service of ['api', 'sandboxd']) {
      expect(await inspect(service, '.HostConfig')).toMatchObject({
        Memory: 1024 ** 3,
        PidsLimit: 128,
        Ulimits: [{ Name: 'core', Hard: 0, Soft: 0 }],
        Privileged: false,
      });
    }
  });

  it('shows its metrics on the internal network only', async () => {
    const outside = `(index .NetworkSettings.Networks "${deployment.name}_edge").IPAddress`;
    const look = `
      const fetched = await fetch('http://api:9464/metrics').then((reply) => reply.status, (error) => error.cause.code);
      answer([fetched, await tryConnect({ host: 'api', port: 8080 }),
              await tryConnect({ host: '${await inspect('model', outside)}', port: 4011 })]);`;
    // What scrapes has no way out; what can call a model sees no metrics.
    expect(await onNetwork(IMAGE, `${deployment.name}_metrics`, look)).toEqual([200, 'open', 'timeout']);
    expect(await onNetwork(IMAGE, `${deployment.name}_edge`, look)).toEqual(['ECONNREFUSED', 'open', 'open']);
    expect((await deployment.call('/metrics')).status).toBe(404);
    expect(await inspect('api', '.NetworkSettings.Ports')).toMatchObject({ '9464/tcp': null });
  });

  it('tells counts and metrics to whoever operates it', async () => {
    const told = await deployment.run(readmeCommand('Counts and metrics', 'usage export'));
    expect(told).toContain('"tenant": "acme"');
    expect(told).toMatch(/^compute_step_ready\{check="engine"\} 1$/m);
  });
});

describe('sandboxd', () => {
  it('has no network, no capability and a read-only root', async () => {
    expect(await inContainer(await container('sandboxd'), POWERS)).toMatchObject({
      uid: 0,
      gid: 10001,
      groups: [10001],
      capabilities: NO_CAPABILITIES,
      noNewPrivileges: '1',
      seccomp: '2',
      root: ['EROFS', 'EROFS', 'EROFS'],
      shell: 'ENOENT',
      networks: ['lo'],
      routes: 0,
    });
    expect(
      await inContainer(
        await container('sandboxd'),
        `answer(await tryConnect({ host: '192.0.2.1', port: 443 }));`,
      ),
    ).toBe('ENETUNREACH');
  });

  it('has no setting of the API: no tenants, no ledger, no webhook', async () => {
    expect(
      await inContainer(
        await container('sandboxd'),
        `answer([Object.keys(process.env).filter((name) => /^(MODEL|LEDGER|TENANTS)/.test(name)),
           ['/etc/compute-step', '/run/secrets', '/var/lib/compute-step/data'].filter((path) => fs.existsSync(path))]);`,
      ),
    ).toEqual([[], []]);
  });

  it('lets its group connect, and nobody change its socket', async () => {
    const found = await inContainer(
      await container('api'),
      `const { mode, uid, gid } = fs.statSync('/run/compute-step/sandboxd.sock');
       let removed = 'removed';
       try { fs.unlinkSync('/run/compute-step/sandboxd.sock'); } catch (error) { removed = error.code; }
       answer({ mode: (mode & 0o777).toString(8), uid, gid, removed });`,
    );
    expect(found).toEqual({ mode: '660', uid: 0, gid: 10001, removed: 'EROFS' });
  });
});

describe('a caller who hangs up at the published port', () => {
  it('is known to be gone while the function still spins', async () => {
    const before = await usedRuns();
    const spinning = deployment.call('/v1/compute/run', {
      body: { code: 'def compute(data):\n    while True:\n        pass\n', sources: [{ result: 1 }] },
      signal: AbortSignal.timeout(2000),
    });
    await expect(spinning).rejects.toThrow();
    const { json } = await eventually(
      () => deployment.call('/v1/usage'),
      (usage) => usage.json.open_permits === 0 && usage.json.compute_runs.used === before + 1,
    );
    expect(json.outcomes).toMatchObject({ cancelled: 1 });
    expect(json.outcomes).not.toHaveProperty('timeout');
  });
});

describe('keys and secrets', () => {
  it('rotate: two keys work side by side, then the new one alone', async () => {
    await deployment.run(readmeCommand('Rotate keys and secrets', 'new-key.txt'));
    const file = join(deployment.folder, 'config/tenants.json');
    const tenants = JSON.parse(readFileSync(file, 'utf8'));
    const [old, next] = [deployment.key(), deployment.key('new-key.txt')];
    const usageStatus = async (key: string) => (await deployment.call('/v1/usage', { key })).status;

    tenants.tenants[0].key_sha256.push(digestIn('new-key.txt'));
    writeFileSync(file, JSON.stringify(tenants));
    await eventually(
      () => usageStatus(next),
      (status) => status === 200,
    );
    expect(await usageStatus(old)).toBe(200);

    tenants.tenants[0].key_sha256.shift();
    writeFileSync(file, JSON.stringify(tenants));
    await eventually(
      () => usageStatus(old),
      (status) => status === 401,
    );
    expect(await usageStatus(next)).toBe(200);

    // The other tests go on with the first key.
    tenants.tenants[0].key_sha256.push(digestIn('key.txt'));
    writeFileSync(file, JSON.stringify(tenants));
    await eventually(
      () => usageStatus(old),
      (status) => status === 200,
    );
  });
});

/** The digest in the entry that `key create` printed. */
function digestIn(file: string): string {
  return /"([0-9a-f]{64})"/.exec(readFileSync(join(deployment.folder, file), 'utf8'))?.[1] ?? '';
}

describe('the ledger', () => {
  it('is backed up while the service runs, and restored to what it was', async () => {
    const before = await usedRuns();
    await deployment.run(readmeCommand('Back up and restore the ledger', 'backup'));
    expect((await run(SUM)).json).toMatchObject({ state: 'succeeded', result: 6 });
    expect(await usedRuns()).toBe(before + 1);
    await deployment.run(readmeCommand('Back up and restore the ledger', 'ledger.mjs restore'));
    await ready();
    expect(await usedRuns()).toBe(before);
    expect((await run(SUM)).json).toMatchObject({ state: 'succeeded', metered: { compute_runs: 1 } });
    expect(await usedRuns()).toBe(before + 1);
  });

  it('is not restored under a running service, nor from what is no ledger', async () => {
    const before = await usedRuns();
    const restore = readmeCommand('Back up and restore the ledger', 'ledger.mjs restore')
      .split('\n')
      .find((line) => line.includes('restore <'));
    await expect(deployment.run(`${restore}`)).rejects.toThrow('the service is running');
    writeFileSync(join(deployment.folder, 'ledger.db'), 'no database');
    await deployment.run('docker-compose stop api');
    await expect(deployment.run(`${restore}`)).rejects.toThrow('ledger:');
    await deployment.run('docker-compose start api');
    await ready();
    expect(await usedRuns()).toBe(before);
  });
});

describe('stopping', () => {
  it('loses nothing: a step in flight ends, counts and is answered, and the sandbox goes last', async () => {
    const before = await usedRuns();
    const script = [{ replies: [{ code: SUM, delay_ms: THINKS_MS }] }];
    writeFileSync(join(deployment.folder, 'config/model-script.json'), JSON.stringify(script));
    await deployment.run('docker-compose restart model');
    await eventually(
      async () =>
        inContainer(await container('api'), `answer(await tryConnect({ host: 'model', port: 4011 }));`),
      (reached) => reached === 'open',
    );
    const step = deployment.call('/v1/compute', {
      body: { step: 'the sum', result_type: 'number', sources: [{ name: 'xs', result: [1, 2, 3] }] },
    });
    await eventually(
      () => deployment.call('/v1/usage'),
      ({ json }) => json.open_permits === 1,
    );
    // Not the model: it stands for something outside, which nobody stops.
    await deployment.run('docker-compose stop api sandboxd');
    expect((await step).json).toMatchObject({ state: 'succeeded', result: 6, metered: { compute_runs: 1 } });

    const log = (service: string) => deployment.run(`docker-compose logs --no-color --tail 200 ${service}`);
    expect(eventTime(await log('api'), 'stopping')).toBeLessThan(stepTime(await log('api')));
    const [api, sandboxd] = [await inspect('api', '.State'), await inspect('sandboxd', '.State')] as {
      ExitCode: number;
      FinishedAt: string;
    }[];
    expect([api?.ExitCode, sandboxd?.ExitCode]).toEqual([0, 0]);
    expect(Date.parse(api?.FinishedAt ?? '')).toBeLessThanOrEqual(
      eventTime(await log('sandboxd'), 'stopping'),
    );
    const instances = [...(await log('sandboxd')).matchAll(/"detail":"([0-9a-f-]{36})","event":"instance"/g)];
    expect(instances.length).toBeGreaterThan(0);
    for (const [, instance] of instances) {
      expect(await deployment.run(`docker ps -aq --filter label=compute-step.instance=${instance}`)).toBe('');
    }

    await deployment.run('docker-compose up -d');
    await ready();
    expect(await usedRuns()).toBe(before + 1);
  });
});

/** Log lines of `docker-compose logs` as objects; those of earlier starts of the container stand before. */
function logged(text: string): { event?: string; state?: string; time: string }[] {
  return text
    .split('\n')
    .map((line) => line.slice(line.indexOf('{')))
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}

function eventTime(text: string, event: string): number {
  const time = logged(text).findLast((line) => line.event === event)?.time;
  if (time === undefined) throw new Error(`no ${event} in the log`);
  return Date.parse(time);
}

function stepTime(text: string): number {
  const time = logged(text).findLast((line) => line.state === 'succeeded')?.time;
  if (time === undefined) throw new Error('no step in the log');
  return Date.parse(time);
}

describe('secrets', () => {
  it('are read from files that only the service may read, and show in no environment', async () => {
    const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    const file = join(deployment.folder, 'secrets/model_signing_secret');
    writeFileSync(file, secret);
    chownSync(file, 10001, 10001);
    chmodSync(file, 0o400);
    const env = { MODEL_SIGNING_SECRET_FILE: '/run/secrets/model_signing_secret' };
    await deployment.run('docker-compose up -d', env);
    await ready();
    expect(JSON.stringify(await inspect('api', '.Config'))).toContain('MODEL_SIGNING_SECRET_FILE');
    expect(JSON.stringify(await inspect('api', '.'))).not.toContain(secret);
    expect((await run(SUM)).json.state).toBe('succeeded');
  });
});

describe('without internet', () => {
  it('carries both images as one file', async () => {
    const block = readmeCommand('Without internet', 'docker save').replace(
      /compute-step:\d+\.\d+\.\d+/,
      IMAGE,
    );
    await deployment.run(block);
    const names = await deployment.run('tar -xOf images.tar manifest.json');
    expect(names).toContain(IMAGE);
    expect(names).toMatch(/compute-step-sandbox:[0-9a-f]{16}/);
  });
});
