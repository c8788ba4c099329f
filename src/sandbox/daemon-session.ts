import type { Admission, AdmittedFunction } from '../admission/admit.ts';
import { MAX_SOURCE_BYTES } from '../admission/rules/source-size.ts';
import type { CheckState } from '../contract/readiness.ts';
import { relayedPermit } from '../metering/relayed-permit.ts';
import type { PoolCounts } from './pool-counts.ts';
import type { RunReport, Sandbox } from './port.ts';
import { readmit } from './readmit.ts';
import type { RunPlaces } from './run-places.ts';
import { notStarted } from './runs-under-way.ts';
import { type Expected, encodeFrame, STOP, TAG } from './wire.ts';
import type { WireConnection } from './wire-connection.ts';
import { encodeCounts } from './wire-counts.ts';
import { encodeReport, encodeStates } from './wire-report.ts';
import {
  clampLimits,
  decodeRunHeader,
  type LimitCaps,
  RUN_HEADER_MAX_BYTES,
  type RunHeader,
} from './wire-run.ts';

/** What the daemon tells its log. Texts are the service's own. */
export interface DaemonEvents {
  /** A run was ended by a report; `outcome` is a kind or a reason of it. */
  readonly ran: (runId: string, outcome: string) => void;
  /** A run that the API should not have sent. */
  readonly refused: (runId: string, detail: string) => void;
  /** A connection that spoke something else, or too slowly. */
  readonly broken: (detail: string) => void;
  /** What the sandbox's readiness was found to be when somebody asked for it. */
  readonly readiness: (states: readonly CheckState[]) => void;
  /** A bug. */
  readonly unexpected: (where: string, error: unknown) => void;
}

/** What a session works with; nothing of it comes from a client. */
export interface SessionPorts {
  readonly sandbox: Sandbox;
  /** What the sandbox's pool has come to. */
  readonly counts: () => PoolCounts;
  readonly admission: Admission;
  readonly places: RunPlaces;
  readonly caps: LimitCaps;
  /** From connecting to the last byte of the data. */
  readonly receiveMs: number;
  /** From TAKEN to GO: the API's ledger writes meanwhile, and a container is held. */
  readonly goMs: number;
  /** From the last byte of the data to the end: a client that never leaves holds its place no longer. */
  readonly runMs: number;
  /** Aborted when the daemon ends: what has not begun does not begin any more. */
  readonly closing: AbortSignal;
  readonly events: DaemonEvents;
}

const OPENING: Expected = new Map([
  [TAG.run, RUN_HEADER_MAX_BYTES],
  [TAG.readyAsk, 0],
]);
const CODE: Expected = new Map([[TAG.code, MAX_SOURCE_BYTES]]);
const CONTROL: Expected = new Map([
  [TAG.go, 0],
  [TAG.stop, 1],
]);

/** Serves one connection to its end: one run, or one question. Never rejects for anything a client does. */
export async function serveSession(connection: WireConnection, ports: SessionPorts): Promise<void> {
  const receiveUntilMs = performance.now() + ports.receiveMs;
  const first = await connection.next(OPENING, ports.receiveMs, ports.closing);
  if (first.kind !== 'frame') {
    return broken(connection, ports, first.kind);
  }
  if (first.tag === TAG.readyAsk) {
    const states = await ports.sandbox.readiness();
    ports.events.readiness(states);
    connection.send(
      encodeFrame(TAG.ready, encodeStates(states)),
      encodeFrame(TAG.counts, encodeCounts(ports.counts())),
    );
    return connection.finish();
  }
  const report = await receiveAndRun(connection, ports, first.payload, receiveUntilMs);
  if (report !== null) {
    connection.send(encodeFrame(TAG.report, ...encodeReport(report)));
    await connection.finish();
  }
}

