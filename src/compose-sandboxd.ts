import { randomUUID } from 'node:crypto';
import type { DestinationStream } from 'pino';
import { createAdmission } from './admission/admit.ts';
import { systemClock } from './clock.ts';
import { DETAIL_MAX_BYTES, engineSandbox, packOf } from './compose-sandbox.ts';
import type { SandboxdConfig } from './config.ts';
import type { CheckState } from './contract/readiness.ts';
import { MAX_SOURCES } from './contract/request.ts';
import { startSandboxDaemon } from './sandbox/daemon.ts';
import { SocketFault } from './sandbox/daemon-socket.ts';
import { countingObserver } from './sandbox/pool-counts.ts';
import { createLogger } from './telemetry/logger.ts';

/** The daemon, listening. */
export interface RunningSandboxd {
  /** Logs what ended the process, when it was not a signal. */
  failed(error: unknown): void;
  /** Takes no more runs, lets running ones end within the grace, then ends them and removes every container. */
  close(): Promise<void>;
}

/** The name of a source and what joins it to the next: what data has more than the body it came in. */
const NAME_MAX_BYTES = 80;

/** The composition root of `compute-step sandboxd`: engine, admission, socket and log; no ledger, no tenants, no network. */
export async function startSandboxd(
  config: SandboxdConfig,
  logTo?: DestinationStream,
): Promise<RunningSandboxd | { readonly faults: readonly string[] }> {
  const log = createLogger({
    level: config.LOG_LEVEL,
    ...(logTo === undefined ? {} : { destination: logTo }),
  });
  const faults: string[] = [];
  const pack = await packOf(config.PROMPT_PACK_DIR, faults);
  if (pack === null) {
    return { faults };
  }
  const admission = await createAdmission(pack.modules);
  const instanceId = randomUUID();
  const { observer, counts } = countingObserver(instanceId, log.observer);
  const sandbox = engineSandbox(config, pack, systemClock, observer, instanceId);
  const logReadiness = (states: readonly CheckState[]): void => states.forEach(log.observer.readiness);
  try {
    const daemon = await startSandboxDaemon({
      socketPath: config.SANDBOXD_SOCKET,
      sandbox,
      counts,
      admission,
      caps: {
        wallMs: config.SANDBOX_WALL_SECONDS * 1000,
        memoryMb: config.SANDBOX_MEMORY_MB,
        resultMaxBytes: config.RESULT_MAX_BYTES,
        resultMaxDepth: config.JSON_MAX_DEPTH,
        detailMaxBytes: DETAIL_MAX_BYTES,
      },
      maxRuns: config.SANDBOX_MAX_CONCURRENCY + config.SANDBOX_QUEUE_LIMIT,
      dataMaxBytes: config.BODY_MAX_BYTES + MAX_SOURCES * NAME_MAX_BYTES,
      dataInflightMaxBytes: config.BODY_INFLIGHT_MAX_BYTES + MAX_SOURCES * NAME_MAX_BYTES,
      runMs: config.REQUEST_TIMEOUT_SECONDS * 1000,
      events: {
        ran: (runId, outcome) => log.info('run', `${runId} ${outcome}`),
        refused: (runId, detail) => log.warn('run_refused', `${runId} ${detail}`),
        readiness: logReadiness,
        broken: (detail) => log.warn('connection_refused', detail),
        unexpected: (where, error) => log.observer.unexpected(where, error),
      },
    });
    log.info('listening', config.SANDBOXD_SOCKET);
    // The label of its containers, for whoever looks for them on the engine.
    log.info('instance', instanceId);
    // Asked once here, so that the log says what is wrong before anybody else asks.
    void sandbox.readiness().then(logReadiness);
    return {
      failed: (error) => log.observer.unexpected('uncaught', error),
      close: async () => {
        log.info('stopping');
        await daemon.close(config.SHUTDOWN_GRACE_SECONDS * 1000);
        log.info('stopped');
      },
    };
  } catch (error) {
    await sandbox.close();
    if (error instanceof SocketFault) {
      return { faults: [error.message] };
    }
    throw error;
  }
}
