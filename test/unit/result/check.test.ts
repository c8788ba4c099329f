import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type JsonObject,
  RESULT_TYPES,
  type ResultAsk,
  type ResultType,
} from '../../../src/contract/result-type.ts';
import { checkResult } from '../../../src/result/check.ts';
import type { SchemaChecker } from '../../../src/result/schema-check.ts';

/** Stands where no schema is asked for: being called at all is a failure. */
const noSchema: SchemaChecker = {
  compileCheck: () => Promise.reject(new Error('not asked for')),
  check: () => Promise.reject(new Error('not asked for')),
  close: () => Promise.resolve(),
};

function ask(type: ResultType, more: Partial<ResultAsk> = {}): ResultAsk {
  return { type, nullable: false, schema: null, ...more };
}

async function outcome(
  text: string,
  type: ResultType,
  more: Partial<ResultAsk> = {},
): Promise<string | null> {
  const result = await checkResult(Buffer.from(text), ask(type, more), noSchema);
  return result.kind === 'checked' ? result.text : null;
}

const TABLE = '{"columns":[{"name":"a","type":"integer"}],"rows":[[1],[null]]}';

/** One text of each JSON type, and the result types that take it. */
const BY_JSON_TYPE: readonly (readonly [string, readonly ResultType[]])[] = [
  ['null', ['any']],
  ['true', ['any', 'boolean']],
  ['false', ['any', 'boolean']],
  ['0', ['any', 'number', 'integer', 'decimal']],
  ['-12', ['any', 'number', 'integer', 'decimal']],
  ['4.5', ['any', 'number', 'decimal']],
  ['""', ['any', 'string']],
  ['"x"', ['any', 'string']],
  ['"4.50"', ['any', 'string', 'decimal']],
  ['"2026-02-28"', ['any', 'string', 'date']],
  ['"2026-02-28T10:00:00Z"', ['any', 'string', 'datetime']],
  ['[]', ['any', 'array']],
  ['[1,"x",null]', ['any', 'array']],
  ['{}', ['any', 'object']],
  ['{"a":1}', ['any', 'object']],
  [TABLE, ['any', 'object', 'table']],
];

describe('every result type against every JSON type', () => {
  const rows = BY_JSON_TYPE.flatMap(([text, takers]) =>
    RESULT_TYPES.map((type) => ({ text, type, taken: takers.includes(type) })),
  );
  test.each(rows)('$text as $type: $taken', async ({ text, type, taken }) => {
    const written = type === 'decimal' && !text.startsWith('"') ? `"${text}"` : text;
    expect(await outcome(text, type)).toBe(taken ? written : null);
  });

  test.each(RESULT_TYPES)('null is let through for a nullable %s', async (type) => {
    expect(await outcome('null', type, { nullable: true })).toBe('null');
    expect(await outcome('null', type)).toBe(type === 'any' ? 'null' : null);
  });
});

describe('digits reach the caller as Python wrote them', () => {
  const digits = [
    '9007199254740993',
    `${2n ** 200n}`,
    `-${'7'.repeat(4000)}`,
    '0.1',
    '1.10',
    '-0',
    '1e+308',
    '-0.0',
  ];
  test.each(digits)('%s as any and as number', async (text) => {
    expect(await outcome(text, 'any')).toBe(text);
    expect(await outcome(text, 'number')).toBe(text);
    expect(await outcome(`[${text}]`, 'array')).toBe(`[${text}]`);
    expect(await outcome(`{"a": ${text}}`, 'object')).toBe(`{"a": ${text}}`);
  });

  test('text with U+0000 and astral characters', async () => {
    const text = '"é\\u0000😀"';
    expect(await outcome(text, 'string')).toBe(text);
    expect(await outcome(text, 'any')).toBe(text);
  });

  test('space around a value is no part of it', async () => {
    expect(await outcome('\n 4.0\t', 'integer')).toBe('4');
    expect(await outcome(' null ', 'number', { nullable: true })).toBe('null');
    expect(await outcome(` ${TABLE}\r\n`, 'table')).toBe(TABLE);
  });

  test('any JSON text is relayed to the byte', async () => {
    const spaced = fc
      .tuple(fc.json(), fc.constantFrom('', ' ', '\n', '\t '), fc.constantFrom(undefined, 1, '\t'))
      .map(([json, space, indent]) => `${space}${JSON.stringify(JSON.parse(json), null, indent)}${space}`);
    await fc.assert(
      fc.asyncProperty(spaced, async (text) => {
        expect(await outcome(text, 'any')).toBe(text);
      }),
    );
  });
});