/** Null: the connection is of no further use, and dropped. */
async function receiveAndRun(
  connection: WireConnection,
  ports: SessionPorts,
  headerBytes: Buffer,
  receiveUntilMs: number,
): Promise<RunReport | null> {
  const { events, places } = ports;
  const header = decodeRunHeader(headerBytes);
  if (header === null) {
    events.broken('a run that is not understood: start serve and sandboxd from the same version');
    return notStarted('sandbox_unavailable', 'sandboxd does not understand this version of serve');
  }
  const { runId } = header;
  const place = places.take(header.dataBytes);
  if (place.kind === 'tooLarge') {
    events.refused(runId, 'the data is larger than BODY_MAX_BYTES of sandboxd');
    return notStarted('sandbox_unavailable', 'the data is larger than BODY_MAX_BYTES of sandboxd');
  }
  if (place.kind === 'full') {
    return notStarted('overloaded', 'sandboxd holds as many runs or as much data as it may');
  }
  try {
    const left = (): number => receiveUntilMs - performance.now();
    const code = await connection.next(CODE, left(), ports.closing);
    if (code.kind !== 'frame') {
      broken(connection, ports, code.kind);
      return null;
    }
    const expectedData: Expected = new Map([[TAG.data, header.dataBytes]]);
    const data = await connection.next(expectedData, left(), ports.closing);
    if (data.kind !== 'frame' || data.payload.byteLength !== header.dataBytes) {
      broken(connection, ports, data.kind);
      return null;
    }
    const fn = readmit(ports.admission, code.payload, header.codeSha256);
    if ('kind' in fn) {
      events.refused(runId, fn.detail);
      return notStarted('sandbox_unavailable', fn.detail);
    }
    const report = await run(connection, ports, header, fn, data.payload);
    events.ran(runId, 'reason' in report ? report.reason : report.kind);
    return report;
  } finally {
    place.release();
  }
}

async function run(
  connection: WireConnection,
  ports: SessionPorts,
  header: RunHeader,
  fn: AdmittedFunction,
  data: Buffer,
): Promise<RunReport> {
  const { runId, tenant, month } = header;
  const stop = new AbortController();
  let answerStart: ((go: boolean) => void) | null = null;
  const started = (): Promise<boolean> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => answer(false), ports.goMs);
      const answer = (go: boolean): void => {
        clearTimeout(timer);
        answerStart = null;
        resolve(go);
      };
      if (stop.signal.aborted || ports.closing.aborted) {
        return answer(false);
      }
      answerStart = answer;
      connection.send(encodeFrame(TAG.taken));
    });
  const end = (reason: Error): void => {
    stop.abort(reason);
    answerStart?.(false);
  };
  /** GO once, when it is asked for; whatever else comes, or the end of the connection, ends the run. */
  const watch = async (): Promise<void> => {
    for (;;) {
      // Ends with the connection, which ends with the run.
      const got = await connection.next(CONTROL, null);
      if (got.kind === 'frame' && got.tag === TAG.go && answerStart !== null) {
        answerStart(true);
        continue;
      }
      const late = got.kind === 'frame' && got.tag === TAG.stop && got.payload[0] === STOP.deadline;
      return end(late ? deadlinePassed() : new Error('the API ended the run'));
    }
  };
  const onClosing = (): void => answerStart?.(false);
  ports.closing.addEventListener('abort', onClosing, { once: true });
  const timer = setTimeout(() => end(deadlinePassed()), ports.runMs);
  void watch();
  try {
    const permit = relayedPermit({ runId, tenant, month, started });
    const limits = clampLimits(header.limits, ports.caps);
    const sandboxData = { chunks: [data], byteLength: data.byteLength };
    const report = await ports.sandbox.run(fn, sandboxData, permit, limits, stop.signal);
    // Killed for a caller who has not left: this process is ending, and the run goes down with it.
    return report.kind === 'killed' && report.reason === 'cancelled' && !stop.signal.aborted
      ? { ...report, reason: 'sandbox_lost' }
      : report;
  } finally {
    clearTimeout(timer);
    ports.closing.removeEventListener('abort', onClosing);
  }
}

/** As `AbortSignal.timeout` says it, so that it is told from a caller who left. */
function deadlinePassed(): Error {
  return new DOMException('the deadline passed', 'TimeoutError');
}

function broken(connection: WireConnection, { events }: SessionPorts, kind: string): void {
  // Closing early is nobody's fault: a caller left before the run was sent, or somebody asked who is there.
  if (kind === 'late') {
    events.broken('a connection that did not send its run in time');
  } else if (kind === 'garbled' || kind === 'frame') {
    events.broken('a connection that does not speak the protocol');
  }
  connection.drop();
}
