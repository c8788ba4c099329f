import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonFaultCode } from '../../../src/json/fault.ts';
import { scanValue } from '../../../src/json/scan.ts';
import { jsonText, mutatedJson, nodeAccepts } from './documents.ts';

function scan(text: string | Uint8Array, maxDepth = 64) {
  return scanValue(typeof text === 'string' ? Buffer.from(text) : text, { maxDepth });
}

function codeOf(text: string | Uint8Array, maxDepth = 64): JsonFaultCode | 'scanned' {
  const scanned = scan(text, maxDepth);
  return scanned.kind === 'fault' ? scanned.code : 'scanned';
}

describe('a JSON document', () => {
  it.each([
    ['null', 'null'],
    [' true ', 'boolean'],
    ['false', 'boolean'],
    ['-0', 'integer'],
    ['9007199254740993', 'integer'],
    ['1'.repeat(5000), 'integer'],
    ['1.0', 'number'],
    ['1e2', 'number'],
    ['-0.0E-400', 'number'],
    ['"\\u0000\\ud83d\\ude00é😀\\ud800"', 'string'],
    ['\r\n\t []', 'array'],
    ['{"a":{"b":[1,{"c":[]}]}}', 'object'],
    ['{"":0,"a":0,"A":0}', 'object'],
    ['1.7976931348623157e308', 'number'],
    ['1e-999', 'number'],
    ['0e999', 'number'],
  ])('%s is accepted as %s', (text, top) => {
    expect(scan(text)).toEqual({ kind: 'scanned', top });
  });

  it.each<[string, JsonFaultCode]>([
    ['', 'not_json'],
    ['  ', 'not_json'],
    ['nul', 'not_json'],
    ['nulll', 'not_json'],
    ['tru', 'not_json'],
    ['True', 'not_json'],
    ['01', 'not_json'],
    ['-', 'not_json'],
    ['+1', 'not_json'],
    ['.5', 'not_json'],
    ['1.', 'not_json'],
    ['1.e1', 'not_json'],
    ['1e', 'not_json'],
    ['1e+', 'not_json'],
    ['0x1', 'not_json'],
    ['[1,]', 'not_json'],
    ['[,1]', 'not_json'],
    ['[1 2]', 'not_json'],
    ['[1}', 'not_json'],
    ['{"a":1]', 'not_json'],
    ['[', 'not_json'],
    ['{', 'not_json'],
    ['{"a"', 'not_json'],
    ['{"a":', 'not_json'],
    ['{"a":1', 'not_json'],
    ['{"a":1,}', 'not_json'],
    ['{,}', 'not_json'],
    ['{a:1}', 'not_json'],
    ['{1:1}', 'not_json'],
    ['{"a" 1}', 'not_json'],
    ["{'a':1}", 'not_json'],
    ['1 2', 'not_json'],
    ['[]]', 'not_json'],
    ['/**/1', 'not_json'],
    ['"a', 'not_json'],
    ['"\t"', 'not_json'],
    ['"a\nb"', 'not_json'],
    ['"\\x41"', 'not_json'],
    ['"\\u12g4"', 'not_json'],
    ['"\\u123', 'not_json'],
    ['"\\', 'not_json'],
    ['"\\"', 'not_json'],
    ['\u00a01', 'not_json'],
    ['\ufeff1', 'byte_order_mark'],
    ['NaN', 'not_finite'],
    ['[1,Infinity]', 'not_finite'],
    ['{"a":-Infinity}', 'not_finite'],
    ['-Inf', 'not_json'],
    ['1e400', 'number_out_of_range'],
    ['-1e400', 'number_out_of_range'],
    ['[1.8e308]', 'number_out_of_range'],
    [`${'9'.repeat(400)}.5`, 'number_out_of_range'],
    [`${'9'.repeat(250)}e99`, 'number_out_of_range'],
    ['{"a":1,"a":2}', 'duplicate_key'],
    ['{"a":1,"\\u0061":2}', 'duplicate_key'],
    ['{"\\u0061":1,"a":2}', 'duplicate_key'],
    ['{"😀":1,"\\ud83d\\ude00":2}', 'duplicate_key'],
    ['{"\\ud800":1,"\\ud800":2}', 'duplicate_key'],
    ['{"/":1,"\\/":2}', 'duplicate_key'],
    ['{"a\\"b":1,"a\\u0022b":2}', 'duplicate_key'],
    ['[{"a":1,"b":1},{"b":1,"a":1},{"a":1,"b":2,"b":3}]', 'duplicate_key'],
    ['[{"a":1,"b":1},{"b":1,"a":1,"b":2}]', 'duplicate_key'],
  ])('%j is refused as %s', (text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  it('has keys of their own in each object', () => {
    expect(codeOf('{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}')).toBe('scanned');
    expect(codeOf('[{"a\\"b":1},{"a":1,"a\\"b":1}]')).toBe('scanned');
  });

  it('takes a key with a quote for itself, never for the key that its text begins', () => {
    // After {"a\"b":…} the expected key is a"b; the bytes "a"b" must not be read as that key.
    expect(codeOf('[{"a\\"b":1},{"a"b":1}]')).toBe('not_json');
  });

  it('tells lone surrogates apart', () => {
    expect(codeOf('{"\\ud800":1,"\\ud801":2,"\\udc00":3,"\\ufffd":4}')).toBe('scanned');
  });

  it('names the place, the fault and the fix, and no value or key', () => {
    const fault = scanValue(Buffer.from('{"canary-key":1, "canary-key":"canary-value"}'), {
      maxDepth: 64,
      place: 'the result',
    });
    expect(fault).toEqual({
      kind: 'fault',
      code: 'duplicate_key',
      source: null,
      offset: 17,
      message: 'the result: repeats a key within one object; give each key once (at byte 17).',
    });
  });
});

describe('UTF-8 in a string', () => {
  const quoted = (...bytes: number[]) => Buffer.from([0x22, ...bytes, 0x22]);

  it.each([
    ['U+0080', [0xc2, 0x80]],
    ['U+07FF', [0xdf, 0xbf]],
    ['U+0800', [0xe0, 0xa0, 0x80]],
    ['U+D7FF', [0xed, 0x9f, 0xbf]],
    ['U+E000', [0xee, 0x80, 0x80]],
    ['U+FFFF', [0xef, 0xbf, 0xbf]],
    ['U+10000', [0xf0, 0x90, 0x80, 0x80]],
    ['U+10FFFF', [0xf4, 0x8f, 0xbf, 0xbf]],
    ['U+FEFF inside', [0xef, 0xbb, 0xbf]],
    ['DEL', [0x7f]],
  ])('%s is accepted', (_, bytes) => {
    expect(codeOf(quoted(...bytes))).toBe('scanned');
  });

  it.each([
    ['a lone continuation', [0x80]],
    ['a two-byte overlong', [0xc0, 0xaf]],
    ['an overlong of ASCII', [0xc1, 0xbf]],
    ['a three-byte overlong', [0xe0, 0x9f, 0xbf]],
    ['a four-byte overlong', [0xf0, 0x8f, 0xbf, 0xbf]],
    ['a high surrogate', [0xed, 0xa0, 0x80]],
    ['a low surrogate', [0xed, 0xbf, 0xbf]],
    ['a code point past U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['lead byte F5', [0xf5, 0x80, 0x80, 0x80]],
    ['byte FF', [0xff]],
    ['a cut two-byte sequence', [0xc3]],
    ['a cut three-byte sequence', [0xe2, 0x82]],
    ['a cut four-byte sequence', [0xf0, 0x9f, 0x98]],
    ['a sequence with an ASCII tail', [0xe2, 0x82, 0x41]],
  ])('%s is refused', (_, bytes) => {
    expect(codeOf(quoted(...bytes))).toBe('bad_utf8');
    expect(codeOf(Buffer.concat([Buffer.from('{'), quoted(...bytes), Buffer.from(':1}')]))).toBe('bad_utf8');
  });

  it.each([
    ['a high', '\\ud800', [0xed, 0xa0, 0x80]],
    ['a low', '\\udfff', [0xed, 0xbf, 0xbf]],
  ])('%s surrogate is refused as a key that an earlier record has escaped', (_, escaped, bytes) => {
    const record = (key: Uint8Array) => Buffer.concat([Buffer.from('{"a'), key, Buffer.from('b":1}')]);
    const records = (...keys: readonly Uint8Array[]) =>
      Buffer.from(`[${keys.map((key) => record(key).toString('latin1')).join(',')}]`, 'latin1');
    expect(codeOf(records(Buffer.from(escaped), Buffer.from(escaped)))).toBe('scanned');
    expect(codeOf(records(Buffer.from(escaped), Buffer.from(bytes)))).toBe('bad_utf8');
  });

  it('a sequence that is cut by the end of the document is refused', () => {
    expect(codeOf(Buffer.from([0x22, 0xe2, 0x82]))).toBe('bad_utf8');
    expect(codeOf(Buffer.from([0x22, 0xc3]))).toBe('bad_utf8');
  });
});

describe('depth', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

  it.each([1, 2, 63, 64])('%i containers are accepted up to a bound of 64', (depth) => {
    expect(codeOf(nested(depth))).toBe('scanned');
    expect(codeOf(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)).toBe('scanned');
  });

  it.each([65, 100, 1_000, 10_000, 100_000, 1_000_000])('%i containers are refused', (depth) => {
    expect(codeOf(nested(depth))).toBe('too_deep');
    expect(codeOf('['.repeat(depth))).toBe('too_deep');
    expect(codeOf('{"a":'.repeat(depth))).toBe('too_deep');
  });

  it('has no bound of its own: 100,000 containers neither crash nor fault where they are allowed', () => {
    expect(codeOf(nested(100_000), 100_000)).toBe('scanned');
    const shaped = scanValue(Buffer.from(nested(100_000)), {
      maxDepth: 100_000,
      shape: true,
      places: 200_000,
    });
    expect(shaped.kind).toBe('scanned');
  });

  it('counts what is open, not what was', () => {
    expect(codeOf(`[${'[],'.repeat(1000)}[]]`, 2)).toBe('scanned');
    expect(codeOf(`[${'{"a":1},'.repeat(1000)}[[]]]`, 2)).toBe('too_deep');
  });
});

describe('keys without end', () => {
  const members = (count: number) =>
    Array.from({ length: count }, (_, index) => `"key-${index}@example.com":${index}`).join(',');
  const many = (count: number, more = '') => Buffer.from(`{${members(count)}${more}}`);

  it('a duplicate is found among 400,000 keys, at their start, their end and behind an escape', () => {
    const distinct = members(400_000);
    expect(codeOf(`{${distinct}}`)).toBe('scanned');
    for (const key of ['key-0@example.com', 'key-399999@example.com', '\\u006bey-2500@example.com']) {
      expect(codeOf(`{${distinct},"${key}":1}`)).toBe('duplicate_key');
    }
  });

  it('duplicates that are both escaped are found past the fields that are kept', () => {
    const escaped = '"\\u00e9scaped":1';
    expect(codeOf(many(3_000, `,${escaped}`))).toBe('scanned');
    expect(codeOf(many(3_000, `,${escaped},${escaped}`))).toBe('duplicate_key');
    expect(codeOf(many(3_000, `,${escaped},"éscaped":1`))).toBe('duplicate_key');
  });

  it('duplicates of keys too long for a name are found', () => {
    const long = `"${'x'.repeat(1000)}"`;
    expect(codeOf(`{${long}:1}`)).toBe('scanned');
    expect(codeOf(`{${long}:1,"a":2,${long}:3}`)).toBe('duplicate_key');
  });

  it('keys too long for a name are not kept in the shape', () => {
    const long = Array.from({ length: 50 }, (_, index) => `"${String(index).padEnd(10_000, 'x')}":1`);
    const scanned = scanValue(Buffer.from(`{${long.join(',')}}`), { maxDepth: 64, shape: true });
    expect(scanned).toMatchObject({ shape: { object: { fields: [], rest: { types: 4 } } } });
  });

  it('an object with more than a million keys is refused', () => {
    const short = Array.from({ length: 1_003_000 }, (_, index) => `"${index}":1`).join(',');
    expect(codeOf(`{${short}}`)).toBe('too_many_keys');
  });

  it('the shape of 400,000 distinct keys stays small, in one object and in 400,000', () => {
    const records: string[] = [];
    for (let index = 0; index < 400_000; index++) records.push(`{"key-${index}":{"a":${index}}}`);
    for (const bytes of [many(400_000), Buffer.from(`[${records.join(',')}]`)]) {
      const scanned = scanValue(bytes, { maxDepth: 64, shape: true });
      expect(scanned.kind).toBe('scanned');
      const text = JSON.stringify(scanned);
      expect(text.length).toBeLessThan(600_000);
      expect(text).not.toContain('key-399999');
    }
  });

  it('hostile trees of distinct keys do not grow the shape past its bound', () => {
    const tree = (prefix: string, depth: number): string =>
      depth === 0
        ? '1'
        : `{${Array.from({ length: 12 }, (_, i) => `"${prefix}${i}":${tree(`${prefix}${i}`, depth - 1)}`).join(',')}}`;
    const bytes = Buffer.from(tree('k', 5));
    const scanned = scanValue(bytes, { maxDepth: 64, shape: true });
    expect(bytes.length).toBeGreaterThan(2_000_000);
    expect(JSON.stringify(scanned).length).toBeLessThan(1_000_000);
    // And duplicates are still found where nothing is described any more.
    const last = `"${'k11'.padEnd(3, '1')}"`;
    expect(codeOf(`[${bytes.toString()},{"x":{${last}:1,${last}:1}}]`)).toBe('duplicate_key');
  });
});

describe('agreement with JSON.parse', () => {
  it('accepts what JSON.parse accepts, on generated documents', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(codeOf(text)).toBe('scanned');
      }),
      { numRuns: 500 },
    );
  });

  it('differs on mutated documents only by faults that have names of their own', () => {
    const stricter: readonly string[] = ['duplicate_key', 'number_out_of_range'];
    fc.assert(
      fc.property(mutatedJson, (bytes) => {
        const code = codeOf(bytes);
        if (stricter.includes(code)) return;
        expect(code === 'scanned').toBe(nodeAccepts(bytes));
      }),
      { numRuns: 5_000 },
    );
  });

  it('calls every string of bytes what JSON.parse calls it', () => {
    const alphabet = Buffer.from('{}[]:,"\\u0a1e-. tn');
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...alphabet), { maxLength: 12 }), (bytes) => {
        const code = codeOf(Uint8Array.from(bytes));
        if (code === 'duplicate_key' || code === 'number_out_of_range') return;
        expect(code === 'scanned').toBe(nodeAccepts(Uint8Array.from(bytes)));
      }),
      { numRuns: 5_000 },
    );
  });

  it('calls a string with any byte at any place of it what JSON.parse calls it', () => {
    for (let byte = 0; byte < 256; byte++) {
      for (let place = 0; place < 9; place++) {
        const bytes = Buffer.from(`["${'a'.repeat(place)}.${'b'.repeat(8 - place)}",1]`);
        bytes[2 + place] = byte;
        expect(codeOf(bytes) === 'scanned').toBe(nodeAccepts(bytes));
      }
    }
  });

  it('refuses an object exactly if two of its keys are equal after JSON.parse', () => {
    const key = fc.array(fc.constantFrom('a', '\\u0061', 'b', '\\u0062', '\\"', '\\u0022', 'é', '\\u00e9'), {
      maxLength: 3,
    });
    fc.assert(
      fc.property(fc.array(fc.array(key, { maxLength: 14 }), { maxLength: 4 }), (objects) => {
        const texts = objects.map((keys) => keys.map((parts) => `"${parts.join('')}"`));
        const unique = texts.every(
          (keys) => new Set(keys.map((text) => JSON.parse(text))).size === keys.length,
        );
        const bytes = `[${texts.map((keys) => `{${keys.map((text) => `${text}:1`).join(',')}}`).join(',')}]`;
        for (const places of [6_000, 3, 0]) {
          const scanned = scanValue(Buffer.from(bytes), { maxDepth: 64, places });
          expect(scanned.kind === 'scanned').toBe(unique);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
