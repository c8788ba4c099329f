import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type ContainerSettings, containerSpec } from '../../../src/sandbox/container-spec.ts';

const SETTINGS: ContainerSettings = {
  image: `sha256:${'0123456789abcdef'.repeat(4)}`,
  instanceId: 'instance-1',
  expiresAtSeconds: 1_800_000_000,
  seccomp: '{"defaultAction":"SCMP_ACT_ERRNO"}',
  memoryMb: 256,
  cpus: 1.5,
  wallSeconds: 9.5,
  runtime: null,
  cgroupVersion: 1,
};
const GOLDEN = new URL('./fixtures/container-spec.json', import.meta.url);
const host = (more: Partial<ContainerSettings> = {}) => containerSpec({ ...SETTINGS, ...more }).HostConfig;

describe('the create options of a container', () => {
  test('are byte for byte the reviewed ones', () => {
    expect(`${JSON.stringify(containerSpec(SETTINGS), null, 2)}\n`).toBe(readFileSync(GOLDEN, 'utf8'));
  });

  test('carry the engine’s own masked paths besides ours, since a list replaces the default', () => {
    expect(host()?.MaskedPaths).toEqual(
      expect.arrayContaining([
        '/proc/kcore',
        '/proc/keys',
        '/proc/timer_list',
        '/sys/firmware',
        '/proc/config.gz',
      ]),
    );
    expect(host()?.ReadonlyPaths).toEqual(expect.arrayContaining(['/proc/sys', '/proc/sysrq-trigger']));
  });

  test('take the seccomp profile inline, never a path', () => {
    expect(host()?.SecurityOpt).toContain(`seccomp=${SETTINGS.seccomp}`);
  });

  test('allow no swap whatever the memory', () => {
    expect(host({ memoryMb: 33 })).toMatchObject({ Memory: 33 * 1024 * 1024, MemorySwap: 33 * 1024 * 1024 });
  });

  test('end C loops two seconds past the wall limit, in whole seconds', () => {
    expect(host()?.Ulimits).toContainEqual({ Name: 'cpu', Soft: 12, Hard: 12 });
    expect(host({ wallSeconds: 10 })?.Ulimits).toContainEqual({ Name: 'cpu', Soft: 12, Hard: 12 });
  });

  test('name a runtime only if the operator did', () => {
    expect(host()).not.toHaveProperty('Runtime');
    expect(host({ runtime: 'runsc' })).toMatchObject({ Runtime: 'runsc' });
  });

  test('ask for an own cgroup namespace only on cgroup v2', () => {
    expect(host()).not.toHaveProperty('CgroupnsMode');
    expect(host({ cgroupVersion: 2 })).toMatchObject({ CgroupnsMode: 'private' });
  });

  test('carry exactly three labels and two variables', () => {
    const { Labels, Env } = containerSpec(SETTINGS);
    expect(Labels).toEqual({
      'compute-step': '1',
      'compute-step.instance': 'instance-1',
      'compute-step.expires': '1800000000',
    });
    expect(Env).toEqual(['PYTHONHASHSEED=0', 'TZ=UTC']);
  });

  test('mount nothing, publish nothing, run no command of their own', () => {
    const spec = containerSpec(SETTINGS);
    for (const name of ['Cmd', 'Entrypoint', 'Volumes', 'ExposedPorts', 'NetworkingConfig', 'name']) {
      expect(spec).not.toHaveProperty(name);
    }
    for (const name of [
      'Binds',
      'Mounts',
      'Tmpfs',
      'Devices',
      'VolumesFrom',
      'PortBindings',
      'DeviceRequests',
    ]) {
      expect(spec.HostConfig).not.toHaveProperty(name);
    }
  });
});
