import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realSettings } from '../fakes/real-sandbox.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';

const ECHO = 'def compute(data):\n    return data["x"]\n';
const ECHO_BOTH = 'def compute(data):\n    return [data["x"], data["y"]]\n';
/** JSON_MAX_DEPTH's default. */
const MAX_DEPTH = 64;

/** What Python's own json makes of a text: the oracle. It reads standard input and knows nothing of the harness. */
const ORACLE = `
import json, sys
sys.set_int_max_str_digits(0)
value = json.loads(sys.stdin.buffer.read().decode("utf-8"))
sys.stdout.buffer.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))
`;

/** Asks the oracle with the Python of the sandbox image, so that the test needs none on the machine. */
function pythonsOwn(text: string): string {
  return execFileSync(
    'docker',
    [
      'run',
      '--rm',
      '-i',
      '--network',
      'none',
      '--entrypoint',
      '/usr/bin/python3',
      realSettings().image,
      '-S',
      '-c',
      ORACLE,
    ],
    { input: text, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
}

// Texts, not values: how a number or a string is written is part of what is tried.
const digits = (most: number) =>
  fc
    .tuple(
      fc.integer({ min: 1, max: 9 }),
      fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: most - 1 }),
    )
    .map(([first, rest]) => `${first}${rest}`);
const sign = fc.constantFrom('', '-');
const integers = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '9007199254740993',
    '-9223372036854775809',
    '18446744073709551616',
    '1'.repeat(4_000),
  ),
  fc.tuple(sign, digits(20)).map((parts) => parts.join('')),
  fc.tuple(sign, fc.integer({ min: 1, max: 4_000 }).chain(digits)).map((parts) => parts.join('')),
);
const numbers = fc.oneof(
  fc.constantFrom(
    '-0.0',
    '0e5',
    '0.1',
    '1.10',
    '1E+2',
    '1e-07',
    '1e16',
    '1e22',
    '123456789012345678.0',
    '5e-324',
    '1e-400',
    '1.7976931348623157e308',
    '2.2250738585072014e-308',
    '0.30000000000000004',
    `0.${'3'.repeat(3_000)}`,
    `${'9'.repeat(300)}.5`,
  ),
  fc.tuple(sign, digits(17), fc.constant('.'), digits(20)).map((parts) => parts.join('')),
  fc
    .tuple(
      sign,
      digits(2),
      fc.constantFrom('e', 'E'),
      fc.constantFrom('', '+', '-'),
      fc.integer({ min: 0, max: 300 }),
    )
    .map((parts) => parts.join('')),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .map((value) => JSON.stringify(value))
    .map((text) => (/[.e]/.test(text) ? text : `${text}.0`)),
);
const plainText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    '\u0000',
    '\u007f',
    '\u2028\u2029',
    '\ufeff',
    '\uffff',
    '😀\u{10ffff}',
    '"\\/\b\f\n\r\t',
    '</script>',
    'é',
    '__proto__',
    'constructor',
    '7',
    'NaN',
    'x'.repeat(5_000),
  ),
);
/** A text as JSON writes it, or with every unit escaped, in either case. */
const written = (text: string, how: number): string => {
  if (how === 0) return JSON.stringify(text);
  const units = text.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return `"${units.map((unit) => `\\u${how === 1 ? unit : unit.toUpperCase()}`).join('')}"`;
};
const how = fc.integer({ min: 0, max: 2 });
const strings = fc.tuple(plainText, how).map(([text, form]) => written(text, form));
const space = fc.constantFrom('', '', ' ', '\r\n\t ');
const leaves = fc.oneof(
  integers,
  numbers,
  strings,
  fc.constantFrom('true', 'false', 'null', '[]', '{}', '[ ]', '{\n}'),
);

const { documents } = fc.letrec<{ documents: string }>((tie) => {
  const members = fc.uniqueArray(fc.tuple(plainText, how, tie('documents')), {
    selector: ([key]) => key,
    maxLength: 5,
  });
  return {
    documents: fc.oneof(
      { depthSize: 'small', maxDepth: 8 },
      leaves,
      fc
        .tuple(space, fc.array(tie('documents'), { maxLength: 5 }))
        .map(([gap, items]) => `[${gap}${items.join(`,${gap}`)}${gap}]`),
      fc
        .tuple(space, members)
        .map(
          ([gap, list]) =>
            `{${gap}${list.map(([key, form, value]) => `${written(key, form)}${gap}:${gap}${value}`).join(`${gap},`)}${gap}}`,
        ),
    ),
  };
});
/** A value inside up to 48 containers: with those of a document and the batch fewer than MAX_DEPTH. */
const deep = fc
  .tuple(fc.array(fc.boolean(), { minLength: 10, maxLength: 48 }), leaves)
  .map(([levels, leaf]) =>
    levels.reduce((inner, isArray) => (isArray ? `[${inner}]` : `{"in":${inner}}`), leaf),
  );

