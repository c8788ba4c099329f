import { parentPort } from 'node:worker_threads';
import type { JsonObject } from '../contract/result-type.ts';
import type { JsonType } from './json-type.ts';
import { type Compiled, createSchemaCompiler } from './schema-compile.ts';

/** `instance` is the JSON text to check; null: only compile. */
export interface SchemaJob {
  readonly schema: string;
  readonly instance: string | null;
}

export type SchemaAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'ok' }
  | { readonly kind: 'fault'; readonly message: string }
  | {
      readonly kind: 'mismatch';
      readonly path: readonly (string | number)[];
      readonly keyword: string;
      readonly types: readonly string[];
      readonly got: JsonType;
    }
  /** The schema's references recursed until the stack was full. */
  | { readonly kind: 'endless' };

/** Compiled schemas kept, so that checking a schema before the run and its result after it compiles once. */
const CACHE_ENTRIES = 16;

/** Answers jobs one at a time, in order. Lives in a worker: a `pattern` can run for hours, and only ending it helps. */
function serve(port: NonNullable<typeof parentPort>): void {
  const compile = createSchemaCompiler();
  const cache = new Map<string, Compiled>();
  port.on('message', (job: SchemaJob) => port.postMessage(answer(job)));
  port.postMessage({ kind: 'ready' } satisfies SchemaAnswer);

  function answer({ schema, instance }: SchemaJob): SchemaAnswer {
    const compiled = cached(schema);
    if (compiled.kind === 'fault') {
      return { kind: 'fault', message: compiled.message };
    }
    if (instance === null) {
      return { kind: 'ok' };
    }
    const value: unknown = JSON.parse(instance);
    try {
      return compiled.validate(value) === true ? { kind: 'ok' } : mismatch(compiled, value);
    } catch (error) {
      if (error instanceof RangeError) {
        return { kind: 'endless' };
      }
      throw error;
    }
  }

  function cached(schema: string): Compiled {
    const known = cache.get(schema);
    if (known !== undefined) {
      return known;
    }
    const compiled = compile(JSON.parse(schema) as JsonObject);
    const oldest = cache.keys().next();
    if (cache.size >= CACHE_ENTRIES && oldest.done !== true) {
      cache.delete(oldest.value);
    }
    cache.set(schema, compiled);
    return compiled;
  }
}

/**
 * The last error is the one that decided: of an `anyOf` the errors of its branches stand before its own. Only the
 * place and the keyword are taken; `params` of others than `type` can hold keys of the data.
 */
function mismatch({ validate }: Extract<Compiled, { kind: 'compiled' }>, root: unknown): SchemaAnswer {
  const error = validate.errors?.at(-1);
  const path: (string | number)[] = [];
  let value = root;
  for (const part of (error?.instancePath ?? '').split('/').slice(1)) {
    const step = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(value) ? Number(step) : step);
    value = (value as Record<string, unknown>)[step];
  }
  const types = error?.keyword === 'type' ? [error.params.type as string | string[]].flat() : [];
  return { kind: 'mismatch', path, keyword: error?.keyword ?? '', types, got: typeOf(value) };
}

function typeOf(value: unknown): JsonType {
  if (value === null) {
    return 'null';
  }
  if (Array.isArray(value)) {
    return 'array';
  }
  if (typeof value === 'number') {
    // As doubles: a schema sees 4.0 as an integer too, and past the double range there are integers only.
    return Number.isInteger(value) || !Number.isFinite(value) ? 'integer' : 'number';
  }
  return typeof value as 'boolean' | 'string' | 'object';
}

if (parentPort !== null) {
  serve(parentPort);
}
