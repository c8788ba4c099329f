/** What the engine is: its cgroup version decides one create option, the rest is for people. */
export interface EngineFacts {
  readonly cgroupVersion: 1 | 2;
  readonly version: string;
  /** The OCI runtime of containers that name none. */
  readonly defaultRuntime: string;
}

/** Which reports on a container's end the engine has. */
export interface ReportedEnds {
  readonly oom: boolean;
  readonly kill: boolean;
}

/** A reading of a container's control group; null is what the engine does not tell. */
export interface MeasuredUsage {
  readonly cpuSeconds: number | null;
  readonly peakMemoryBytes: number | null;
}

/** A parsed reply's member, at any depth of objects; undefined where there is none. */
function member(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[name] : undefined;
  }
  return at;
}

/** A reply of `/info`. Engines before 20.10 do not say their cgroup version; they know the first only. */
export function engineFacts(info: unknown): EngineFacts {
  return {
    cgroupVersion: String(member(info, 'CgroupVersion')) === '2' ? 2 : 1,
    version: word(member(info, 'ServerVersion')),
    defaultRuntime: word(member(info, 'DefaultRuntime')),
  };
}

/**
 * A reply of `/containers/{id}/stats`. The peak is cgroup v1's `max_usage`; under v2 most engines do not tell
 * `memory.peak` (runc #4000), and where one does it stands under the same name. Usage of a moment is no peak.
 */
export function measuredUsage(stats: unknown): MeasuredUsage {
  const cpuNs = positive(member(stats, 'cpu_stats', 'cpu_usage', 'total_usage'));
  return {
    cpuSeconds: cpuNs === null ? null : cpuNs / 1e9,
    peakMemoryBytes: positive(member(stats, 'memory_stats', 'max_usage')),
  };
}

/** A reply of `/events`: none is no bytes, one comes parsed, several as their bytes, one JSON object a line. */
export function reportedEnds(events: unknown): ReportedEnds {
  if (!Buffer.isBuffer(events)) {
    const action = member(events, 'Action') ?? member(events, 'status');
    return { oom: action === 'oom', kill: action === 'kill' };
  }
  const text = events.toString('utf8');
  return { oom: /"(?:Action|status)":"oom"/.test(text), kill: /"(?:Action|status)":"kill"/.test(text) };
}

/** Zero is what an engine says where it does not know, as of a container that has ended. */
function positive(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/** A name or version for one line of a log. */
function word(value: unknown): string {
  return typeof value === 'string' && /^[\w.+~:-]{1,64}$/.test(value) ? value : 'unknown';
}
