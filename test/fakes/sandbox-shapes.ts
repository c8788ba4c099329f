import { join } from 'node:path';
import type { Admission } from '../../src/admission/admit.ts';
import { startSandboxDaemon } from '../../src/sandbox/daemon.ts';
import { createDockerSandbox, type DockerSandboxOptions } from '../../src/sandbox/docker.ts';
import { countingObserver } from '../../src/sandbox/pool-counts.ts';
import type { Sandbox } from '../../src/sandbox/port.ts';
import { createRemoteSandbox } from '../../src/sandbox/remote.ts';
import { recordingObserver, unadmitted } from './sandbox-run.ts';
import { temporaryFolder } from './sandboxd.ts';

/** A way to reach a sandbox of these settings; closing it ends everything that it opened. */
export interface SandboxShape {
  readonly shape: string;
  readonly open: (settings: DockerSandboxOptions) => Promise<Sandbox>;
}

const MIB = 1024 * 1024;

/** Admits whatever it is given, so that what stands behind admission can be tried over the socket too. Tests only. */
const ADMITS_ALL: Admission = { admit: (draft) => unadmitted(draft.source), all: () => [] };

/** The two shapes of a deployment: the engine held by who asks, and by a daemon behind a Unix socket. */
export const SANDBOX_SHAPES: readonly [SandboxShape, SandboxShape] = [
  { shape: 'embedded', open: async (settings) => createDockerSandbox(settings) },
  { shape: 'over the socket of a daemon', open: overSocket },
];

async function overSocket(settings: DockerSandboxOptions): Promise<Sandbox> {
  const folder = temporaryFolder();
  const socketPath = join(folder.path, 'sandboxd.sock');
  const { observer, counts } = countingObserver(settings.instanceId, settings.observer);
  const maxRuns = settings.maxConcurrency + settings.queueLimit;
  const daemon = await startSandboxDaemon({
    socketPath,
    sandbox: createDockerSandbox({ ...settings, observer }),
    counts,
    admission: ADMITS_ALL,
    caps: {
      wallMs: settings.wallSeconds * 1000,
      memoryMb: settings.memoryMb,
      resultMaxBytes: 4 * MIB,
      resultMaxDepth: 64,
      detailMaxBytes: 8192,
    },
    maxRuns,
    dataMaxBytes: 32 * MIB,
    dataInflightMaxBytes: 256 * MIB,
    runMs: 60_000,
    events: { ran: () => {}, refused: () => {}, broken: () => {}, readiness: () => {}, unexpected: () => {} },
  });
  const remote = createRemoteSandbox({
    socketPath,
    maxRuns,
    clock: settings.clock,
    observer: recordingObserver(),
  });
  return {
    run: (...args) => remote.run(...args),
    readiness: () => remote.readiness(),
    close: async () => {
      await remote.close();
      await daemon.close(0);
      folder.remove();
    },
  };
}
