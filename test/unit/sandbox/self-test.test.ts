import { describe, expect, test } from 'vitest';
import { containerSpec } from '../../../src/sandbox/container-spec.ts';
import type { ProbeOutcome } from '../../../src/sandbox/probe.ts';
import { judgeProbe, SELF_TEST_CHECKS } from '../../../src/sandbox/self-test.ts';
import { probeFacts } from '../../fakes/probe-facts.ts';

const MEMORY_MB = 128;
const EXPECTED = { memoryBytes: MEMORY_MB * 1024 * 1024, cpus: 1.5, wallSeconds: 9.5 };
const SPEC = containerSpec({
  image: 'sha256:x',
  instanceId: 'i',
  expiresAtSeconds: 1,
  seccomp: '{}',
  memoryMb: MEMORY_MB,
  cpus: EXPECTED.cpus,
  wallSeconds: EXPECTED.wallSeconds,
  runtime: null,
  cgroupVersion: 1,
});
const HEALTHY = probeFacts(SPEC);
const KILLED = { kind: 'exited', exitCode: 137, oomKilled: true, killedByOther: false } as const;
const judge = (facts: unknown, exit: ProbeOutcome['exit'] = KILLED) => judgeProbe({ facts, exit }, EXPECTED);
const checks = (more: Record<string, unknown>, exit: ProbeOutcome['exit'] = KILLED) =>
  judge({ ...HEALTHY, ...more }, exit).map(({ check }) => check);
const part = (fact: string, more: Record<string, unknown>) => ({
  [fact]: { ...(HEALTHY[fact] as object), ...more },
});

describe('the judgement on a probe', () => {
  test('finds nothing wrong with a container that is as its create options ask for', () => {
    expect(judge(HEALTHY)).toEqual([]);
  });

  test('takes the files of cgroup version 2, and an engine that shows none', () => {
    const v2 = { memory: String(EXPECTED.memoryBytes), memory_and_swap: null, swap: '0', pids: '64' };
    expect(checks({ control_group: { ...v2, cpu: '150000 100000' } })).toEqual([]);
    const none = { memory: null, memory_and_swap: null, swap: null, pids: null, cpu: null };
    expect(checks({ control_group: none })).toEqual([]);
  });

  const cases: [string, Record<string, unknown>, string][] = [
    ...['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map(
      (set): [string, Record<string, unknown>, string] => [
        `a right in ${set}`,
        part('capabilities', { [set]: '0000000000002000' }),
        'capabilities',
      ],
    ),
    ['privileges that may be gained', { no_new_privileges: '0' }, 'no_new_privileges'],
    ['no filter', { seccomp: '0' }, 'seccomp'],
    ['strict mode instead of a filter', { seccomp: '1' }, 'seccomp'],
    ['a saved user 0', { uids: ['65534', '65534', '0', '65534'] }, 'user'],
    ['a group 0', { gids: Array(4).fill('0') }, 'user'],
    ['a further group 0', { groups: ['65534', '0'] }, 'user'],
    ['no user told', { uids: [] }, 'user'],
    ['a writable root', { root_writable: true }, 'read_only_root'],
    ['a created file', { created: ['/tmp'] }, 'read_only_root'],
    ['a mount of somebody', { mounts: [{ place: '/data', type: 'ext4', writable: false }] }, 'mounts'],
    ['a writable mount', { mounts: [{ place: '/etc/hosts', type: 'ext4', writable: true }] }, 'mounts'],
    [
      'a mount like a system one',
      { mounts: [{ place: '/processed', type: 'x', writable: false }] },
      'mounts',
    ],
    ['a device', { devices: ['null', 'kvm'] }, 'devices'],
    ['shared memory', { devices: ['null', 'shm'] }, 'ipc'],
    ['a network device', { interfaces: ['lo', 'eth0'] }, 'network'],
    ['a variable more', part('environment', { LD_PRELOAD: '' }), 'environment'],
    ['another hash seed', part('environment', { PYTHONHASHSEED: 'random' }), 'environment'],
    ['no time zone', { environment: { PYTHONHASHSEED: '0' } }, 'environment'],
    ['a socket', { open_families: [40] }, 'sockets'],
    ['fork', { open_calls: ['fork'] }, 'fork'],
    ['a spawned process', { open_calls: ['spawn'] }, 'fork'],
    ['a thread', { open_calls: ['thread'] }, 'threads'],
    ...['memfd', 'namespace', 'pipe', 'kill'].map((call): [string, Record<string, unknown>, string] => [
      call,
      { open_calls: [call] },
      'system_calls',
    ]),
    ['a process before it', { pid: 7 }, 'first_process'],
    ['the host’s name', { host_name: 'db-1' }, 'host_name'],
    ['a core limit of 0', part('limits', { core: [0, 0] }), 'core_limit'],
    ['a core limit that may be raised', part('limits', { core: [1, -1] }), 'core_limit'],
    ['more open files', part('limits', { nofile: [64, 1024] }), 'file_limit'],
    ['larger files', part('limits', { fsize: [-1, -1] }), 'file_size_limit'],
    ['more CPU time', part('limits', { cpu: [13, 13] }), 'cpu_time_limit'],
    ['more processes', part('control_group', { pids: 'max' }), 'pids_limit'],
    ['more memory', part('control_group', { memory: 'max' }), 'memory_limit'],
    ['swap in version 1', part('control_group', { memory_and_swap: '9223372036854771712' }), 'memory_limit'],
    ['swap in version 2', part('control_group', { swap: 'max' }), 'memory_limit'],
    ['more CPU', part('control_group', { cpu: '200000 100000' }), 'cpu_share'],
    ['all CPU', part('control_group', { cpu: 'max 100000' }), 'cpu_share'],
    ['a fact about the host', { seen: ['/proc/meminfo'] }, 'host_facts'],
    ['a path of the kernel', { unsealed: ['/proc/sys'] }, 'sealed_paths'],
    ['no time zones', { zone_data: false }, 'zone_data'],
  ];
  test.each(cases)('names %s, and nothing else', (_what, facts, check) => {
    expect(checks(facts)).toEqual([check]);
  });

  test.each<[string, ProbeOutcome['exit']]>([
    ['lived on', null],
    ['ended by itself', { kind: 'exited', exitCode: 76, oomKilled: false, killedByOther: false }],
    ['was lost', { kind: 'lost' }],
  ])('names a process past its memory that %s', (_what, exit) => {
    expect(judge(HEALTHY, exit).map(({ check }) => check)).toEqual(['out_of_memory']);
  });

  test('tells a process whose end the engine did not report from one that lived on', () => {
    expect(judge(HEALTHY, { kind: 'lost' })[0]?.detail).toContain('did not say');
    expect(judge(HEALTHY, null)[0]?.detail).toContain('was not killed');
  });

  test('takes an exit by kill for being out of memory, though the engine did not say so', () => {
    expect(checks({}, { kind: 'exited', exitCode: 137, oomKilled: false, killedByOther: false })).toEqual([]);
  });

  test.each([[null], [[]], ['x'], [undefined]])('names missing facts: %j', (facts) => {
    expect(judge(facts).map(({ check }) => check)).toEqual(['facts']);
  });

  test('names every check whose fact is missing', () => {
    const missing = judge({}).map(({ check }) => check);
    // These two are seen from outside.
    expect([...missing, 'facts', 'modules', 'out_of_memory'].sort()).toEqual([...SELF_TEST_CHECKS].sort());
  });
});
