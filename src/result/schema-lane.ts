import { Worker } from 'node:worker_threads';
import { threadFile } from '../thread-file.ts';
import type { SchemaAnswer, SchemaJob } from './schema-worker.ts';

export interface LaneOptions {
  /** One job's time in a worker that is up, in milliseconds. */
  readonly deadlineMs: number;
  /** How long a worker may take to come up, in milliseconds; past it the job fails with an Error. */
  readonly startMs: number;
  readonly heapMb: number;
}

/** What a job came to: the worker's answer, or the bound that it ran into. */
export type LaneAnswer = Exclude<SchemaAnswer, { kind: 'ready' }> | { readonly kind: 'deadline' | 'heap' };

/** One worker, started when it is first needed and replaced after a job that had to be ended. */
export interface Lane {
  /** Runs one job; one at a time. Rejects if the worker cannot start or dies by a bug. */
  run(job: SchemaJob): Promise<LaneAnswer>;
  close(): Promise<void>;
}

const THREAD = threadFile(import.meta.url, 'schema-worker');

export function createLane({ deadlineMs, startMs, heapMb }: LaneOptions): Lane {
  let worker: Worker | null = null;

  function start(): Worker {
    const started = new Worker(THREAD.url, {
      execArgv: THREAD.execArgv,
      // No secret of the service's environment is within reach of code that ajv generates.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
      // Kept apart from the service's own output, and not read: nothing in the worker prints.
      stdout: true,
      stderr: true,
    });
    // An idle worker that dies must not take the process with it; the next job starts another.
    return started
      .on('error', () => {})
      .on('exit', () => {
        if (worker === started) {
          worker = null;
        }
      });
  }

  /** The next message of the worker, or `null` when `ms` have passed; whatever ends the worker ends the wait. */
  function next(from: Worker, ms: number): Promise<SchemaAnswer | 'heap' | null> {
    return new Promise((resolve, reject) => {
      const settle = (end: () => void): void => {
        clearTimeout(timer);
        from.off('message', onMessage).off('error', onError).off('exit', onExit);
        end();
      };
      const onMessage = (answer: SchemaAnswer): void => settle(() => resolve(answer));
      const onError = (error: Error & { code?: string }): void =>
        settle(() =>
          error.code === 'ERR_WORKER_OUT_OF_MEMORY'
            ? resolve('heap')
            : // Its message can hold a piece of the result.
              reject(new Error(`the schema worker failed with ${error.name}`)),
        );
      const onExit = (): void => settle(() => reject(new Error('the schema worker ended')));
      const timer = setTimeout(() => settle(() => resolve(null)), ms);
      from.on('message', onMessage).on('error', onError).on('exit', onExit);
    });
  }

  async function discard(): Promise<void> {
    const gone = worker;
    worker = null;
    await gone?.terminate();
  }

  async function ready(): Promise<Worker> {
    if (worker === null) {
      worker = start();
      const first = await next(worker, startMs);
      if (first === null || first === 'heap' || first.kind !== 'ready') {
        throw new Error('the schema worker did not start');
      }
    }
    return worker;
  }

  return {
    async run(job) {
      try {
        const busy = await ready();
        busy.ref();
        busy.postMessage(job);
        const answer = await next(busy, deadlineMs);
        if (answer === null || answer === 'heap') {
          await discard();
          return { kind: answer ?? 'deadline' };
        }
        // An idle worker must not keep the process from ending.
        busy.unref();
        return answer as LaneAnswer;
      } catch (error) {
        await discard();
        throw error;
      }
    },
    close: discard,
  };
}
