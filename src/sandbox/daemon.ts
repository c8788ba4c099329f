import { setMaxListeners } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Admission } from '../admission/admit.ts';
import { type DaemonEvents, type SessionPorts, serveSession } from './daemon-session.ts';
import { listenOnSocket } from './daemon-socket.ts';
import type { PoolCounts } from './pool-counts.ts';
import type { Sandbox } from './port.ts';
import { RunPlaces } from './run-places.ts';
import { WireConnection } from './wire-connection.ts';
import type { LimitCaps } from './wire-run.ts';

/** The daemon's parts and the operator's settings. */
export interface SandboxDaemonOptions {
  /** Absolute; its folder exists. */
  readonly socketPath: string;
  readonly sandbox: Sandbox;
  /** What its pool has come to, for the metrics of whoever asks. */
  readonly counts: () => PoolCounts;
  /** Of this process's own module table. */
  readonly admission: Admission;
  /** A run's limits are lowered to these. */
  readonly caps: LimitCaps;
  /** Runs at once, those that wait included: SANDBOX_MAX_CONCURRENCY and SANDBOX_QUEUE_LIMIT together. */
  readonly maxRuns: number;
  readonly dataMaxBytes: number;
  readonly dataInflightMaxBytes: number;
  /** The longest a run may take, waiting included. */
  readonly runMs: number;
  readonly events: DaemonEvents;
  /** For tests: how long a client may take to send its run, and to answer TAKEN. */
  readonly receiveMs?: number;
  readonly goMs?: number;
}

export interface SandboxDaemon {
  /**
   * Listens no more and removes the socket's file; lets runs end for `graceMs`, then ends them and removes every
   * container. Runs that are ended so are told `sandbox_lost`.
   */
  close(graceMs: number): Promise<void>;
}

/** 32 MiB through a Unix socket take 50 ms; this is for a machine in trouble. */
const RECEIVE_MS = 15_000;
/** A ledger that cannot write within this time will not. */
const GO_MS = 10_000;
/** Connections beside those of runs: questions, runs that are told at once that there is no room. Past it: closed. */
const SPARE_CONNECTIONS = 256;
/** Reports of runs that were ended at the close are on their way. */
const LAST_REPORTS_MS = 2000;

/**
 * Serves a sandbox on a Unix socket (mode 0660): *run this function on this data under these limits*, and *are you
 * ready*. All it takes from a client are code, data, limits and ids; a client that misbehaves loses its connection
 * and nothing else happens. Rejects with a SocketFault if it cannot listen.
 */
export async function startSandboxDaemon(options: SandboxDaemonOptions): Promise<SandboxDaemon> {
  const { sandbox, counts, admission, caps, runMs, events } = options;
  const closing = new AbortController();
  // One or two a session, and sessions are bounded: more than ten is no leak.
  setMaxListeners(0, closing.signal);
  const ports: SessionPorts = {
    sandbox,
    counts,
    admission,
    places: new RunPlaces(options),
    caps,
    runMs,
    receiveMs: options.receiveMs ?? RECEIVE_MS,
    goMs: options.goMs ?? GO_MS,
    closing: closing.signal,
    events,
  };
  const sessions = new Map<Promise<void>, WireConnection>();
  const server = createServer((socket: Socket) => {
    const connection = new WireConnection(socket);
    const session = serveSession(connection, ports)
      .catch((error: unknown) => {
        events.unexpected('sandboxd_session', error);
        connection.drop();
      })
      .finally(() => sessions.delete(session));
    sessions.set(session, connection);
  });
  server.maxConnections = options.maxRuns + SPARE_CONNECTIONS;
  server.on('drop', () => events.broken('more connections than there may be: one was closed'));
  await listenOnSocket(server, options.socketPath);
  server.on('error', (error) => events.unexpected('sandboxd_socket', error));

  const ended = async (ms: number): Promise<void> => {
    const timer = new AbortController();
    const late = delay(ms, undefined, { signal: timer.signal }).catch(() => {});
    await Promise.race([Promise.all([...sessions.keys()]), late]);
    timer.abort();
  };
  return {
    async close(graceMs) {
      server.close();
      await ended(graceMs);
      closing.abort();
      await sandbox.close();
      await ended(LAST_REPORTS_MS);
      for (const connection of sessions.values()) {
        connection.drop();
      }
    },
  };
}
