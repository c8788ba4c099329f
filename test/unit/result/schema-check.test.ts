import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/contract/result-type.ts';
import {
  createSchemaChecker,
  type SchemaChecker,
  type SchemaCheckerOptions,
} from '../../../src/result/schema-check.ts';

const shared = createSchemaChecker({ workers: 1, deadlineMs: 20_000 });
afterAll(() => shared.close());

const own: SchemaChecker[] = [];
function create(options: SchemaCheckerOptions): SchemaChecker {
  const checker = createSchemaChecker(options);
  own.push(checker);
  return checker;
}
afterEach(() => Promise.all(own.splice(0).map((checker) => checker.close())));

/** Runs for far longer than any test: each further `a` doubles the work. */
const SLOW: JsonObject = { pattern: '^(a+)+$' };
const SLOW_TEXT = `"${'a'.repeat(60)}!"`;

describe('a result against result_schema', () => {
  const fine: readonly (readonly [JsonObject, string])[] = [
    [{}, '"x"'],
    [{ type: 'integer' }, `${2n ** 200n}`],
    [{ type: 'integer' }, '9'.repeat(400)],
    [{ type: 'integer' }, '4.0'],
    [{ type: 'object', properties: { total: { multipleOf: 0.01 } } }, '{"total":19.99}'],
    [{ items: { $ref: '#/$defs/row' }, $defs: { row: { type: 'array' } } }, '[[],[1]]'],
    [{ properties: { child: { $ref: '#' } }, additionalProperties: false }, '{"child":{"child":{}}}'],
    [{ $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'https://example.com/a' }, '1'],
    [{ $id: 'https://example.com/a', type: 'string' }, '"x"'],
    [{ format: 'email', unknown: 1 }, '"not an address"'],
    [{ properties: { toString: { type: 'string' } } }, '{}'],
    [{ properties: { total: { default: 'x', enum: [{ $ref: 'https://example.com' }, 1] } } }, '{"total":1}'],
  ];
  test.each(fine)('%j takes %s', async (schema, text) => {
    expect(await shared.compileCheck(schema)).toBeNull();
    expect(await shared.check(schema, text)).toEqual({ kind: 'ok' });
  });

  const wrong: readonly (readonly [JsonObject, string, string, string, string | null, string])[] = [
    [{ type: 'number' }, '"canary"', '$', 'type', 'number', 'string'],
    [{ type: ['number', 'null'] }, 'true', '$', 'type', 'number or null', 'boolean'],
    [{ properties: { total: { minimum: 1000 } } }, '{"total":71}', '$.total', 'minimum', null, 'integer'],
    [{ enum: ['canary-1'] }, '"canary-2"', '$', 'enum', null, 'string'],
    [{ const: 'canary-1' }, '4.5', '$', 'const', null, 'number'],
    [{ required: ['constructor'] }, '{}', '$', 'required', null, 'object'],
    [{ additionalProperties: false }, '{"canary":1}', '$', 'additionalProperties', null, 'object'],
    [{ propertyNames: { maxLength: 2 } }, '{"canary":1}', '$', 'propertyNames', null, 'object'],
    [{ patternProperties: { '^can': { type: 'null' } } }, '{"canary":1}', '$.*', 'type', 'null', 'integer'],
    [{ additionalProperties: { type: 'null' } }, '{"canary/~x":1}', '$.*', 'type', 'null', 'integer'],
    [
      { additionalProperties: { items: { properties: { total: { type: 'number' } } } } },
      '{"canary":[{"total":1},{"total":[]}]}',
      '$.*[].total',
      'type',
      'number',
      'array',
    ],
    [{ anyOf: [{ type: 'null' }, { type: 'string' }] }, '71', '$', 'anyOf', null, 'integer'],
    [{ properties: { a: false } }, '{"a":71}', '$.a', 'false schema', null, 'integer'],
    [{ type: 'array' }, 'null', '$', 'type', 'array', 'null'],
    [{ type: 'string' }, '9'.repeat(400), '$', 'type', 'string', 'integer'],
  ];
  test.each(wrong)('%j refuses %s', async (schema, text, path, keyword, wanted, got) => {
    const verdict = await shared.check(schema, text);
    expect(verdict).toEqual({ kind: 'mismatch', path, keyword, wanted, got });
    expect(JSON.stringify(verdict)).not.toMatch(/canary|71/);
  });

  test('one schema says nothing about the next, whatever both call themselves', async () => {
    const id = 'https://example.com/same';
    const said = (type: string): JsonObject => ({
      $id: id,
      $ref: '#/$defs/a',
      $defs: { a: { $anchor: 'a', type } },
    });
    expect(await shared.check(said('string'), '"x"')).toEqual({ kind: 'ok' });
    expect(await shared.check(said('number'), '1')).toEqual({ kind: 'ok' });
    expect((await shared.compileCheck({ $ref: '#a' }))?.code).toBe('invalid');
  });
});

