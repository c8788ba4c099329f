import type { JsonObject } from '../contract/result-type.ts';
import type { JsonType } from './json-type.ts';
import { maskPath } from './path.ts';
import { createLane, type Lane, type LaneAnswer } from './schema-lane.ts';
import { type SchemaFault, schemaText } from './schema-text.ts';
import type { SchemaJob } from './schema-worker.ts';

export interface SchemaCheckerOptions {
  /** Time of one check in milliseconds, waiting and worker start not counted. Default 1,000. */
  readonly deadlineMs?: number;
  /** Time a worker may take to come up. Default 30,000: slow machines load modules slowly. */
  readonly startMs?: number;
  /** Worker threads, started when needed. Default 2: one slow pattern does not hold up everybody. */
  readonly workers?: number;
  /** Checks that may wait for a worker. Default 64; past it the answer is `busy` at once. */
  readonly maxWaiting?: number;
  /** Heap of one worker in MiB; a check that needs more ends like one that needs too long. Default 256. */
  readonly heapMb?: number;
}

/** How a text stands to a schema. */
export type SchemaVerdict =
  | { readonly kind: 'ok' }
  | {
      readonly kind: 'mismatch';
      /** Masked. */
      readonly path: string;
      readonly keyword: string;
      /** The types that `type` asks for; null for other keywords. */
      readonly wanted: string | null;
      readonly got: JsonType;
    }
  | {
      readonly kind: 'timeout';
      /** `endless`: references that recurse until the stack is full. */
      readonly reason: 'deadline' | 'heap' | 'endless' | 'busy' | 'cancelled';
    };

/** Checks JSON texts against JSON Schema 2020-12 in worker threads. Numbers are compared as doubles there. */
export interface SchemaChecker {
  /**
   * Whether a schema can be used; null: yes. The fault's message names the keyword and the fix. Ask before a
   * model is asked: it is the request that is at fault. `signal` ends waiting.
   */
  compileCheck(schema: JsonObject, signal?: AbortSignal): Promise<SchemaFault | null>;
  /** Checks a JSON text. `signal` ends waiting; a check that runs ends by its deadline. Throws for a faulty schema. */
  check(schema: JsonObject, text: string, signal?: AbortSignal): Promise<SchemaVerdict>;
  /** Ends the workers; what waits or runs is answered `cancelled`. */
  close(): Promise<void>;
}

type Answer = LaneAnswer | { readonly kind: 'busy' | 'cancelled' };

interface Waiting {
  readonly job: SchemaJob;
  readonly answer: (answer: Answer | Promise<Answer>) => void;
}

const JSON_TYPES = new Set(['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']);

export function createSchemaChecker(options: SchemaCheckerOptions = {}): SchemaChecker {
  const { deadlineMs = 1_000, startMs = 30_000, workers = 2, maxWaiting = 64, heapMb = 256 } = options;
  const lanes = Array.from({ length: workers }, () => createLane({ deadlineMs, startMs, heapMb }));
  const idle: Lane[] = [...lanes];
  // First in, first out; bounded by maxWaiting. Each waits at most (waiting / workers) deadlines.
  const waiting: Waiting[] = [];
  let closed = false;

  function ask(job: SchemaJob, signal?: AbortSignal): Promise<Answer> {
    if (closed || signal?.aborted === true) {
      return Promise.resolve({ kind: 'cancelled' });
    }
    if (idle.length === 0 && waiting.length >= maxWaiting) {
      return Promise.resolve({ kind: 'busy' });
    }
    return new Promise((resolve) => {
      const leave = (): void => {
        waiting.splice(waiting.indexOf(entry), 1);
        resolve({ kind: 'cancelled' });
      };
      const entry: Waiting = {
        job,
        answer: (answer) => {
          signal?.removeEventListener('abort', leave);
          resolve(answer);
        },
      };
      signal?.addEventListener('abort', leave, { once: true });
      waiting.push(entry);
      dispatch();
    });
  }

  function dispatch(): void {
    while (idle.length > 0 && waiting.length > 0) {
      // The lane that was used last comes first: its worker is up and may have the schema compiled.
      const lane = idle.pop() as Lane;
      const { job, answer } = waiting.shift() as Waiting;
      // Takes its signal's listener off too: what has left the queue must not leave it again.
      answer(runOn(lane, job));
    }
  }

  async function runOn(lane: Lane, job: SchemaJob): Promise<Answer> {
    try {
      return await lane.run(job);
    } catch (error) {
      if (closed) {
        return { kind: 'cancelled' };
      }
      throw error;
    } finally {
      idle.push(lane);
      dispatch();
    }
  }

  return {
    async compileCheck(schema, signal) {
      const text = schemaText(schema);
      return typeof text === 'string' ? faultOf(await ask({ schema: text, instance: null }, signal)) : text;
    },
    async check(schema, text, signal) {
      const known = schemaText(schema);
      if (typeof known !== 'string') {
        throw new Error(`the schema was not checked before use: ${known.message}`);
      }
      const answer = await ask({ schema: known, instance: text }, signal);
      switch (answer.kind) {
        case 'ok':
          return { kind: 'ok' };
        case 'mismatch': {
          const wanted = answer.types.filter((type) => JSON_TYPES.has(type)).join(' or ');
          const { keyword, got } = answer;
          const path = maskPath(answer.path, schema);
          return { kind: 'mismatch', path, keyword, wanted: wanted === '' ? null : wanted, got };
        }
        case 'fault':
          throw new Error(`the schema was not checked before use: ${answer.message}`);
        default:
          return { kind: 'timeout', reason: answer.kind };
      }
    },
    async close() {
      closed = true;
      for (const { answer } of waiting.splice(0)) {
        answer({ kind: 'cancelled' });
      }
      await Promise.all(lanes.map((lane) => lane.close()));
    },
  };
}

function faultOf(answer: Answer): SchemaFault | null {
  switch (answer.kind) {
    case 'ok':
      return null;
    case 'fault':
      return { kind: 'fault', code: 'invalid', message: answer.message };
    case 'busy':
      return { kind: 'fault', code: 'busy', message: 'Too many schemas are being checked; try again.' };
    case 'cancelled':
      return { kind: 'fault', code: 'cancelled', message: 'The check of result_schema was called off.' };
    default:
      return {
        kind: 'fault',
        code: 'timeout',
        message: 'result_schema takes too long to compile; simplify it',
      };
  }
}
