import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createKey } from '../../src/tenants.ts';
import { type PostgresServer, startPostgres } from '../fakes/postgres.ts';
import { ROOT, readmeCommand, readmeCommands } from './readme.ts';
import { eventually, shell } from './shell.ts';
import { type Deployment, inContainer, newDeployment, POWERS } from './stack.ts';

const IMAGE = inject('serviceImage');
const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
const STEP = {
  step: 'the average price of my orders',
  result_type: 'number',
  sources: [{ name: 'orders', result: [{ price: 20 }, { price: 35.5 }] }],
};

// Making a swarm changes the engine while it lasts: only where that was asked for, and never one that is in use.
const asked = process.env.DEPLOY_SWARM === '1';

/** What the test adds to swarm.yaml: a model, and the way to a database that listens on a socket only. */
const ADDED = (folder: string, databaseFolder: string) => `
version: "3.9"
services:
  api:
    volumes: ["${databaseFolder}:/database"]
  model:
    image: ${IMAGE}
    command: [model, --script, /model/model-script.json, --signing-secret-file, /model/secret, --host, 0.0.0.0, --port, "4011"]
    volumes: ["${folder}/model:/model:ro"]
    networks: [edge]
    healthcheck: {disable: true}
    # By its address: a virtual one needs IPVS, which not every kernel has.
    deploy: {endpoint_mode: dnsrr}
`;

describe.skipIf(!asked)('swarm.yaml on a swarm of one node', () => {
  let deployment: Deployment;
  let database: PostgresServer;
  let key: string;
  let gateways: string;
  let joined = false;

  const outside = (command: string) => shell(command, { cwd: ROOT });
  const networks = () => outside('docker network ls --quiet --filter name=docker_gwbridge');

  async function container(service: string): Promise<string> {
    const filter = `label=com.docker.swarm.service.name=${deployment.name}_${service}`;
    const [id = ''] = (await outside(`docker ps --quiet --filter ${filter}`)).split('\n');
    return id;
  }

  async function usedRuns(): Promise<number> {
    return (await deployment.call('/v1/usage', { key })).json.compute_runs.used;
  }

  beforeAll(async () => {
    if ((await outside(`docker info --format '{{.Swarm.LocalNodeState}}'`)).trim() !== 'inactive') {
      throw new Error('this engine is in a swarm already: run the test on another');
    }
    deployment = await newDeployment(IMAGE, {
      MODEL_WEBHOOK_URL: 'http://model:4011/write',
      MODEL_ALLOWED_HOSTS: 'model:4011',
    });
    database = await startPostgres();
    const made = createKey('acme', 1000, 3600);
    key = made.key;
    for (const folder of ['config', 'secrets', 'model']) mkdirSync(join(deployment.folder, folder));
    const files = {
      'config/tenants.json': JSON.stringify({ tenants: [made.entry] }),
      'secrets/ledger_url': 'postgres://ledger@/postgres?host=/database',
      'secrets/model_signing_secret': SECRET,
      'model/secret': SECRET,
      'added.yaml': ADDED(deployment.folder, database.socketFolder),
    };
    for (const [path, text] of Object.entries(files)) writeFileSync(join(deployment.folder, path), text);
    await deployment.run('cp model-script.example.json model/model-script.json');
    gateways = await networks();
    await outside('docker swarm init --advertise-addr 127.0.0.1 --listen-addr 127.0.0.1:2377');
    joined = true;
    const [start = ''] = readmeCommands('More machines');
    await deployment.run(
      start.replace('-c swarm.yaml compute-step', `-c swarm.yaml -c added.yaml ${deployment.name}`),
    );
    await eventually(
      () => deployment.call('/readyz', { key }),
      ({ status }) => status === 200,
    );
    await eventually(
      async () =>
        inContainer(await container('api'), `answer(await tryConnect({ host: 'model', port: 4011 }));`),
      (reached) => reached === 'open',
    );
  });

  afterAll(async () => {
    if (joined) {
      const own = `docker ps --all --quiet --filter label=com.docker.stack.namespace=${deployment.name}`;
      await outside(`docker stack rm ${deployment.name}`).catch(() => '');
      await eventually(
        () => outside(own),
        (ids) => ids === '',
      ).catch(() => '');
      await outside('docker swarm leave --force');
      await outside(`docker volume rm --force ${deployment.name}_socket`);
      if (gateways === '') await outside('docker network rm docker_gwbridge');
    }
    await database?.remove();
    deployment?.removeFolder();
  });

  it('takes a metered step, with the ledger in PostgreSQL and a signed request to the webhook', async () => {
    const { json } = await deployment.call('/v1/compute', { key, body: STEP });
    expect(json).toMatchObject({ state: 'succeeded', result: 27.75, metered: { compute_runs: 1 } });
    expect(await usedRuns()).toBe(1);
  });

  it('leaves sandboxd no way out, no capability and a read-only root', async () => {
    const id = await container('sandboxd');
    expect(await inContainer(id, POWERS)).toMatchObject({
      uid: 0,
      gid: 10001,
      capabilities: Array(5).fill('0000000000000000'),
      root: ['EROFS', 'EROFS', 'EROFS'],
      shell: 'ENOENT',
      networks: ['eth0', 'lo'],
      routes: 0,
    });
    expect(await inContainer(id, `answer(await tryConnect({ host: '192.0.2.1', port: 443 }));`)).toBe(
      'ENETUNREACH',
    );
  });

  it('leaves the API no engine, no capability and a read-only root', async () => {
    const id = await container('api');
    expect(await inContainer(id, POWERS)).toMatchObject({
      uid: 10001,
      gid: 10001,
      capabilities: Array(5).fill('0000000000000000'),
      root: ['EROFS', 'EROFS', 'EROFS'],
    });
    expect(await inContainer(id, `answer(await tryConnect({ path: '/var/run/docker.sock' }));`)).toBe(
      'ENOENT',
    );
  });

  it('shows its secrets to the API’s user alone', async () => {
    const modes = await inContainer(
      await container('api'),
      `answer(fs.readdirSync('/run/secrets').sort().map((name) => {
         const { mode, uid } = fs.statSync('/run/secrets/' + name);
         return [name, (mode & 0o777).toString(8), uid];
       }));`,
    );
    expect(modes).toEqual([
      ['ledger_url', '400', 10001],
      ['model_signing_secret', '400', 10001],
      ['tenants.json', '400', 10001],
    ]);
  });

  it('has a ledger that the README’s commands back up and restore', async () => {
    const before = await usedRuns();
    const [programs = ''] = (await outside('ls -d /usr/lib/postgresql/*/bin')).split('\n');
    const env = { LEDGER_URL: database.url(), PATH: `${programs}:${process.env.PATH}` };
    await deployment.run(readmeCommand('Back up and restore the ledger', 'pg_dump'), env);
    await deployment.call('/v1/compute', { key, body: STEP });
    expect(await usedRuns()).toBe(before + 1);
    await deployment.run(readmeCommand('Back up and restore the ledger', 'pg_restore'), env);
    expect(await usedRuns()).toBe(before);
  });
});