describe('a result_schema that cannot be used', () => {
  const deep = (levels: number): JsonObject => {
    let schema: JsonObject = {};
    for (let level = 1; level < levels; level += 1) {
      schema = { not: schema };
    }
    return schema;
  };
  const faults: readonly (readonly [string, JsonObject, RegExp])[] = [
    [
      'a wrong keyword value',
      { properties: { canary: { minimum: 'canary' } } },
      /^result_schema\.properties\.\*\.minimum /,
    ],
    ['an unknown type', { type: 'canary' }, /^result_schema\.type /],
    ['a remote reference', { items: { $ref: 'https://canary.example/x' } }, /\$ref must begin with "#"/],
    ['a file reference', { $ref: 'canary.json' }, /\$ref must begin with "#"/],
    ['a remote dynamic reference', { $dynamicRef: 'https://canary.example/x' }, /\$dynamicRef must begin/],
    ['the draft by reference', { $ref: 'https://json-schema.org/draft/2020-12/schema' }, /\$ref must begin/],
    ['a reference to nothing', { $ref: '#/$defs/canary' }, /\$ref points to nothing/],
    ['a reference loop', { $ref: '#' }, /\$ref leads back to itself/],
    ['a loop for objects only', { type: 'object', allOf: [{ $ref: '#' }] }, /\$ref leads back to itself/],
    ['a pattern that is none', { pattern: '[canary' }, /pattern must be a regular expression/],
    ['another draft', { $schema: 'http://json-schema.org/draft-07/schema#' }, /\$schema must be/],
    ['an inner $id', { $defs: { a: { $id: 'https://canary.example/x' } } }, /\$id is taken only at the root/],
    ['$async', { $async: true, type: 'string' }, /\$async is not a keyword/],
    [
      'a field that is not looked at',
      { properties: { ['__proto__']: { type: 'string' } } },
      /__proto__ cannot be checked/,
    ],
    ['items as a list', { items: [{}] }, /^result_schema\.items /],
    ['a big one', { description: 'canary'.repeat(11_000) }, /larger than 64 KiB/],
    ['a deep one', deep(65), /nested deeper than 64/],
    ['a very deep one', deep(100_000), /nested deeper than 64/],
    ['nullable without a type', { nullable: true }, /nullable is not a keyword/],
    ['id', { id: 'canary' }, /: id is not a keyword/],
    [
      'an anchor twice',
      { $defs: { a: { $anchor: 'canary' }, b: { $anchor: 'canary' } } },
      /\$anchor or \$id/,
    ],
    ['a reference that is no URI', { $ref: '#/$defs/%zz' }, /\$ref must be a URI/],
  ];
  test.each(faults)('%s', async (_, schema, message) => {
    const fault = await shared.compileCheck(schema);
    expect(fault).toMatchObject({ kind: 'fault', code: 'invalid' });
    expect(fault?.message).toMatch(message);
    expect(fault?.message).toContain('result_schema');
    expect(fault?.message).not.toContain('canary');
    await expect(shared.check(schema, '{}')).rejects.toThrow('not checked before use');
  });

  test('64 levels and 64 KiB are fine', async () => {
    expect(await shared.compileCheck(deep(64))).toBeNull();
    expect(await shared.compileCheck({ description: 'x'.repeat(65_000) })).toBeNull();
  });

  test('a property may have the name of a keyword', async () => {
    const schema = {
      properties: { $ref: { type: 'string' }, $id: {}, default: { properties: { enum: {} } } },
    };
    expect(await shared.compileCheck(schema)).toBeNull();
  });
});

