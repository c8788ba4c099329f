import { randomUUID } from 'node:crypto';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSandboxOn } from '../../src/sandbox/docker.ts';
import { createDockerEngine, type Engine } from '../../src/sandbox/engine.ts';
import { realSettings } from '../fakes/real-sandbox.ts';

type Spec = Docker.ContainerCreateOptions;
type Host = NonNullable<Spec['HostConfig']>;

const docker = new Docker();
const instances: string[] = [];
const engine = createDockerEngine(process.env.DOCKER_HOST ?? null);

/** The self-test's state where every container is created with other options than the spec has. */
async function selfTestWith(weaken: (spec: Spec) => Spec): Promise<{ ok: boolean; detail: string }> {
  const instanceId = randomUUID();
  instances.push(instanceId);
  const weak: Engine = { ...engine, create: (spec) => engine.create(weaken(spec)), close: () => {} };
  const { dockerHost: _, ...settings } = realSettings({ instanceId, poolSize: 0 });
  const sandbox = createSandboxOn(weak, settings);
  try {
    const states = await sandbox.readiness();
    expect(states).toContainEqual(expect.objectContaining({ check: 'image', ok: true }));
    const state = states.find(({ check }) => check === 'self_test');
    return state ?? { ok: false, detail: 'no such state' };
  } finally {
    await sandbox.close();
  }
}

const host = (more: (host: Host) => Host) => (spec: Spec) => ({
  ...spec,
  HostConfig: more(spec.HostConfig ?? {}),
});
const withHost = (more: Host) => host((before) => ({ ...before, ...more }));
const without = (name: string) =>
  host((before) => ({ ...before, Ulimits: (before.Ulimits ?? []).filter(({ Name }) => Name !== name) }));
const security = (...options: string[]) => withHost({ SecurityOpt: options });
const profile = (spec: Spec): string =>
  spec.HostConfig?.SecurityOpt?.find((option: string) => option.startsWith('seccomp=')) ?? '';
/** The profile with some more calls allowed. */
const allowing = (names: readonly string[]) => (spec: Spec) => {
  const text = JSON.parse(profile(spec).slice('seccomp='.length));
  text.syscalls.push({ names, action: 'SCMP_ACT_ALLOW' });
  return security('no-new-privileges', `seccomp=${JSON.stringify(text)}`)(spec);
};

beforeAll(() => docker.ping());

afterAll(async () => {
  engine.close();
  for (const instance of instances) {
    const left = await docker.listContainers({
      all: true,
      filters: { label: [`compute-step.instance=${instance}`] },
    });
    expect(left).toEqual([]);
  }
});

describe('the self-test', () => {
  test('passes for the spec as it is', async () => {
    expect(await selfTestWith((spec) => spec)).toMatchObject({ ok: true });
  });

  // What a container cannot tell from inside is held by the golden file of its create options: labels, LogConfig,
  // AutoRemove, RestartPolicy, Healthcheck, StdinOnce, OomKillDisable, and Domainname.
  test.each<[string, (spec: Spec) => Spec, string]>([
    ['capabilities that are not dropped', withHost({ CapDrop: [] }), 'capabilities'],
    ['a capability that is added', withHost({ CapAdd: ['NET_RAW'] }), 'capabilities'],
    ['a privileged container', withHost({ Privileged: true }), 'capabilities'],
    ['privileges that may be gained', (spec) => security(profile(spec))(spec), 'no_new_privileges'],
    ['no seccomp profile', security('no-new-privileges', 'seccomp=unconfined'), 'seccomp'],
    ['the engine’s own seccomp profile', security('no-new-privileges'), 'sockets'],
    ['sockets in the profile', allowing(['socket', 'socketpair']), 'sockets'],
    ['forking in the profile', allowing(['clone', 'clone3', 'fork', 'vfork']), 'fork'],
    ['threads in the profile', allowing(['clone', 'clone3']), 'threads'],
    ['files in memory in the profile', allowing(['memfd_create']), 'system_calls'],
    ['root as user', (spec) => ({ ...spec, User: '0:0' }), 'user'],
    ['root as group', (spec) => ({ ...spec, User: '65534:0' }), 'user'],
    ['a further group', withHost({ GroupAdd: ['0'] }), 'user'],
    ['a writable root', withHost({ ReadonlyRootfs: false }), 'read_only_root'],
    ['a folder of the host', withHost({ Binds: ['/usr:/host:ro'] }), 'mounts'],
    ['a writable folder in memory', withHost({ Tmpfs: { '/tmp': 'mode=1777' } }), 'mounts'],
    ['a device', withHost({ Devices: [device('/dev/zero', '/dev/other')] }), 'devices'],
    ['shared memory', withHost({ IpcMode: 'shareable' }), 'ipc'],
    ['private shared memory', withHost({ IpcMode: 'private' }), 'ipc'],
    ['the host’s network', withNetwork('host'), 'network'],
    ['one more variable', (spec) => ({ ...spec, Env: [...(spec.Env ?? []), 'EXTRA=1'] }), 'environment'],
    ['another hash seed', (spec) => ({ ...spec, Env: ['PYTHONHASHSEED=1', 'TZ=UTC'] }), 'environment'],
    ['another time zone', (spec) => ({ ...spec, Env: ['PYTHONHASHSEED=0', 'TZ=Asia/Tokyo'] }), 'environment'],
    // It cannot fork, so the harness never comes up.
    ['an init process', withHost({ Init: true }), 'the container ended before it was ready'],
    ['another host name', (spec) => ({ ...spec, Hostname: 'other' }), 'host_name'],
    ['no core limit', without('core'), 'core_limit'],
    ['no limit of open files', without('nofile'), 'file_limit'],
    ['no limit of file sizes', without('fsize'), 'file_size_limit'],
    ['no limit of CPU time', without('cpu'), 'cpu_time_limit'],
    ['no limit of processes', withHost({ PidsLimit: -1 }), 'pids_limit'],
    ['no limit of memory', withHost({ Memory: 0, MemorySwap: 0 }), 'out_of_memory'],
    ['more memory', withHost({ Memory: 2 ** 28, MemorySwap: 2 ** 28 }), 'memory_limit'],
    ['swap besides the memory', withHost({ MemorySwap: -1 }), 'memory_limit'],
    ['no share of the CPU', withHost({ NanoCpus: 0 }), 'cpu_share'],
    ['facts about the host', withHost({ MaskedPaths: [] }), 'host_facts'],
    ['writable paths of the kernel', withHost({ ReadonlyPaths: [] }), 'sealed_paths'],
  ])('names what is weak about %s', async (_what, weaken, check) => {
    const { ok, detail } = await selfTestWith(weaken);
    expect(ok).toBe(false);
    expect(detail.split('; ').map((fault) => fault.split(':')[0])).toContain(check);
  });
});

function device(from: string, to: string) {
  return { PathOnHost: from, PathInContainer: to, CgroupPermissions: 'rwm' };
}

function withNetwork(mode: string) {
  return (spec: Spec): Spec => ({ ...withHost({ NetworkMode: mode })(spec), NetworkDisabled: false });
}
