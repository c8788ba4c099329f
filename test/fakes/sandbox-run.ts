import { createHash } from 'node:crypto';
import type { AdmittedFunction } from '../../src/admission/admit.ts';
import { systemClock } from '../../src/clock.ts';
import type { Permit } from '../../src/metering/permit.ts';
import type { SandboxData } from '../../src/sandbox/data.ts';
import type { DockerSandboxOptions } from '../../src/sandbox/docker.ts';
import type { SandboxObserver } from '../../src/sandbox/observer.ts';
import type { RunLimits } from '../../src/sandbox/port.ts';

/** A function that admission has not seen: for showing that the sandbox holds without it. Tests only. */
export function unadmitted(text: string): AdmittedFunction {
  const sha256 = createHash('sha256').update(text).digest('hex');
  const lineCount = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return { text, sha256, lineCount, bytes: Buffer.from(text) } as unknown as AdmittedFunction;
}

/** `data` as the argument of `compute(data)`. */
export function dataOf(value: unknown): SandboxData {
  const bytes = Buffer.from(JSON.stringify(value));
  return { chunks: [bytes], byteLength: bytes.byteLength };
}

/** A permit that notes what it was asked; `started` answers `ledger`. */
export function fakePermit(
  options: { tenant?: string; ledger?: () => boolean | Promise<boolean> } = {},
): Permit & { readonly startedWith: string[] } {
  const startedWith: string[] = [];
  return {
    runId: 'run',
    tenant: options.tenant ?? 'acme',
    month: '2026-11',
    used: null,
    startedWith,
    started: async (sha256: string) => {
      startedWith.push(sha256);
      return options.ledger === undefined ? true : options.ledger();
    },
    settle: async () => ({ computeRuns: 1, computeSeconds: 1 }),
    amend: async () => {},
    release: async () => {},
  } as unknown as Permit & { readonly startedWith: string[] };
}

export const LIMITS: RunLimits = {
  wallMs: 5000,
  memoryMb: 128,
  resultMaxBytes: 1024 * 1024,
  resultMaxDepth: 64,
  decimalAsString: false,
  detailMaxBytes: 0,
};

/** What a sandbox told its observer, by kind. */
export interface Observed extends SandboxObserver {
  readonly starts: string[];
  readonly removalFailures: number;
  readonly counts: Record<string, number>;
  /** Sums of what a daemon was said to have done. */
  readonly daemon: Record<string, number>;
}

export function recordingObserver(): Observed {
  const starts: string[] = [];
  const counts: Record<string, number> = {};
  const daemon: Record<string, number> = {};
  let removalFailures = 0;
  return {
    starts,
    counts,
    daemon,
    get removalFailures() {
      return removalFailures;
    },
    containerStart: (outcome) => void starts.push(outcome),
    removalFailed: () => {
      removalFailures += 1;
    },
    daemonActivity: (started, failures) => {
      for (const [name, more] of [...Object.entries(started), ['removalFailures', failures] as const]) {
        daemon[name] = (daemon[name] ?? 0) + more;
      }
    },
    containers: (phase, count) => {
      counts[phase] = count;
    },
    queueDepth: (count) => {
      counts.queued = count;
    },
    running: (count) => {
      counts.slots = count;
    },
    unexpected: () => {},
  };
}

/** Settings of a sandbox for tests: no stock, so that nothing is started that a test did not ask for. */
export function sandboxSettings(more: Partial<DockerSandboxOptions> = {}): DockerSandboxOptions {
  return {
    dockerHost: null,
    image: 'compute-step-sandbox:test',
    instanceId: 'instance-under-test',
    seccomp: '{}',
    setup: { modules: {}, builtins: [] },
    memoryMb: 128,
    cpus: 1,
    wallSeconds: 5,
    runtime: null,
    poolSize: 0,
    maxConcurrency: 2,
    queueLimit: 2,
    clock: systemClock,
    observer: recordingObserver(),
    ...more,
  };
}

/** Waits until `holds` does, at most 10 s; for what happens in the background. */
export async function eventually(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadlineAt = Date.now() + 10_000;
  while (!(await holds())) {
    if (Date.now() > deadlineAt) {
      throw new Error(`did not happen within 10 s: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
