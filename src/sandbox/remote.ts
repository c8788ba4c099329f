import type { AdmittedFunction } from '../admission/admit.ts';
import { type Clock, elapsedMs } from '../clock.ts';
import type { CheckState } from '../contract/readiness.ts';
import type { Permit } from '../metering/permit.ts';
import { DaemonCounts } from './daemon-counts.ts';
import type { SandboxData } from './data.ts';
import type { SandboxObserver } from './observer.ts';
import type { PoolCounts } from './pool-counts.ts';
import type { RunEvents, RunLimits, RunReport, Sandbox } from './port.ts';
import { type RemoteRun, runRemotely } from './remote-run.ts';
import { notStarted, RunsUnderWay } from './runs-under-way.ts';
import { type Expected, encodeFrame, TAG } from './wire.ts';
import { openConnection, WireConnection } from './wire-connection.ts';
import { COUNTS_MAX_BYTES, decodeCounts } from './wire-counts.ts';
import { decodeStates, READY_MAX_BYTES } from './wire-report.ts';

export interface RemoteSandboxOptions {
  /** SANDBOXD_SOCKET. */
  readonly socketPath: string;
  /** Runs at once, those that wait included; the next is `overloaded`. The daemon has a bound of its own. */
  readonly maxRuns: number;
  readonly clock: Clock;
  /** Is told what the daemon's pool has come to, each time that the daemon is asked whether it is ready. */
  readonly observer: SandboxObserver;
  /** For tests: see RemoteRunContext. */
  readonly stopGraceMs?: number;
  readonly reportGraceMs?: number;
}

/** A Unix socket connects at once, or its daemon does not take connections. */
const CONNECT_MS = 1000;
/** Connecting and the answer together: readiness must be quick to say no. */
const READY_MS = 1000;
/** The daemon's own answer is at most 2 s old; this keeps a burst of steps from asking each. */
const FRESH_MS = 500;
/** Killing takes the engine 75 ms, at most the bound of its call. */
const STOP_GRACE_MS = 3000;
/** From the wall limit to the report: the kill, the look at the exit, a large result on a busy machine. */
const REPORT_GRACE_MS = 15_000;
const READY_ANSWER: Expected = new Map([[TAG.ready, READY_MAX_BYTES]]);
/** They come with the answer or not at all: a daemon that holds them back does not hold up readiness. */
const COUNTS_MS = 200;
const COUNTS: Expected = new Map([[TAG.counts, COUNTS_MAX_BYTES]]);

/** A sandbox in another process, `compute-step sandboxd`, over its Unix socket. Opens nothing until it is used. */
export function createRemoteSandbox(options: RemoteSandboxOptions): Sandbox {
  return new RemoteSandbox(options);
}

class RemoteSandbox implements Sandbox {
  readonly #options: RemoteSandboxOptions;
  readonly #counts: DaemonCounts;
  readonly #runs = new RunsUnderWay();
  #known: { readonly states: readonly CheckState[]; readonly atNs: bigint } | null = null;
  #asking: Promise<readonly CheckState[]> | null = null;
  /** As the daemon told it last. */
  #image = '';

  constructor(options: RemoteSandboxOptions) {
    this.#options = options;
    this.#counts = new DaemonCounts(options.observer);
  }

  run(
    fn: AdmittedFunction,
    data: SandboxData,
    permit: Permit,
    limits: RunLimits,
    caller: AbortSignal,
    events?: RunEvents,
  ): Promise<RunReport> {
    if (!this.#runs.closed && this.#runs.size >= this.#options.maxRuns) {
      return Promise.resolve(notStarted('overloaded', 'the queue for the sandbox is full'));
    }
    return this.#runs.start(caller, (signal) =>
      this.#connectAndRun({ fn, data, permit, limits, events }, signal),
    );
  }

  readiness(): Promise<readonly CheckState[]> {
    const { clock } = this.#options;
    const known = this.#known;
    if (known !== null && elapsedMs(clock, known.atNs) < FRESH_MS) {
      return Promise.resolve(known.states);
    }
    this.#asking ??= this.#ask()
      .then(({ states, counts }) => {
        this.#counts.take(counts);
        this.#known = { states, atNs: clock.monotonicNs() };
        return states;
      })
      .finally(() => {
        this.#asking = null;
      });
    return this.#asking;
  }

  /** Each run ends within its stop grace. */
  close(): Promise<void> {
    return this.#runs.close();
  }

  async #connectAndRun(run: RemoteRun, signal: AbortSignal): Promise<RunReport> {
    if (signal.aborted || this.#runs.closed) {
      return this.#runs.interrupted(signal);
    }
    const { socketPath, clock, stopGraceMs = STOP_GRACE_MS, reportGraceMs = REPORT_GRACE_MS } = this.#options;
    const connection = await openConnection(socketPath, CONNECT_MS);
    if (!(connection instanceof WireConnection)) {
      return this.#noted(notStarted('sandbox_unavailable', connection.detail));
    }
    const interrupted = (): RunReport => this.#runs.interrupted(signal);
    const context = { clock, stopGraceMs, reportGraceMs, image: this.#image, interrupted };
    try {
      return this.#noted(await runRemotely(connection, run, context, signal));
    } finally {
      // Where GO was not given this is also how the daemon learns that there will be none.
      connection.drop();
    }
  }

  /** A run that the daemon could not take or lost: what is known of its readiness may be outdated. */
  #noted(report: RunReport): RunReport {
    if ('reason' in report && (report.reason === 'sandbox_unavailable' || report.reason === 'sandbox_lost')) {
      this.#known = null;
    }
    return report;
  }

  async #ask(): Promise<Asked> {
    const untilMs = performance.now() + READY_MS;
    const connection = await openConnection(this.#options.socketPath, READY_MS);
    if (!(connection instanceof WireConnection)) {
      return { states: notReady(connection.detail), counts: null };
    }
    try {
      connection.send(encodeFrame(TAG.readyAsk));
      const answer = await connection.next(READY_ANSWER, untilMs - performance.now());
      const states = answer.kind === 'frame' ? decodeStates(answer.payload) : null;
      if (states === null) {
        const late = answer.kind === 'late';
        return {
          states: notReady(
            late ? 'sandboxd does not answer in time' : 'sandboxd does not speak the protocol',
          ),
          counts: null,
        };
      }
      const image = states.find(({ check, ok }) => check === 'image' && ok);
      this.#image = image === undefined ? this.#image : image.detail;
      const counted = await connection.next(COUNTS, COUNTS_MS);
      return { states, counts: counted.kind === 'frame' ? decodeCounts(counted.payload) : null };
    } finally {
      connection.drop();
    }
  }
}

/** What a daemon answers; `counts` is null where it has none that are understood. */
interface Asked {
  readonly states: readonly CheckState[];
  readonly counts: PoolCounts | null;
}

function notReady(detail: string): readonly CheckState[] {
  return [
    { check: 'engine', ok: false, detail },
    { check: 'image', ok: false, detail: 'not looked for: sandboxd does not answer' },
    { check: 'self_test', ok: false, detail: 'not done: sandboxd does not answer' },
  ];
}
