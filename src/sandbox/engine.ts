import { Agent } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { inspect } from 'node:util';
import Docker from 'dockerode';
import { type EngineAddress, parseEngineAddress } from './engine-address.ts';
import { boundedCall, EngineError } from './engine-call.ts';
import {
  type EngineFacts,
  engineFacts,
  type MeasuredUsage,
  measuredUsage,
  type ReportedEnds,
  reportedEnds,
} from './engine-replies.ts';

/** How a container stands, as the engine sees it. */
export interface ContainerState {
  readonly running: boolean;
  readonly exitCode: number;
  readonly oomKilled: boolean;
}

/** A look-out for an engine that goes away or changes. */
export interface EngineWatch {
  readonly ended: Promise<void>;
  /** Ends the watch; `ended` resolves. */
  stop(): void;
}

/** One container carrying our label. */
export interface ListedContainer {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdSeconds: number;
  /** Its process has ended, and nobody has removed it yet. */
  readonly ended: boolean;
}

/** The few things asked of a container engine. Every call is bounded and rejects with an EngineError only. */
export interface Engine {
  ping(): Promise<void>;
  facts(): Promise<EngineFacts>;
  /** Id of an image by name or id; null where there is none. Never pulls. */
  imageId(name: string): Promise<string | null>;
  /**
   * Creates a container and answers its id. Takes no signal: a call that is cut off may leave a container whose id
   * nobody knows, for the reaper to find by its labels.
   */
  create(spec: Docker.ContainerCreateOptions): Promise<string>;
  /** stdin, stdout and stderr of a container, multiplexed. The caller owns the stream from here on. */
  attach(id: string, signal?: AbortSignal): Promise<Duplex>;
  start(id: string, signal?: AbortSignal): Promise<void>;
  /** Lowers the memory limit, swap included. */
  limitMemory(id: string, bytes: number, signal?: AbortSignal): Promise<void>;
  /** Resolves when the container has ended. */
  wait(id: string, ms: number): Promise<void>;
  state(id: string): Promise<ContainerState>;
  /** What the engine's recent events, up to a moment, say of a container's end: out of memory, a client's kill. */
  reportedEnds(id: string, until: Date): Promise<ReportedEnds>;
  /** What the engine measured of a running container so far. */
  usage(id: string, ms: number): Promise<MeasuredUsage>;
  /**
   * Resolves once the engine is being watched; `ended` then resolves when the connection ends, as it does when the
   * engine restarts, or when the engine tells of a change of its own settings.
   */
  watch(): Promise<EngineWatch>;
  /** SIGKILL. A container that has ended or is gone is fine too. */
  kill(id: string): Promise<void>;
  /** Removes by force. Resolves only when the engine confirms it or knows no such container. */
  remove(id: string): Promise<void>;
  /** All containers with a label, running or not. */
  list(label: string): Promise<readonly ListedContainer[]>;
  /** Closes idle connections. */
  close(): void;
}

/** Bounds of single calls in milliseconds. Past one, the call is an EngineError `timeout`. */
const CALL_MS = {
  // Readiness must be quick to say no; but a machine under full load answers late, and a wrong no costs a self-test.
  ping: 2500,
  query: 5000,
  // Creating and starting take 80 ms on a quiet machine; several at once on a busy one take seconds.
  create: 10_000,
  start: 15_000,
  // A run that is past its limit must have ended within a second of it.
  kill: 700,
  remove: 10_000,
} as const;

/**
 * docker-modem writes the options of each call down for a debug output that nobody reads, with everything that hangs on
 * the agent: all its sockets and their requests. That was 15 ms of the event loop a container.
 */
class QuietAgent extends Agent {
  [inspect.custom](): string {
    return 'Agent';
  }
}

const CONTAINER_ID = /^[0-9a-f]{64}$/;

