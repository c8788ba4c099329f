import type { AdmittedFunction } from '../admission/admit.ts';
import type { Clock } from '../clock.ts';
import type { Permit } from '../metering/permit.ts';
import { abortedByDeadline } from './abort.ts';
import type { AnswerBounds } from './answer.ts';
import type { SandboxData } from './data.ts';
import type { KillReason, RunEvents, RunLimits, RunReport } from './port.ts';
import { notStarted } from './runs-under-way.ts';
import { type Expected, encodeFrame, STOP, TAG } from './wire.ts';
import type { Received, WireConnection } from './wire-connection.ts';
import { decodeReport, reportMaxBytes } from './wire-report.ts';
import { encodeRunHeader } from './wire-run.ts';

/** One run as the port takes it, without its signal. */
export interface RemoteRun {
  readonly fn: AdmittedFunction;
  readonly data: SandboxData;
  readonly permit: Permit;
  readonly limits: RunLimits;
  readonly events: RunEvents | undefined;
}

export interface RemoteRunContext {
  readonly clock: Clock;
  /** How long a run that was told to stop may take to say how it ended. */
  readonly stopGraceMs: number;
  /** How long past its wall limit a run may stay without a report. */
  readonly reportGraceMs: number;
  /** Id of the daemon's image as far as it is known, for runs whose report never comes. */
  readonly image: string;
  /** What a run that had not begun ends as when its signal is aborted. */
  readonly interrupted: (signal: AbortSignal) => RunReport;
}

const NOTHING_MEASURED = {
  cpuSeconds: null,
  peakMemoryBytes: null,
  peakMemorySource: null,
  exitCode: null,
  outputBytes: 0,
} as const;
/** What the daemon measured began after GO; beyond this it is no measurement. */
const WALL_SLACK_NS = 1_000_000_000n;
const NS_PER_MS = 1_000_000n;

/**
 * Sends a run, waits for its container, writes *started*, gives GO and follows the run to its report. The daemon
 * going away before GO is a run that was not started, after it `sandbox_lost`. The caller drops the connection.
 */
export async function runRemotely(
  connection: WireConnection,
  run: RemoteRun,
  context: RemoteRunContext,
  signal: AbortSignal,
): Promise<RunReport> {
  const { fn, data, permit, limits, events } = run;
  const { runId, tenant, month } = permit;
  const header = { runId, tenant, month, codeSha256: fn.sha256, dataBytes: data.byteLength, limits };
  connection.send(
    encodeFrame(TAG.run, encodeRunHeader(header)),
    encodeFrame(TAG.code, Buffer.from(fn.text)),
    encodeFrame(TAG.data, ...data.chunks),
  );
  const bounds = { ...limits, lineCount: fn.lineCount };
  const expected: Expected = new Map([
    [TAG.taken, 0],
    [TAG.report, reportMaxBytes(bounds)],
  ]);
  // As long as the caller waits: the signal carries the deadline of the request.
  const first = await connection.next(expected, null, signal);
  if (first.kind === 'aborted') {
    return context.interrupted(signal);
  }
  if (first.kind !== 'frame' || first.tag !== TAG.taken) {
    return unstarted(first, bounds);
  }
  events?.taken?.();
  if (!(await permit.started(fn.sha256))) {
    return notStarted('ledger_unavailable', 'the start of the run could not be written to the ledger');
  }
  // From here on the run counts, whatever becomes of it.
  return startAndFollow(connection, bounds, limits.wallMs, context, signal);
}

async function startAndFollow(
  connection: WireConnection,
  bounds: AnswerBounds,
  wallMs: number,
  context: RemoteRunContext,
  signal: AbortSignal,
): Promise<RunReport> {
  const { clock, image, stopGraceMs, reportGraceMs } = context;
  const startNs = clock.monotonicNs();
  // Nobody measured it: like a run found at recovery, it is charged the time since its start, at most its wall limit.
  const killed = (reason: KillReason): RunReport => {
    const sinceNs = clock.monotonicNs() - startNs;
    const mostNs = BigInt(wallMs) * NS_PER_MS;
    const wallNs = sinceNs < mostNs ? sinceNs : mostNs;
    return { kind: 'killed', reason, usage: { ...NOTHING_MEASURED, wallNs, image } };
  };
  /** After GO there is no such thing as a run that did not start: its start is in the ledger. */
  const reported = (received: Received): RunReport | null => {
    const report = received.kind === 'frame' ? decodeReport(received.payload, bounds) : null;
    const mostNs = clock.monotonicNs() - startNs + WALL_SLACK_NS;
    return report === null || report.kind === 'notStarted' || report.usage.wallNs > mostNs ? null : report;
  };
  if (signal.aborted) {
    // Nothing is sent any more, but the start stands in the ledger.
    return killed(abortReason(signal));
  }
  connection.send(encodeFrame(TAG.go));
  const expected: Expected = new Map([[TAG.report, reportMaxBytes(bounds)]]);
  const end = await connection.next(expected, wallMs + reportGraceMs, signal);
  if (end.kind !== 'aborted') {
    return reported(end) ?? killed('sandbox_lost');
  }
  const why = abortedByDeadline(signal) ? STOP.deadline : STOP.cancelled;
  connection.send(encodeFrame(TAG.stop, Buffer.from([why])));
  return reported(await connection.next(expected, stopGraceMs)) ?? killed(abortReason(signal));
}

/** The daemon answered something else than TAKEN, or nothing. */
function unstarted(first: Received, bounds: AnswerBounds): RunReport {
  const report = first.kind === 'frame' ? decodeReport(first.payload, bounds) : null;
  if (report?.kind === 'notStarted') {
    return report;
  }
  const detail =
    first.kind === 'ended' ? 'sandboxd closed the connection' : 'sandboxd does not speak the protocol';
  return notStarted('sandbox_unavailable', detail);
}

function abortReason(signal: AbortSignal): KillReason {
  return abortedByDeadline(signal) ? 'timeout' : 'cancelled';
}
