import { EXIT_SIGKILL } from './exit.ts';
import type { ProbeOutcome } from './probe.ts';

/** What the operator asked for, which a probe must find in force. */
export interface ProbeExpectations {
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly wallSeconds: number;
}

/** A check of the self-test that did not hold. */
export interface SelfTestFault {
  readonly check: SelfTestCheck;
  /** What was wanted; never more of what was found than a name or a number of the container's own. */
  readonly detail: string;
}

type Facts = Readonly<Record<string, unknown>>;
type Check = (facts: Facts, expected: ProbeExpectations, outcome: ProbeOutcome) => string | null;

/*
 * What the spec asks for stands here a second time, and not imported from it: a value that is weakened there must
 * not weaken what it is held against.
 */
const MIB = 1024 * 1024;
const PIDS = 64;
const HOST_NAME = 'sandbox';
const SET_VARIABLES: Readonly<Record<string, string>> = { PYTHONHASHSEED: '0', TZ: 'UTC' };
/** The engine gives every process these. */
const ENGINE_VARIABLES = ['HOME', 'HOSTNAME', 'PATH'];
/** What the engine mounts into every container; below /proc, /sys and /dev it mounts more. */
const ENGINE_MOUNTS = ['/', '/etc/hosts', '/etc/hostname', '/etc/resolv.conf'];
const SYSTEM_PLACE = /^\/(proc|sys|dev)(\/|$)/;
/** `shm` is not among them: without an IPC namespace there is none. */
const DEVICES = [
  ...[
    'console',
    'core',
    'fd',
    'full',
    'mqueue',
    'null',
    'ptmx',
    'pts',
    'random',
    'stderr',
    'stdin',
    'stdout',
  ],
  ...['tty', 'urandom', 'zero'],
];

const CHECKS = {
  capabilities: ({ capabilities }) =>
    isRecord(capabilities) &&
    ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].every((set) => /^0+$/.test(String(capabilities[set])))
      ? null
      : 'a set of capabilities is not empty',
  no_new_privileges: (facts) => (facts.no_new_privileges === '1' ? null : 'it is not set'),
  seccomp: ({ seccomp }) => (seccomp === '2' ? null : 'no filter is in force'),
  user: ({ uids, gids, groups }) =>
    isIds(uids, 4) && isIds(gids, 4) && isIds(groups, 0) ? null : 'user, group or a further group is 0',
  read_only_root: ({ root_writable: writable, created }) =>
    writable === false && isEmpty(created) ? null : 'the root can be written, or a file was created',
  mounts: ({ mounts }) =>
    Array.isArray(mounts) && mounts.every(isEngineMount)
      ? null
      : 'one is writable, or not among those the engine makes',
  devices: ({ devices }) =>
    isNames(devices) && devices.filter((name) => name !== 'shm').every((name) => DEVICES.includes(name))
      ? null
      : 'there is one that the engine does not give to every container',
  ipc: ({ devices }) =>
    isNames(devices) && !devices.includes('shm')
      ? null
      : 'there is shared memory: IpcMode none is not in force',
  network: ({ interfaces }) =>
    isNames(interfaces) && interfaces.every((name) => name === 'lo') ? null : 'there is a device besides lo',
  environment: ({ environment }) =>
    isRecord(environment) &&
    Object.keys(environment).every((name) => name in SET_VARIABLES || ENGINE_VARIABLES.includes(name)) &&
    Object.entries(SET_VARIABLES).every(([name, value]) => environment[name] === value)
      ? null
      : 'it is not PYTHONHASHSEED=0, TZ=UTC and the engine’s own variables',
  sockets: (facts) => (isEmpty(facts.open_families) ? null : 'one can be opened'),
  fork: (facts) => callsRefused(facts, ['fork', 'spawn']),
  threads: (facts) => callsRefused(facts, ['thread']),
  system_calls: (facts) => callsRefused(facts, ['memfd', 'namespace', 'pipe', 'kill']),
  first_process: ({ pid }) => (pid === 1 ? null : 'the harness is not process 1'),
  host_name: (facts) => (facts.host_name === HOST_NAME ? null : 'it is not the container’s own'),
  core_limit: (facts) => limitIs(facts, 'core', 1),
  file_limit: (facts) => limitIs(facts, 'nofile', 64),
  file_size_limit: (facts) => limitIs(facts, 'fsize', MIB),
  cpu_time_limit: (facts, { wallSeconds }) => limitIs(facts, 'cpu', Math.ceil(wallSeconds) + 2),
  pids_limit: ({ control_group: group }) =>
    isRecord(group) && isLimit(group.pids, PIDS) ? null : `pids.max is not ${PIDS}`,
  memory_limit: ({ control_group: group }, { memoryBytes }) =>
    isRecord(group) &&
    isLimit(group.memory, memoryBytes) &&
    isLimit(group.memory_and_swap, memoryBytes) &&
    isLimit(group.swap, 0)
      ? null
      : `the limit is not ${memoryBytes} bytes with swap included`,
  cpu_share: ({ control_group: group }, { cpus }) =>
    isRecord(group) && isShare(group.cpu, cpus) ? null : `the share is not ${cpus} CPUs`,
  out_of_memory: (_facts, _expected, { exit }) => {
    if (exit?.kind === 'lost') {
      return 'the engine did not say how a process past the memory limit ended';
    }
    return exit?.exitCode === EXIT_SIGKILL
      ? null
      : 'a process past the memory limit was not killed: does the engine limit memory, swap included?';
  },
  host_facts: ({ seen }) => (isEmpty(seen) ? null : 'a masked path shows something'),
  sealed_paths: ({ unsealed }) =>
    isEmpty(unsealed) ? null : 'a path of the kernel is not mounted read-only',
  zone_data: (facts) => (facts.zone_data === true ? null : 'the image has no time zones'),
} as const satisfies Record<string, Check>;