let built: BuiltService;
beforeAll(async () => {
  built = await startBuiltService({ env: { SANDBOX_POOL_SIZE: '2' } });
  await built.ready();
});
afterAll(() => built.stop());

function run(code: string, sources: string) {
  return built.post('/v1/compute/run', `{"code":${JSON.stringify(code)},"sources":[${sources}]}`);
}

/** The result's text in an answer, digit by digit as it came. */
function resultText(answer: string): string {
  return answer.slice(answer.indexOf('"result":') + 9, answer.lastIndexOf(',"result_type":'));
}

/** Fails at the first difference with what stands around it: the whole texts are too long to read. */
function expectSameText(got: string, want: string): void {
  let at = 0;
  while (at < want.length && got[at] === want[at]) at++;
  const around = (text: string) => text.slice(Math.max(0, at - 40), at + 40);
  expect(around(got)).toBe(around(want));
  expect(got.length).toBe(want.length);
}

describe('a function that returns its data', () => {
  it('gives back what Python’s own json would, for documents of every kind, in both forms of a source', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof({ weight: 5, arbitrary: documents }, { weight: 1, arbitrary: deep }), {
          minLength: 120,
          maxLength: 120,
        }),
        async (batch) => {
          const text = `[${batch.join(',')}]`;
          const answer = await run(
            ECHO_BOTH,
            `{"name":"x","result":${text}},{"name":"y","result_json":${JSON.stringify(text)}}`,
          );
          expect(answer.json.failure).toBeNull();
          const want = pythonsOwn(text);
          expectSameText(resultText(answer.text), `[${want},${want}]`);
        },
      ),
      // A run that fails is shown as it is: looking for a smaller one would take a container each.
      { numRuns: 3, endOnFailure: true },
    );
  });

  it.each([
    ['arrays', '[', ']'],
    ['objects', '{"in":', '}'],
  ])('takes %s up to the limit of depth and refuses one more by name', async (_, open, close) => {
    const nested = (depth: number) => `${open.repeat(depth)}${open === '[' ? '' : '1'}${close.repeat(depth)}`;
    const most = await run(ECHO, `{"name":"x","result":${nested(MAX_DEPTH)}}`);
    expect(resultText(most.text)).toBe(nested(MAX_DEPTH));
    const over = await run(ECHO, `{"name":"x","result":${nested(MAX_DEPTH + 1)}}`);
    expect(over.status).toBe(400);
    expect(over.json.detail).toContain('sources[0].result');
    expect(over.json.detail).toContain('JSON_MAX_DEPTH');
  });

  it.each([
    ['as a value', '["\\ud800"]', '$[]'],
    ['the low half', '["a\\uDC00b"]', '$[]'],
    ['in the wrong order', '["\\udc00\\ud800"]', '$[]'],
    ['as a key', '{"\\ud800":1}', '$.*'],
  ])('answers result_not_json for a lone surrogate %s', async (_, text, path) => {
    const { status, json } = await run(ECHO, `{"name":"x","result":${text}}`);
    expect(status).toBe(200);
    expect(json).toMatchObject({ state: 'failed', failure: { code: 'result_not_json', path, got: 'str' } });
    // In the text that a tool returned it cannot stand at all: there is no UTF-8 for it.
    const asText = await run(ECHO, `{"name":"x","result_json":"[\\"\\ud800\\"]"}`);
    expect(asText.status).toBe(400);
    expect(asText.json.detail).toContain('sources[0].result_json');
  });

  it.each(['1e400', '-1e400', `${'9'.repeat(400)}.0`, '[0, {"a": 1E+309}]'])(
    'refuses %s by name',
    async (text) => {
      for (const member of [`"result":${text}`, `"result_json":${JSON.stringify(text)}`]) {
        const { status, json } = await run(ECHO, `{"name":"x",${member}}`);
        expect(status).toBe(400);
        expect(json).toMatchObject({ code: 'invalid_request' });
        expect(json.detail).toMatch(/sources\[0\]\.result(_json)?: has a decimal number past the range/);
        expect(json.detail).not.toContain(text.slice(0, 5));
      }
    },
  );
});
