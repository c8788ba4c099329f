import { randomBytes } from 'node:crypto';
import { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import type { ContainerState, Engine, EngineWatch, ListedContainer } from '../../src/sandbox/engine.ts';
import { EngineError } from '../../src/sandbox/engine-call.ts';
import type { EngineFacts, MeasuredUsage, ReportedEnds } from '../../src/sandbox/engine-replies.ts';
import { probeFacts } from './probe-facts.ts';

/** What a scripted container sees of its job and can do about it. */
export interface ScriptedJob {
  readonly header: Readonly<Record<string, unknown>>;
  readonly code: string;
  readonly data: string;
  stdout(bytes: Buffer): void;
  stderr(bytes: Buffer): void;
  /** The process ends: the stream closes and the engine knows how. */
  exit(code: number, oomKilled?: boolean): void;
  /** The stream closes and the process lives on: the engine has lost its client. */
  disconnect(): void;
}

/** An ANSWER frame as the harness writes it. */
export function answerFrame(header: object, result = ''): Buffer {
  const head = Buffer.from(JSON.stringify(header));
  const payload = Buffer.concat([u32(head.byteLength), head, Buffer.from(result)]);
  return Buffer.concat([Buffer.from('A'), u32(payload.byteLength), payload]);
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A piece of output as the engine multiplexes it: 1 is stdout, 2 stderr. */
export function multiplexed(channel: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([channel, 0, 0, 0]), u32(bytes.byteLength), bytes]);
}

/** Returns the JSON text `1` and exits cleanly. */
export const returnsOne = (job: ScriptedJob): void => {
  job.stdout(answerFrame({ status: 'returned', cpu_ns: 5, maxrss_bytes: 7 }, '1'));
  job.exit(0);
};

type Call = Exclude<keyof Engine, 'close'>;
const READY = { protocol: 1, python: '3.13.5', missing: [], pid: 1 };

interface FakeContainer {
  readonly spec: Docker.ContainerCreateOptions;
  readonly createdSeconds: number;
  readonly stream: Duplex;
  readonly exited: Promise<void>;
  readonly exit: (code: number, oomKilled?: boolean) => void;
  readonly received: Buffer[];
  state: ContainerState;
}

/**
 * An engine in memory. Containers say READY after SETUP and follow `script` after JOB. `faults` replaces a call:
 * what it throws is the call's outcome, a promise is waited for first. `calls` has every call in order.
 */
export class FakeEngine implements Engine {
  readonly calls: string[] = [];
  faults: Partial<Record<Call, () => void | Promise<void>>> = {};
  readonly containers = new Map<string, FakeContainer>();
  /** Bytes of jobs that containers received, by container. */
  readonly jobs = new Map<string, Buffer>();
  script: (job: ScriptedJob) => void = returnsOne;
  /** READY frame's content, or null for a container that ends at once. */
  ready: object | null = READY;
  image: string | null = `sha256:${'a'.repeat(64)}`;
  cgroupVersion: 1 | 2 = 1;
  /** What its events say of the end of a container. */
  ends: ReportedEnds = { oom: false, kill: false };
  /** What it measures of a running container. */
  measured: MeasuredUsage = { cpuSeconds: null, peakMemoryBytes: null };
  /** What a probe tells besides, or instead of, what its create options ask for. */
  probeFacts: Record<string, unknown> = {};
  /** How a probe ends that goes over its memory limit. */
  probeEnd: (exit: (code: number, oomKilled?: boolean) => void) => void = (exit) => exit(137, true);
  readonly #watching = new Set<() => void>();
  /** Containers that other instances have. */
  readonly foreign: ListedContainer[] = [];
  readonly killed: string[] = [];
  readonly removed: string[] = [];

