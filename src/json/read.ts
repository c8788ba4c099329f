import { Worker } from 'node:worker_threads';
import { type Problem, problem } from '../contract/problem.ts';
import { threadFile } from '../thread-file.ts';
import { type ReadBody, readBody } from './body.ts';
import { type BodyAnswer, type BodyJob, unpackBody } from './body-message.ts';
import type { JsonFault } from './fault.ts';

export interface BodyReaderOptions {
  readonly maxDepth: number;
  readonly maxSources?: number;
  readonly maxEnvelopeBytes?: number;
  /** Bodies from this size on are read in a worker, so that they do not block the event loop. Default 256 KiB. */
  readonly workerThresholdBytes?: number;
  /** Threads; made when they are first needed. Default 2. */
  readonly maxWorkers?: number;
  /** Bodies waiting for a thread; one more is answered with `overloaded`. Default 64. */
  readonly maxQueued?: number;
  /** Longest time one body may take in a thread; past it the thread is ended. Default 30 s. */
  readonly jobTimeoutMs?: number;
  /** The thread's file; for tests. */
  readonly workerUrl?: URL;
}

export interface BodyReader {
  /**
   * Reads a request body (`readBody`). The buffer is given away: a large one is moved to another thread. Answers
   * `overloaded` when too many are waiting; rejects when `signal` aborts, with its reason, or a thread crashes.
   */
  read(bytes: Buffer, signal: AbortSignal): Promise<ReadBody | JsonFault | Problem>;
  /** Ends the threads; what is being read is rejected. */
  close(): Promise<void>;
}

const THREAD = threadFile(import.meta.url, 'read-worker');

interface Job {
  readonly message: BodyJob;
  readonly resolve: (answer: ReadBody | JsonFault) => void;
  readonly reject: (reason: unknown) => void;
}

/** Makes a reader: small bodies are read at once, large ones in one of a few threads. */
export function createBodyReader(options: BodyReaderOptions): BodyReader {
  return new ThreadedReader(options);
}

class ThreadedReader implements BodyReader {
  private readonly limits: BodyJob['limits'];
  private readonly options: Required<
    Pick<
      BodyReaderOptions,
      'workerThresholdBytes' | 'maxWorkers' | 'maxQueued' | 'jobTimeoutMs' | 'workerUrl'
    >
  >;
  private readonly idle: Worker[] = [];
  private readonly busy = new Map<Worker, Job>();
  /** First in, first out; at most `maxQueued`. A caller who gives up leaves it. */
  private readonly queue: Job[] = [];
  private closed = false;

  constructor(options: BodyReaderOptions) {
    this.limits = {
      maxDepth: options.maxDepth,
      maxSources: options.maxSources ?? 100,
      maxEnvelopeBytes: options.maxEnvelopeBytes ?? 2 * 1024 * 1024,
    };
    this.options = {
      workerThresholdBytes: options.workerThresholdBytes ?? 256 * 1024,
      maxWorkers: options.maxWorkers ?? 2,
      maxQueued: options.maxQueued ?? 64,
      jobTimeoutMs: options.jobTimeoutMs ?? 30_000,
      workerUrl: options.workerUrl ?? THREAD.url,
    };
  }

  async read(bytes: Buffer, signal: AbortSignal): Promise<ReadBody | JsonFault | Problem> {
    signal.throwIfAborted();
    if (this.closed) throw new Error('The body reader is closed.');
    if (bytes.length < this.options.workerThresholdBytes) return readBody(bytes, this.limits);
    const room = this.busy.size < this.options.maxWorkers;
    if (!room && this.queue.length >= this.options.maxQueued) {
      return problem('overloaded', 'Too many large bodies are being read; try again.', {
        retryAfterSeconds: 1,
      });
    }
    return new Promise<ReadBody | JsonFault>((resolve, reject) => {
      const leave = () => {
        const at = this.queue.indexOf(job);
        if (at >= 0) this.queue.splice(at, 1);
        // A job in a thread goes on, for a fraction of a second; its answer is dropped.
        reject(signal.reason);
      };
      const settled = () => signal.removeEventListener('abort', leave);
      const job: Job = {
        message: { body: ownMemory(bytes), limits: this.limits },
        resolve: (answer) => {
          settled();
          resolve(answer);
        },
        reject: (reason) => {
          settled();
          reject(reason);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      this.queue.push(job);
      this.dispatch();
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    const closing = new Error('The body reader was closed.');
    for (const job of this.queue.splice(0)) job.reject(closing);
    for (const job of this.busy.values()) job.reject(closing);
    const workers = [...this.idle.splice(0), ...this.busy.keys()];
    this.busy.clear();
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  private dispatch(): void {
    while (this.queue.length > 0 && this.busy.size < this.options.maxWorkers && !this.closed) {
      const job = this.queue.shift() as Job;
      this.start(this.idle.pop() ?? this.newWorker(), job);
    }
  }

  private newWorker(): Worker {
    const worker = new Worker(this.options.workerUrl, { execArgv: THREAD.execArgv });
    // An idle thread that dies is forgotten; the next body gets a fresh one.
    worker.on('error', () => this.forget(worker));
    worker.on('exit', () => this.forget(worker));
    worker.unref();
    return worker;
  }

  private forget(worker: Worker): void {
    const at = this.idle.indexOf(worker);
    if (at >= 0) this.idle.splice(at, 1);
  }

  private start(worker: Worker, job: Job): void {
    this.busy.set(worker, job);
    worker.ref();
    const end = (healthy: boolean, finish: () => void) => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      worker.off('error', onError);
      worker.off('exit', onExit);
      if (!this.busy.delete(worker)) return;
      if (healthy) {
        worker.unref();
        this.idle.push(worker);
      }
      finish();
      this.dispatch();
    };
    const fail = (cause: unknown) =>
      end(false, () =>
        job.reject(new Error('The thread that read a large body ended before it answered.', { cause })),
      );
    const onMessage = (answer: BodyAnswer) => end(true, () => job.resolve(unpackBody(answer)));
    const onError = (error: unknown) => fail(error);
    const onExit = (code: number) => fail(`exit code ${code}`);
    const timer = setTimeout(() => {
      fail(`no answer within ${this.options.jobTimeoutMs} ms`);
      void worker.terminate();
    }, this.options.jobTimeoutMs);
    worker.on('message', onMessage);
    worker.on('error', onError);
    worker.on('exit', onExit);
    worker.postMessage(job.message, [job.message.body]);
  }
}

/** The buffer's memory if it has one of its own, else a copy: a slice of a pool must not be moved away. */
function ownMemory(bytes: Buffer): ArrayBuffer {
  const memory = bytes.buffer;
  if (memory instanceof ArrayBuffer && bytes.byteOffset === 0 && memory.byteLength === bytes.length) {
    return memory;
  }
  return new Uint8Array(bytes).buffer;
}