describe('a check that does not end', () => {
  test('is ended at its deadline while the event loop stays live, and the next one works', async () => {
    const checker = create({ workers: 1, deadlineMs: 2_000 });
    expect(await checker.compileCheck(SLOW)).toBeNull();
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 5);
    expect(await checker.check(SLOW, SLOW_TEXT)).toEqual({ kind: 'timeout', reason: 'deadline' });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(10);
    expect(await create({ workers: 1, deadlineMs: 20_000 }).check({ type: 'number' }, '1')).toEqual({
      kind: 'ok',
    });
    expect(await checker.check({ type: 'number' }, '1')).toEqual({ kind: 'ok' });
  });

  test('does not hold up others', async () => {
    const checker = create({ workers: 2, deadlineMs: 15_000 });
    let slowEnded = false;
    const slow = checker.check(SLOW, SLOW_TEXT).finally(() => {
      slowEnded = true;
    });
    expect(await checker.check({ type: 'number' }, '1')).toEqual({ kind: 'ok' });
    expect(slowEnded).toBe(false);
    await checker.close();
    expect(await slow).toEqual({ kind: 'timeout', reason: 'cancelled' });
  });

  test('counts neither the start of the worker nor the wait for it', async () => {
    const checker = create({ workers: 1, deadlineMs: 3_000 });
    const first = checker.check(SLOW, SLOW_TEXT);
    const second = checker.check({ type: 'number' }, '1');
    expect(await first).toEqual({ kind: 'timeout', reason: 'deadline' });
    expect(await second).toEqual({ kind: 'ok' });
  });

  test('that recurses without end on some values is ended too', async () => {
    // Goes round only for objects with an `a`, which none of the compiler's probes has.
    const schema: JsonObject = JSON.parse('{"if":{"type":"object","required":["a"]},"then":{"$ref":"#"}}');
    expect(await shared.compileCheck(schema)).toBeNull();
    expect(await shared.check(schema, '{"a":1}')).toEqual({ kind: 'timeout', reason: 'endless' });
    expect(await shared.check(schema, '{}')).toEqual({ kind: 'ok' });
  });

  test('that needs too much memory is ended like one that needs too long', async () => {
    const checker = create({ workers: 1, deadlineMs: 25_000, heapMb: 32 });
    const text = `[${'{"a":[]},'.repeat(600_000)}1]`;
    expect(await checker.check({ type: 'array' }, text)).toEqual({ kind: 'timeout', reason: 'heap' });
    expect(await checker.check({ type: 'array' }, '[]')).toEqual({ kind: 'ok' });
  });
});

describe('the queue of checks', () => {
  test('answers busy at its bound', async () => {
    const checker = create({ workers: 1, maxWaiting: 1, deadlineMs: 15_000 });
    const running = checker.check(SLOW, SLOW_TEXT);
    const waiting = checker.check({}, '1');
    expect(await checker.check({}, '1')).toEqual({ kind: 'timeout', reason: 'busy' });
    expect(await checker.compileCheck({})).toMatchObject({ kind: 'fault', code: 'busy' });
    await checker.close();
    expect(await running).toEqual({ kind: 'timeout', reason: 'cancelled' });
    expect(await waiting).toEqual({ kind: 'timeout', reason: 'cancelled' });
    expect(await checker.check({}, '1')).toEqual({ kind: 'timeout', reason: 'cancelled' });
  });

  test('is left by a caller who hangs up, and the place is free again', async () => {
    const checker = create({ workers: 1, maxWaiting: 1, deadlineMs: 15_000 });
    const running = checker.check(SLOW, SLOW_TEXT);
    const caller = new AbortController();
    const waiting = checker.check({}, '1', caller.signal);
    caller.abort();
    expect(await waiting).toEqual({ kind: 'timeout', reason: 'cancelled' });
    expect(await checker.check({}, '1', caller.signal)).toEqual({ kind: 'timeout', reason: 'cancelled' });
    const next = checker.check({}, '1');
    await checker.close();
    expect(await next).toEqual({ kind: 'timeout', reason: 'cancelled' });
    await running;
  });

  test('is not left a second time by a caller whose check runs or is over', async () => {
    const checker = create({ workers: 1, deadlineMs: 2_000 });
    const caller = new AbortController();
    const running = checker.check(SLOW, SLOW_TEXT, caller.signal);
    const waiting = checker.check({ type: 'number' }, '1');
    caller.abort();
    expect(await running).toEqual({ kind: 'timeout', reason: 'deadline' });
    expect(await waiting).toEqual({ kind: 'ok' });
  });

  test('keeps no process alive once it is empty', async () => {
    const script = fileURLToPath(new URL('idle-checker.ts', import.meta.url));
    const child = spawn(process.execPath, ['--import', 'tsx', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += chunk;
    });
    const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(20_000) });
    expect([said, code]).toEqual(['ok', 0]);
  });
});