/** The closed set of checks; the names are for logs and `doctor`. */
export type SelfTestCheck = keyof typeof CHECKS | 'facts' | 'modules';
export const SELF_TEST_CHECKS: readonly SelfTestCheck[] = [
  'facts',
  'modules',
  ...(Object.keys(CHECKS) as (keyof typeof CHECKS)[]),
];

/**
 * Judges what a probe told of its container against what every container must be like; empty if all holds. A fact
 * that is missing or of another type than it should be is a fault of its check. Pure.
 */
export function judgeProbe(outcome: ProbeOutcome, expected: ProbeExpectations): readonly SelfTestFault[] {
  const { facts } = outcome;
  if (!isRecord(facts)) {
    return [{ check: 'facts', detail: 'the probe did not tell what its container is like' }];
  }
  return (Object.keys(CHECKS) as (keyof typeof CHECKS)[]).flatMap((check) => {
    const detail = (CHECKS[check] as Check)(facts, expected, outcome);
    return detail === null ? [] : [{ check, detail }];
  });
}

function isRecord(value: unknown): value is Facts {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** At least so many ids, none of them root's. */
function isIds(value: unknown, atLeast: number): boolean {
  return isNames(value) && value.length >= atLeast && value.every((id) => /^[1-9]\d*$/.test(id));
}

function isEngineMount(mount: unknown): boolean {
  if (!isRecord(mount) || typeof mount.place !== 'string') {
    return false;
  }
  return SYSTEM_PLACE.test(mount.place) || (ENGINE_MOUNTS.includes(mount.place) && mount.writable === false);
}

function callsRefused({ open_calls: calls }: Facts, names: readonly string[]): string | null {
  if (!isNames(calls)) {
    return 'not told';
  }
  const open = names.filter((name) => calls.includes(name));
  return open.length === 0 ? null : `not refused: ${open.join(', ')}`;
}

function limitIs({ limits }: Facts, name: string, value: number): string | null {
  const pair = isRecord(limits) ? limits[name] : null;
  return Array.isArray(pair) && pair.length === 2 && pair.every((one) => one === value)
    ? null
    : `soft and hard limit are not ${value}`;
}

/** A control group's file with this number; null is a file that there is not in this version. */
function isLimit(text: unknown, value: number): boolean {
  return text === null || text === String(value);
}

/** Quota and period in microseconds. */
function isShare(text: unknown, cpus: number): boolean {
  if (text === null) {
    return true;
  }
  const [quota, period] = String(text).split(' ').map(Number);
  return Math.abs((quota ?? Number.NaN) / (period ?? Number.NaN) - cpus) <= cpus * 0.01;
}
