import { readFileSync } from 'node:fs';
import Docker from 'dockerode';
import { ADMITTED_BUILTINS } from '../../src/admission/builtins.ts';
import { BUILT_IN_PACK_DIR } from '../../src/prompt/pack.ts';
import { SANDBOX_IMAGE_FOLDER, sandboxImageTag } from '../../src/sandbox/image.ts';

/** Longer than any of these containers may live; a test that waits for one fails then, and the container goes. */
const LIFE_MS = 60_000;

const docker = new Docker();
/** These tests' own mark: other tests and services may use the engine at the same time. */
const INSTANCE = `harness-test-${process.pid}-${Date.now()}`;
export const MODULES: Readonly<Record<string, readonly string[]>> = JSON.parse(
  readFileSync(`${BUILT_IN_PACK_DIR}pack.json`, 'utf8'),
).modules;
export const IMAGE = sandboxImageTag(Object.keys(MODULES));
export const SECCOMP = readFileSync(`${SANDBOX_IMAGE_FOLDER}seccomp.json`, 'utf8');

export interface Frame {
  readonly tag: string;
  readonly payload: Buffer;
}

export interface Ended {
  readonly exitCode: number;
  /** Whole frames of the standard output, and what was left behind the last whole one. */
  readonly frames: readonly Frame[];
  readonly rest: Buffer;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export interface Container {
  write(bytes: Buffer): void;
  /** No more input comes. */
  end(): void;
  /** Waits until `count` frames have come in; rejects where the output ends before. */
  frames(count: number): Promise<readonly Frame[]>;
  /** Waits until it has ended by itself, removes it. */
  ended(): Promise<Ended>;
}

function split(stdout: Buffer): { frames: Frame[]; rest: Buffer } {
  const frames: Frame[] = [];
  let at = 0;
  while (stdout.byteLength >= at + 5) {
    const end = at + 5 + stdout.readUInt32BE(at + 1);
    if (end > stdout.byteLength) break;
    frames.push({ tag: stdout.toString('latin1', at, at + 1), payload: stdout.subarray(at + 5, end) });
    at = end;
  }
  return { frames, rest: stdout.subarray(at) };
}

/** Starts the image with the options of a sandbox; `python` runs that text instead of the harness. */
export async function startContainer(
  options: { readonly python?: string; readonly seccomp?: string } = {},
): Promise<Container> {
  const signal = AbortSignal.timeout(LIFE_MS);
  const entrypoint =
    options.python === undefined
      ? {}
      : { Entrypoint: ['/usr/bin/python3', '-P', '-s', '-S', '-B', '-c', options.python] };
  const container = await docker.createContainer({
    Image: IMAGE,
    ...entrypoint,
    Labels: {
      'compute-step': '1',
      'compute-step.instance': INSTANCE,
      'compute-step.expires': String(Math.ceil((Date.now() + LIFE_MS) / 1000)),
    },
    User: '65534:65534',
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges', `seccomp=${options.seccomp ?? SECCOMP}`],
      IpcMode: 'none',
      PidsLimit: 64,
      Memory: 256 << 20,
      MemorySwap: 256 << 20,
      LogConfig: { Type: 'none', Config: {} },
    },
    abortSignal: signal,
  });
  const remove = () => container.remove({ force: true, abortSignal: AbortSignal.timeout(LIFE_MS) });
  try {
    const stream = await container.attach({
      stream: true,
      hijack: true,
      stdin: true,
      stdout: true,
      stderr: true,
      abortSignal: signal,
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    let pending = Buffer.alloc(0);
    let over = false;
    // Tells whoever waits for frames that something came or that nothing more will.
    const wakers = new Set<() => void>();
    const wake = () => {
      for (const waker of wakers) waker();
    };
    stream.on('data', (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      while (pending.byteLength >= 8 && pending.byteLength >= 8 + pending.readUInt32BE(4)) {
        const end = 8 + pending.readUInt32BE(4);
        (pending[0] === 1 ? out : err).push(pending.subarray(8, end));
        pending = pending.subarray(end);
      }
      wake();
    });
    const finish = () => {
      over = true;
      wake();
    };
    stream.once('end', finish).once('close', finish).once('error', finish);
    await container.start({ abortSignal: signal });
    const changed = () =>
      new Promise<void>((resolve) => {
        const waker = () => {
          wakers.delete(waker);
          resolve();
        };
        wakers.add(waker);
      });
    return {
      write: (bytes) => void stream.write(bytes),
      end: () => void stream.end(),
      async frames(count) {
        for (;;) {
          const { frames } = split(Buffer.concat(out));
          if (frames.length >= count) return frames;
          if (over) throw new Error(`the output ended after ${frames.length} frames: ${Buffer.concat(err)}`);
          await changed();
        }
      },
      async ended() {
        try {
          const { StatusCode } = await container.wait({ abortSignal: signal });
          while (!over) await changed();
          const stdout = Buffer.concat(out);
          return { exitCode: StatusCode, ...split(stdout), stdout, stderr: Buffer.concat(err) };
        } finally {
          await remove();
        }
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

function prefixed(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.byteLength);
  return Buffer.concat([length, bytes]);
}

/** A SETUP frame; the pack's and admission's own tables where not given. */
export function setupFrame(setup: object = { modules: MODULES, builtins: [...ADMITTED_BUILTINS] }): Buffer {
  return prefixed(Buffer.from(JSON.stringify(setup)));
}

export interface JobOptions {
  readonly wall_seconds?: number;
  readonly result_max_bytes?: number;
  readonly result_max_depth?: number;
  readonly decimal_as_string?: boolean;
  readonly detail_max_bytes?: number;
  readonly seal?: string;
}

/** A JOB frame. `data` is JSON text. */
export function jobFrame(code: string | Buffer, data = 'null', options: JobOptions = {}): Buffer {
  const codeBytes = Buffer.from(code as string);
  const dataBytes = Buffer.from(data);
  const header = {
    wall_seconds: 10,
    result_max_bytes: 4 << 20,
    result_max_depth: 64,
    decimal_as_string: false,
    detail_max_bytes: 0,
    ...options,
    code_bytes: codeBytes.byteLength,
    data_bytes: dataBytes.byteLength,
  };
  return Buffer.concat([prefixed(Buffer.from(JSON.stringify(header))), codeBytes, dataBytes]);
}

export interface Answer {
  readonly header: Readonly<Record<string, unknown>>;
  /** The result's JSON text; empty unless returned. */
  readonly result: string;
}

export function readAnswer(frame: Frame | undefined): Answer {
  if (frame?.tag !== 'A') throw new Error(`not an answer: ${frame?.tag}`);
  const end = 4 + frame.payload.readUInt32BE(0);
  return {
    header: JSON.parse(frame.payload.toString('utf8', 4, end)),
    result: frame.payload.toString('utf8', end),
  };
}

/** One whole life: set up, run the job, end cleanly. The answer must be the only frame after READY, exit code 0. */
export async function runJob(
  code: string | Buffer,
  data = 'null',
  options: JobOptions = {},
  seccomp = SECCOMP,
): Promise<Answer> {
  const container = await startContainer({ seccomp });
  container.write(setupFrame());
  container.write(jobFrame(code, data, options));
  const ended = await container.ended();
  if (ended.exitCode !== 0 || ended.frames.length !== 2 || ended.rest.byteLength > 0) {
    throw new Error(
      `exit ${ended.exitCode}, ${ended.frames.length} frames, ${ended.rest.byteLength} bytes more`,
    );
  }
  return readAnswer(ended.frames[1]);
}

/** Runs Python text in the image in place of the harness; answers what it printed, parsed as JSON. */
export async function runPython(python: string, seccomp = SECCOMP): Promise<unknown> {
  const container = await startContainer({ python, seccomp });
  container.end();
  const ended = await container.ended();
  if (ended.exitCode !== 0) throw new Error(`exit ${ended.exitCode}: ${ended.stderr}`);
  return JSON.parse(ended.stdout.toString('utf8'));
}

/** Containers of these tests that the engine still has. */
export async function labelled(): Promise<number> {
  const found = await docker.listContainers({
    all: true,
    filters: { label: [`compute-step.instance=${INSTANCE}`] },
    abortSignal: AbortSignal.timeout(10_000),
  });
  return found.length;
}
