import type Docker from 'dockerode';

/** What a probe tells of a container that is as its create options ask for, on an engine with cgroup version 1. */
export function probeFacts(spec: Docker.ContainerCreateOptions): Record<string, unknown> {
  const { HostConfig: host = {} } = spec;
  const limits = Object.fromEntries((host.Ulimits ?? []).map(({ Name, Soft, Hard }) => [Name, [Soft, Hard]]));
  const none = '0000000000000000';
  return {
    capabilities: { CapInh: none, CapPrm: none, CapEff: none, CapBnd: none, CapAmb: none },
    no_new_privileges: '1',
    seccomp: '2',
    uids: Array(4).fill('65534'),
    gids: Array(4).fill('65534'),
    groups: [],
    pid: 1,
    host_name: spec.Hostname,
    root_writable: false,
    created: [],
    mounts: [
      { place: '/', type: 'overlay', writable: false },
      { place: '/proc', type: 'proc', writable: true },
      { place: '/dev/mqueue', type: 'mqueue', writable: true },
      { place: '/etc/hosts', type: 'ext4', writable: false },
    ],
    devices: ['core', 'fd', 'full', 'mqueue', 'null', 'ptmx', 'pts', 'random', 'urandom', 'zero'],
    interfaces: ['lo'],
    environment: { HOME: '', HOSTNAME: '', PATH: '', PYTHONHASHSEED: '0', TZ: 'UTC' },
    open_families: [],
    open_calls: [],
    limits,
    control_group: {
      memory: String(host.Memory),
      memory_and_swap: String(host.MemorySwap),
      swap: null,
      pids: String(host.PidsLimit),
      cpu: `${Math.round((host.NanoCpus ?? 0) / 1e4)} 100000`,
    },
    seen: [],
    unsealed: [],
    zone_data: true,
  };
}