  async #call(name: Call, id = ''): Promise<void> {
    this.calls.push(id === '' ? name : `${name} ${id.slice(0, 8)}`);
    await this.faults[name]?.();
  }

  count(name: Call): number {
    return this.calls.filter((call) => call.split(' ')[0] === name).length;
  }

  async ping(): Promise<void> {
    await this.#call('ping');
  }

  async facts(): Promise<EngineFacts> {
    await this.#call('facts');
    return { cgroupVersion: this.cgroupVersion, version: '20.10.24', defaultRuntime: 'runc' };
  }

  async imageId(name: string): Promise<string | null> {
    await this.#call('imageId');
    return name === this.image || !name.startsWith('sha256:') ? this.image : null;
  }

  async create(spec: Docker.ContainerCreateOptions): Promise<string> {
    await this.#call('create');
    const id = randomBytes(32).toString('hex');
    this.containers.set(id, this.#container(id, spec));
    return id;
  }

  async attach(id: string): Promise<Duplex> {
    await this.#call('attach', id);
    return this.#get(id).stream;
  }

  async start(id: string): Promise<void> {
    await this.#call('start', id);
    this.#get(id).state = { running: true, exitCode: 0, oomKilled: false };
  }

  async limitMemory(id: string, bytes: number): Promise<void> {
    await this.#call('limitMemory', id);
    this.calls.push(`memory ${bytes}`);
  }

  async wait(id: string, ms: number): Promise<void> {
    await this.#call('wait', id);
    const late = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new EngineError('timeout', 'no exit')), ms).unref();
    });
    await Promise.race([this.#get(id).exited, late]);
  }

  async state(id: string): Promise<ContainerState> {
    await this.#call('state', id);
    return this.#get(id).state;
  }

  async reportedEnds(id: string): Promise<ReportedEnds> {
    await this.#call('reportedEnds', id);
    return this.ends;
  }

  async usage(id: string): Promise<MeasuredUsage> {
    await this.#call('usage', id);
    return this.measured;
  }

  async watch(): Promise<EngineWatch> {
    await this.#call('watch');
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const stop = (): void => {
      this.#watching.delete(stop);
      end();
    };
    this.#watching.add(stop);
    return { ended, stop };
  }

  /** How many watch it. */
  readonly watches = (): number => this.#watching.size;

  /** Breaks the connections that watch it, as a restart does. */
  restart(): void {
    for (const end of [...this.#watching]) {
      end();
    }
  }

  async kill(id: string): Promise<void> {
    await this.#call('kill', id);
    this.killed.push(id);
    this.containers.get(id)?.exit(137);
  }

  async remove(id: string): Promise<void> {
    await this.#call('remove', id);
    this.removed.push(id);
    this.containers.get(id)?.exit(137);
    this.containers.delete(id);
  }

  async list(label: string): Promise<readonly ListedContainer[]> {
    await this.#call('list');
    const [name = '', value] = label.split('=');
    const own = [...this.containers].map(([id, { spec, createdSeconds }]) => ({
      id,
      labels: spec.Labels ?? {},
      createdSeconds,
      ended: false,
    }));
    return [...own, ...this.foreign].filter(({ labels }) => labels[name] === value);
  }

  close(): void {}

  #get(id: string): FakeContainer {
    const found = this.containers.get(id);
    if (found === undefined) {
      throw new EngineError('refused', 'no such container', 404);
    }
    return found;
  }

  #container(id: string, spec: Docker.ContainerCreateOptions): FakeContainer {
    const received: Buffer[] = [];
    let exited = (): void => {};
    let told = 0;
    const stream: Duplex = new Duplex({
      read() {},
      write: (chunk: Buffer, _encoding, done) => {
        received.push(chunk);
        told = this.#hear(id, Buffer.concat(received), told);
        done();
      },
    });
    const container: FakeContainer = {
      spec,
      createdSeconds: Math.floor(Date.now() / 1000),
      stream,
      received,
      exited: new Promise((resolve) => {
        exited = resolve;
      }),
      exit: (exitCode, oomKilled = false) => {
        if (container.state.running) {
          container.state = { running: false, exitCode, oomKilled };
          exited();
          stream.push(null);
        }
      },
      state: { running: false, exitCode: 0, oomKilled: false },
    };
    return container;
  }

  /** What the harness does with its input so far: 0 nothing was said, 1 READY was, 2 the job is under way. */
  #hear(id: string, input: Buffer, told: number): number {
    const container = this.#get(id);
    if (input.byteLength < 4) {
      return told;
    }
    const setupEnd = 4 + input.readUInt32BE(0);
    if (told === 0 && input.byteLength >= setupEnd) {
      if (this.ready === null) {
        container.exit(70);
      } else {
        const payload = Buffer.from(JSON.stringify(this.ready));
        const frame = Buffer.concat([Buffer.from('R'), u32(payload.byteLength), payload]);
        container.stream.push(multiplexed(1, frame));
      }
      return 1;
    }
    const job = input.subarray(setupEnd);
    if (JSON.parse(input.toString('utf8', 4, setupEnd)).probe === true) {
      if (job.byteLength >= 4 && job.byteLength >= 4 + job.readUInt32BE(0)) {
        const facts = Buffer.from(JSON.stringify({ ...probeFacts(container.spec), ...this.probeFacts }));
        const frame = Buffer.concat([Buffer.from('F'), u32(facts.byteLength), facts]);
        container.stream.push(multiplexed(1, frame));
        this.probeEnd(container.exit);
        return 2;
      }
      return told;
    }
    this.jobs.set(id, job);
    if (told !== 1 || job.byteLength < 4 || job.byteLength < 4 + job.readUInt32BE(0)) {
      return told;
    }
    const headerEnd = 4 + job.readUInt32BE(0);
    const header = JSON.parse(job.toString('utf8', 4, headerEnd)) as Record<string, number>;
    const codeEnd = headerEnd + (header.code_bytes ?? 0);
    const end = codeEnd + (header.data_bytes ?? 0);
    if (job.byteLength < end) {
      return 1;
    }
    setImmediate(() =>
      this.script({
        header,
        code: job.toString('utf8', headerEnd, codeEnd),
        data: job.toString('utf8', codeEnd, end),
        stdout: (bytes) => container.stream.push(multiplexed(1, bytes)),
        stderr: (bytes) => container.stream.push(multiplexed(2, bytes)),
        exit: container.exit,
        disconnect: () => container.stream.push(null),
      }),
    );
    return 2;
  }
}