describe('integer', () => {
  test.each([
    ['4.0', '4'],
    ['4e2', '400'],
    ['1E+2', '100'],
    ['-1.50e1', '-15'],
    ['-0.0', '0'],
    ['-0', '0'],
    ['0e999999999999', '0'],
    ['100e-2', '1'],
    ['123456789012345678901234567890.0', '123456789012345678901234567890'],
    ['1e308', `1${'0'.repeat(308)}`],
    ['1e+22', `1${'0'.repeat(22)}`],
    ['9007199254740993', '9007199254740993'],
    [`${2n ** 200n}`, `${2n ** 200n}`],
    ['7'.repeat(4000), '7'.repeat(4000)],
  ])('%s is written %s', async (text, written) => {
    expect(await outcome(text, 'integer')).toBe(written);
  });

  test.each([
    '4.5',
    '1e-1',
    '100e-3',
    '0.1',
    '-12.25',
    '1e400',
    '1e999999999999',
    '1e-999999999999',
    '"4"',
    'true',
  ])('%s is refused', async (text) => {
    expect(await outcome(text, 'integer')).toBeNull();
  });

  test('agrees with exact arithmetic', async () => {
    const token = fc.record({
      sign: fc.constantFrom('', '-'),
      whole: fc.bigInt({ min: 0n, max: 10n ** 30n }),
      fraction: fc.stringMatching(/^[0-9]{0,12}$/),
      exponent: fc.integer({ min: -40, max: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(token, async ({ sign, whole, fraction, exponent }) => {
        const text = `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}e${exponent}`;
        const mantissa = BigInt(`${whole}${fraction}`) * (sign === '' ? 1n : -1n);
        const power = exponent - fraction.length;
        const exact =
          power >= 0
            ? mantissa * 10n ** BigInt(power)
            : mantissa % 10n ** BigInt(-power) === 0n
              ? mantissa / 10n ** BigInt(-power)
              : null;
        expect(await outcome(text, 'integer')).toBe(exact === null ? null : `${exact}`);
      }),
    );
  });
});

describe('decimal', () => {
  test.each(['"34.50"', '"-0"', '"1E+2"', '"0E-28"', '"12345678901234567890.123456789"'])(
    '%s is exact',
    async (text) => {
      expect(await outcome(text, 'decimal')).toBe(text);
    },
  );
  test.each(['1.10', '2', '-0.0', '1e+16', `${2n ** 200n}`])(
    'the number %s is written as a string',
    async (text) => {
      expect(await outcome(text, 'decimal')).toBe(`"${text}"`);
    },
  );
  test.each([
    '"NaN"',
    '"Infinity"',
    '"1."',
    '".5"',
    '"+1"',
    '" 1"',
    '"1\\n"',
    '"1,5"',
    '"0x1"',
    '"٣"',
    '""',
    'true',
    '[1]',
  ])('%s is refused', async (text) => {
    expect(await outcome(text, 'decimal')).toBeNull();
  });
});

describe('date and datetime', () => {
  test.each(['2026-01-31', '2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31'])(
    'date %s',
    async (date) => {
      expect(await outcome(`"${date}"`, 'date')).toBe(`"${date}"`);
    },
  );
  test.each([
    '2026-02-29',
    '1900-02-29',
    '2026-04-31',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    '2026-1-1',
    '20260101',
    '2026-01-01T00:00:00Z',
    '2026-01-01\\n',
    ' 2026-01-01',
    '2026-W01-1',
  ])('date %s is refused', async (date) => {
    expect(await outcome(`"${date}"`, 'date')).toBeNull();
  });
  test.each([
    '2026-11-30T10:20:30Z',
    '2026-11-30T10:20:30.123456+00:00',
    '2026-11-30T23:59:59-11:30',
    '2016-12-31T23:59:60Z',
    '2017-01-01T00:59:60+01:00',
    '2016-12-31T22:59:60-01:00',
    '2016-12-31t23:59:59z',
  ])('datetime %s', async (datetime) => {
    expect(await outcome(`"${datetime}"`, 'datetime')).toBe(`"${datetime}"`);
  });
  test.each([
    '2026-11-30T10:20:30',
    '2026-11-30T10:20Z',
    '2026-11-30 10:20:30Z',
    '2026-11-30',
    '2026-02-30T10:20:30Z',
    '2026-11-30T24:00:00Z',
    '2026-11-30T10:60:00Z',
    '2026-11-30T10:20:61Z',
    '2026-11-30T10:20:60Z',
    '2017-01-01T00:59:60-01:00',
    '2026-11-30T10:20:30.Z',
    '2026-11-30T10:20:30+0100',
    '2026-11-30T10:20:30+24:00',
    '2026-11-30T10:20:30+01:60',
    '2026-11-30T10:20:30+05:53:28',
    '2026-11-30T10:20:30Z\\n',
  ])('datetime %s is refused', async (datetime) => {
    expect(await outcome(`"${datetime}"`, 'datetime')).toBeNull();
  });
  test('a megabyte of text is refused without being unescaped', async () => {
    expect(await outcome(`"${'\\u0031'.repeat(200_000)}"`, 'date')).toBeNull();
  });
});

describe('a refusal', () => {
  test.each([
    ['"canary-71"', ask('number'), { path: '$', wanted: 'number', got: 'string' }],
    ['4.5', ask('integer'), { path: '$', wanted: 'integer', got: 'number' }],
    ['true', ask('number'), { path: '$', wanted: 'number', got: 'boolean' }],
    ['[1]', ask('object', { nullable: true }), { path: '$', wanted: 'object or null', got: 'array' }],
    ['{"canary-71":1}', ask('array'), { path: '$', wanted: 'array', got: 'object' }],
    ['null', ask('boolean'), { path: '$', wanted: 'boolean', got: 'null' }],
    ['"canary-71"', ask('date'), { path: '$', wanted: 'date (YYYY-MM-DD)', got: 'string' }],
    ['71', ask('table'), { path: '$', wanted: 'table', got: 'integer' }],
  ])('%s tells types only', async (text, asked, told) => {
    const result = await checkResult(Buffer.from(text), asked, noSchema);
    expect(result).toEqual({ kind: 'refusal', code: 'result_type_mismatch', ...told });
    expect(JSON.stringify(result)).not.toContain('71');
  });
});

describe('result_schema', () => {
  const schema: JsonObject = { type: 'integer' };
  function checker(seen: string[], verdict: Awaited<ReturnType<SchemaChecker['check']>>): SchemaChecker {
    return {
      ...noSchema,
      check: (_, text) => {
        seen.push(text);
        return Promise.resolve(verdict);
      },
    };
  }

  test('sees the text that will be relayed', async () => {
    const seen: string[] = [];
    const result = await checkResult(
      Buffer.from('4.0'),
      ask('integer', { schema }),
      checker(seen, { kind: 'ok' }),
    );
    expect(seen).toEqual(['4']);
    expect(result).toMatchObject({ kind: 'checked', text: '4' });
  });

  test('is not asked when the type is wrong, nor for a null that is let through', async () => {
    const seen: string[] = [];
    const never = checker(seen, { kind: 'ok' });
    await checkResult(Buffer.from('"x"'), ask('integer', { schema }), never);
    await checkResult(Buffer.from('null'), ask('integer', { schema, nullable: true }), never);
    expect(seen).toEqual([]);
    await checkResult(Buffer.from('null'), ask('any', { schema }), never);
    expect(seen).toEqual(['null']);
  });

  test('its verdicts become refusals', async () => {
    const mismatch = {
      kind: 'mismatch',
      path: '$.total',
      keyword: 'minimum',
      wanted: null,
      got: 'integer',
    } as const;
    expect(await checkResult(Buffer.from('{}'), ask('any', { schema }), checker([], mismatch))).toEqual({
      kind: 'refusal',
      code: 'result_type_mismatch',
      path: '$.total',
      wanted: '"minimum" of result_schema',
      got: 'integer',
    });
    const late = { kind: 'timeout', reason: 'deadline' } as const;
    expect(await checkResult(Buffer.from('{}'), ask('any', { schema }), checker([], late))).toMatchObject({
      kind: 'refusal',
      code: 'result_schema_timeout',
    });
  });
});