/** The engine at a DOCKER_HOST address (null: the local socket), through dockerode. Throws on a bad address. */
export function createDockerEngine(dockerHost: string | null): Engine {
  const agent = new QuietAgent({ keepAlive: true });
  const docker = connect(parseEngineAddress(dockerHost), agent);
  return {
    ping: () =>
      boundedCall(CALL_MS.ping, undefined, async (abortSignal) => {
        await get(docker, '/_ping', abortSignal);
      }),
    facts: () =>
      boundedCall(CALL_MS.query, undefined, async (abortSignal) => {
        return engineFacts(await get(docker, '/info', abortSignal));
      }),
    imageId: (name) =>
      boundedCall(CALL_MS.query, undefined, async (abortSignal) => {
        const path = `/images/${encodeURI(name)}/json`;
        const image = (await unlessStatus([404], get(docker, path, abortSignal))) as { Id?: unknown } | null;
        return typeof image?.Id === 'string' ? image.Id : null;
      }),
    create: (spec) =>
      boundedCall(CALL_MS.create, undefined, async (abortSignal) => {
        // Left to itself, docker-modem sends the options twice, the seccomp profile too: as the body and in the URL.
        const apart = { _query: {}, _body: spec, abortSignal } as Docker.ContainerCreateOptions;
        const { id } = await docker.createContainer(apart);
        if (!CONTAINER_ID.test(id)) {
          throw new EngineError('unreachable', 'the engine answered a create call without a container id');
        }
        return id;
      }),
    attach: (id, signal) =>
      boundedCall(CALL_MS.create, signal, async (abortSignal) => {
        const options = { stream: true, stdin: true, stdout: true, stderr: true, hijack: true, abortSignal };
        return (await docker.getContainer(id).attach(options)) as Duplex;
      }),
    start: (id, signal) =>
      boundedCall(CALL_MS.start, signal, async (abortSignal) => {
        await docker.getContainer(id).start({ abortSignal });
      }),
    limitMemory: (id, bytes, signal) =>
      boundedCall(CALL_MS.query, signal, async (abortSignal) => {
        await docker.getContainer(id).update({ Memory: bytes, MemorySwap: bytes, abortSignal });
      }),
    wait: (id, ms) =>
      boundedCall(ms, undefined, async (abortSignal) => {
        await docker.getContainer(id).wait({ abortSignal });
      }),
    state: (id) =>
      boundedCall(CALL_MS.query, undefined, async (abortSignal) => {
        const { State } = await docker.getContainer(id).inspect({ abortSignal });
        return { running: State.Running, exitCode: State.ExitCode, oomKilled: State.OOMKilled };
      }),
    reportedEnds: (id, until) =>
      boundedCall(CALL_MS.query, undefined, async (abortSignal) => {
        // A moment that has passed makes the engine answer from its buffer (256 events) and end.
        const query = {
          since: 1,
          until: until.getTime() / 1000,
          filters: { container: [id], event: ['oom', 'kill'] },
        };
        return reportedEnds(await get(docker, '/events?', abortSignal, query));
      }),
    usage: (id, ms) =>
      boundedCall(ms, undefined, async (abortSignal) => {
        // One reading; without `one-shot` the engine waits a second for another one to compare it with.
        const query = { stream: false, 'one-shot': true };
        return measuredUsage(await get(docker, `/containers/${id}/stats?`, abortSignal, query));
      }),
    watch: () => boundedCall(CALL_MS.query, undefined, (abortSignal) => watchEngine(docker, abortSignal)),
    kill: (id) =>
      boundedCall(CALL_MS.kill, undefined, async (abortSignal) => {
        // 409: it is not running any more.
        await unlessStatus([404, 409], docker.getContainer(id).kill({ signal: 'SIGKILL', abortSignal }));
      }),
    remove: (id) =>
      boundedCall(CALL_MS.remove, undefined, async (abortSignal) => {
        await unlessStatus([404], docker.getContainer(id).remove({ force: true, v: true, abortSignal }));
      }),
    list: (label) =>
      boundedCall(CALL_MS.query, undefined, async (abortSignal) => {
        const found = await docker.listContainers({ all: true, filters: { label: [label] }, abortSignal });
        return found.map(({ Id, Labels, Created, State }) => ({
          id: Id,
          labels: Labels,
          createdSeconds: Created,
          ended: State === 'exited' || State === 'dead',
        }));
      }),
    close: () => agent.destroy(),
  };
}

/** Holds the engine's stream of events about itself open. Its bytes say no more than that something has changed. */
function watchEngine(docker: Docker, abortSignal: AbortSignal): Promise<EngineWatch> {
  const stop = new AbortController();
  const onAbort = (): void => stop.abort();
  abortSignal.addEventListener('abort', onAbort, { once: true });
  const options = {
    path: '/events?',
    method: 'GET',
    isStream: true,
    statusCodes: { 200: true },
    abortSignal: stop.signal,
    options: { filters: { type: ['daemon'] } },
  };
  return new Promise((resolve, reject) => {
    docker.modem.dial(options, (error: unknown, answer: unknown) => {
      abortSignal.removeEventListener('abort', onAbort);
      if (error !== null && error !== undefined) {
        reject(error);
        return;
      }
      const stream = answer as Readable;
      const ended = new Promise<void>((end) => {
        for (const event of ['data', 'end', 'close', 'error']) {
          stream.on(event, () => end());
        }
      });
      void ended.then(() => stream.destroy());
      resolve({ ended, stop: () => stop.abort() });
    });
  });
}

/** GET of an engine's path. dockerode's own calls for these take no abort signal. */
function get(docker: Docker, path: string, abortSignal: AbortSignal, options = {}): Promise<unknown> {
  const statusCodes = { 200: true, 404: 'not found', 500: 'server error' };
  return new Promise((resolve, reject) => {
    docker.modem.dial(
      { path, method: 'GET', abortSignal, statusCodes, options },
      (error: unknown, answer: unknown) =>
        error === null || error === undefined ? resolve(answer) : reject(error),
    );
  });
}

/** A call's answer, or null where the engine answered with one of these statuses. */
async function unlessStatus<T>(statuses: readonly number[], call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    const status = (error as { statusCode?: unknown }).statusCode;
    if (typeof status === 'number' && statuses.includes(status)) {
      return null;
    }
    throw error;
  }
}

/**
 * dockerode with every connection option given: it fills what is left out from DOCKER_HOST and its kin in the
 * environment, and settings come from the configuration only.
 */
function connect(address: EngineAddress, agent: Agent): Docker {
  const options = {
    socketPath: address.kind === 'unix' ? address.socketPath : undefined,
    host: address.kind === 'tcp' ? address.host : undefined,
    port: address.kind === 'tcp' ? address.port : undefined,
    protocol: 'http' as const,
    pathPrefix: '/',
    timeout: undefined,
    ca: undefined,
    cert: undefined,
    key: undefined,
    agent,
  };
  return new Docker(options);
}
