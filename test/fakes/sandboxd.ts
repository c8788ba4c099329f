import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Admission, createAdmission } from '../../src/admission/admit.ts';
import type { CheckState } from '../../src/contract/readiness.ts';
import { type SandboxDaemonOptions, startSandboxDaemon } from '../../src/sandbox/daemon.ts';
import { createSandboxOn, type DockerSandboxOptions } from '../../src/sandbox/docker.ts';
import { countingObserver } from '../../src/sandbox/pool-counts.ts';
import type { RunReport } from '../../src/sandbox/port.ts';
import { encodeFrame, FrameDecoder, TAG } from '../../src/sandbox/wire.ts';
import { decodeReport } from '../../src/sandbox/wire-report.ts';
import { encodeRunHeader } from '../../src/sandbox/wire-run.ts';
import { FakeEngine, returnsOne, type ScriptedJob } from './fake-engine.ts';
import { LIMITS, recordingObserver, sandboxSettings, unadmitted } from './sandbox-run.ts';

export const ONE = unadmitted('def compute(data):\n    return 1\n');

/** What the daemon told its log. */
export interface DaemonLog {
  readonly ran: string[];
  readonly refused: string[];
  readonly broken: string[];
  readonly readiness: (readonly CheckState[])[];
  readonly unexpected: unknown[];
}

/** A daemon over an engine in memory, on a socket in a folder of its own. */
export interface TestDaemon {
  readonly engine: FakeEngine;
  readonly socketPath: string;
  readonly log: DaemonLog;
  close(graceMs?: number): Promise<void>;
}

export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'sandboxd-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export async function startTestDaemon(
  options: {
    readonly script?: (job: ScriptedJob) => void;
    readonly sandbox?: Partial<DockerSandboxOptions>;
    readonly daemon?: Partial<SandboxDaemonOptions>;
    readonly admission?: Admission;
    readonly socketPath?: string;
    readonly engine?: FakeEngine;
  } = {},
): Promise<TestDaemon> {
  const folder = options.socketPath === undefined ? temporaryFolder() : null;
  const engine = options.engine ?? new FakeEngine();
  engine.script = options.script ?? returnsOne;
  const log: DaemonLog = { ran: [], refused: [], broken: [], readiness: [], unexpected: [] };
  const { observer, counts } = countingObserver('daemon-under-test', recordingObserver());
  const socketPath = options.socketPath ?? join(folder?.path ?? '', 'sandboxd.sock');
  const daemon = await startSandboxDaemon({
    socketPath,
    sandbox: createSandboxOn(engine, sandboxSettings({ observer, ...options.sandbox })),
    counts,
    admission: options.admission ?? (await createAdmission({ math: ['sqrt'] })),
    caps: { ...LIMITS, detailMaxBytes: 8192 },
    maxRuns: 4,
    dataMaxBytes: 1024 * 1024,
    dataInflightMaxBytes: 4 * 1024 * 1024,
    runMs: 60_000,
    events: {
      ran: (_id, outcome) => void log.ran.push(outcome),
      refused: (_id, detail) => void log.refused.push(detail),
      broken: (detail) => void log.broken.push(detail),
      readiness: (states) => void log.readiness.push(states),
      unexpected: (_where, error) => void log.unexpected.push(error),
    },
    ...options.daemon,
  });
  return {
    engine,
    socketPath,
    log,
    close: async (graceMs = 0) => {
      await daemon.close(graceMs);
      folder?.remove();
    },
  };
}

/** A header that the daemon takes for ONE with the data `{}`, as the JSON it is on the wire. */
export function wireHeader(more: object = {}): Record<string, unknown> {
  const header = encodeRunHeader({
    runId: 'run-1',
    tenant: 'acme',
    month: '2026-11',
    codeSha256: ONE.sha256,
    dataBytes: 2,
    limits: LIMITS,
  });
  return { ...(JSON.parse(header.toString()) as object), ...more };
}

/** A client that sends what it likes and keeps what it gets. */
export interface RawClient {
  readonly socket: Socket;
  /** Tags that came, as letters. */
  readonly tags: string;
  send(tag: number, payload?: string | Buffer): void;
  /** RUN, CODE and DATA. */
  sendRun(header?: object, code?: string | Buffer, data?: string | Buffer): void;
  /** The next frame's payload, or null once the connection has ended. */
  next(): Promise<{ readonly tag: number; readonly payload: Buffer } | null>;
  /** The next frame as a report; fails if it is another or none. */
  report(): Promise<RunReport>;
}

const FROM_DAEMON = new Map<number, number>([
  [TAG.taken, 0],
  [TAG.report, 2 ** 30],
  [TAG.ready, 2 ** 20],
  [TAG.counts, 2 ** 20],
]);

export async function rawClient(socketPath: string): Promise<RawClient> {
  const socket = connect({ path: socketPath, allowHalfOpen: true });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => {});
  const decoder = new FrameDecoder();
  const frames: { tag: number; payload: Buffer }[] = [];
  let tags = '';
  let ended = false;
  let wake = (): void => {};
  socket.on('data', (chunk: Buffer) => {
    for (let rest = chunk; rest.byteLength > 0; ) {
      const got = decoder.push(rest, FROM_DAEMON);
      rest = got.rest;
      if (got.frame !== null) {
        frames.push(got.frame);
        tags += String.fromCharCode(got.frame.tag);
      }
    }
    wake();
  });
  const end = (): void => {
    ended = true;
    wake();
  };
  socket.on('end', () => {
    end();
    socket.end();
  });
  socket.on('close', end);
  const client: RawClient = {
    socket,
    get tags() {
      return tags;
    },
    send: (tag, payload = '') => {
      socket.write(Buffer.concat(encodeFrame(tag, Buffer.from(payload as string))));
    },
    sendRun: (header = wireHeader(), code = ONE.text, data = '{}') => {
      client.send(TAG.run, JSON.stringify(header));
      client.send(TAG.code, code);
      client.send(TAG.data, data);
    },
    next: async () => {
      while (frames.length === 0 && !ended) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return frames.shift() ?? null;
    },
    report: async () => {
      const frame = await client.next();
      const report =
        frame?.tag === TAG.report
          ? decodeReport(frame.payload, { ...LIMITS, detailMaxBytes: 8192, lineCount: 2 })
          : null;
      if (report === null) {
        throw new Error(`no report but ${frame === null ? 'the end' : String.fromCharCode(frame.tag)}`);
      }
      return report;
    },
  };
  return client;
}
