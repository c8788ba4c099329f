import type Docker from 'dockerode';

/** Label of every container of any instance; the reaper looks for it. */
export const LABEL = 'compute-step';
export const LABEL_INSTANCE = 'compute-step.instance';
export const LABEL_EXPIRES = 'compute-step.expires';

/** All that may differ between two containers: the operator's settings, who started it and until when. */
export interface ContainerSettings {
  /** Id of the image, `sha256:…`. */
  readonly image: string;
  readonly instanceId: string;
  /** Epoch seconds after which any instance may remove it. */
  readonly expiresAtSeconds: number;
  /** The seccomp profile as JSON text; a path would be a 500 of the engine. */
  readonly seccomp: string;
  readonly memoryMb: number;
  readonly cpus: number;
  readonly wallSeconds: number;
  /** OCI runtime, or null for the engine's. */
  readonly runtime: string | null;
  readonly cgroupVersion: 1 | 2;
}

const MIB = 1024 * 1024;

/** What Docker masks by itself; a list of ours replaces it, so it must be said again. */
const ENGINE_MASKED_PATHS = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/proc/interrupts',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];

/** Facts about the host that Python has no use for: its kernel, its command line, its memory, its load. */
const HOST_FACT_PATHS = [
  '/proc/buddyinfo',
  '/proc/cmdline',
  '/proc/config.gz',
  '/proc/cpuinfo',
  '/proc/diskstats',
  '/proc/kallsyms',
  '/proc/loadavg',
  '/proc/meminfo',
  '/proc/modules',
  '/proc/pagetypeinfo',
  '/proc/partitions',
  '/proc/slabinfo',
  '/proc/stat',
  '/proc/swaps',
  '/proc/uptime',
  '/proc/version',
  '/proc/vmallocinfo',
  '/proc/vmstat',
  '/proc/zoneinfo',
  '/sys/devices/virtual/dmi',
];

/** Mounted read-only in every container. */
export const READONLY_PATHS: readonly string[] = [
  '/proc/bus',
  '/proc/fs',
  '/proc/irq',
  '/proc/sys',
  '/proc/sysrq-trigger',
];

/** The one place that is still writable in a read-only root: everybody may make message queues there. */
const WRITABLE_PATHS = ['/dev/mqueue'];

/** Shows nothing of itself in any container. */
export const MASKED_PATHS: readonly string[] = [
  ...ENGINE_MASKED_PATHS,
  ...HOST_FACT_PATHS,
  ...WRITABLE_PATHS,
];

/**
 * The create options of every container, and the only place they are made: nothing of a request stands in them
 * (code and data enter by stdin), nothing is mounted, nothing is added to what the image has. Pure.
 */
export function containerSpec(settings: ContainerSettings): Docker.ContainerCreateOptions {
  const memoryBytes = settings.memoryMb * MIB;
  return {
    Image: settings.image,
    Hostname: 'sandbox',
    Domainname: '',
    User: '65534:65534',
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    // When our end of the stream goes, so does stdin: a container whose service was killed ends by itself.
    StdinOnce: true,
    Tty: false,
    Env: ['PYTHONHASHSEED=0', 'TZ=UTC'],
    WorkingDir: '/',
    NetworkDisabled: true,
    Healthcheck: { Test: ['NONE'] },
    Labels: {
      [LABEL]: '1',
      [LABEL_INSTANCE]: settings.instanceId,
      [LABEL_EXPIRES]: String(settings.expiresAtSeconds),
    },
    HostConfig: {
      NetworkMode: 'none',
      IpcMode: 'none',
      ...(settings.cgroupVersion === 2 ? { CgroupnsMode: 'private' } : {}),
      ReadonlyRootfs: true,
      Privileged: false,
      CapAdd: [],
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges', `seccomp=${settings.seccomp}`],
      MaskedPaths: [...MASKED_PATHS],
      ReadonlyPaths: [...READONLY_PATHS],
      // The same number twice: no swap.
      Memory: memoryBytes,
      MemorySwap: memoryBytes,
      OomKillDisable: false,
      // fork and threads are refused by seccomp; 1 would lose starts, because the runtime's own threads count.
      PidsLimit: 64,
      NanoCpus: Math.round(settings.cpus * 1e9),
      Ulimits: [
        // 1, not 0: with a piped core_pattern the kernel dumps regardless of 0.
        { Name: 'core', Soft: 1, Hard: 1 },
        { Name: 'nofile', Soft: 64, Hard: 64 },
        { Name: 'fsize', Soft: MIB, Hard: MIB },
        // Ends loops inside C code should this service not be there to kill; our own deadline comes first.
        { Name: 'cpu', Soft: cpuSeconds(settings), Hard: cpuSeconds(settings) },
      ],
      // A log driver would write what the container prints to the host's disk.
      LogConfig: { Type: 'none', Config: {} },
      AutoRemove: false,
      Init: false,
      RestartPolicy: { Name: 'no' },
      ...(settings.runtime === null ? {} : { Runtime: settings.runtime }),
    },
  };
}

function cpuSeconds(settings: ContainerSettings): number {
  return Math.ceil(settings.wallSeconds) + 2;
}
