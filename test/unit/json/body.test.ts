import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BodyLimits, type ReadBody, readBody } from '../../../src/json/body.ts';
import type { JsonFault } from '../../../src/json/fault.ts';
import { jsonText, mutatedJson, nodeAccepts } from './documents.ts';

function read(text: string | Buffer, limits: Partial<BodyLimits> = {}): ReadBody | JsonFault {
  return readBody(typeof text === 'string' ? Buffer.from(text) : text, { maxDepth: 64, ...limits });
}

function body(text: string | Buffer, limits: Partial<BodyLimits> = {}): ReadBody {
  const result = read(text, limits);
  if (result.kind !== 'body') throw new Error(result.message);
  return result;
}

function fault(text: string | Buffer, limits: Partial<BodyLimits> = {}): JsonFault {
  const result = read(text, limits);
  if (result.kind !== 'fault') throw new Error('The body was read.');
  return result;
}

describe('the sources of a body', () => {
  it('are cut out byte for byte, without a copy, and leave the envelope', () => {
    const bytes = Buffer.from(
      '{ "step": "x", "sources" : [ {"tool":"a", "result" : [1.10, 9007199254740993 ,-0] , "keys":"auto"},\n' +
        '{"result":null},{"tool":"b","name":"rates"} ], "limits": {"wall_seconds": 5} }',
    );
    const { envelope, sources } = body(bytes);
    expect(envelope).toEqual({
      step: 'x',
      sources: [{ tool: 'a', result: null, keys: 'auto' }, { result: null }, { tool: 'b', name: 'rates' }],
      limits: { wall_seconds: 5 },
    });
    expect(sources.map(({ index, via, bytes }) => [index, via, bytes.toString()])).toEqual([
      [0, 'result', '[1.10, 9007199254740993 ,-0]'],
      [1, 'result', 'null'],
    ]);
    expect(sources[0]?.bytes.buffer).toBe(bytes.buffer);
  });

  it('are spans of exactly what JSON.parse sees there', () => {
    const source = fc.record({ value: jsonText, before: fc.constantFrom('', ' ', '\n\t'), extra: jsonText });
    fc.assert(
      fc.property(fc.array(source, { maxLength: 5 }), jsonText, (list, other) => {
        const texts = list.map(
          ({ value, before, extra }) =>
            `{"x":${extra},${before}"result":${before}${value}${before},"y":${extra}}`,
        );
        const text = `{"a":${other},"sources":[${texts.join(' , ')}],"b":${other}}`;
        const result = body(text);
        expect(result.sources.map(({ bytes }) => bytes.toString())).toEqual(list.map(({ value }) => value));
        const expected = JSON.parse(text) as { sources: { result: unknown }[] };
        for (const one of expected.sources) one.result = null;
        expect(result.envelope).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('in result_json are unescaped to UTF-8 bytes', () => {
    fc.assert(
      fc.property(jsonText, fc.boolean(), (value, ascii) => {
        fc.pre(!/\\ud[89a-f]/iu.test(value));
        let text = JSON.stringify(value);
        if (ascii) text = text.replace(/[^ -~]/gu, (c) => [...c].flatMap(utf16).join(''));
        const { sources, envelope } = body(`{"sources":[{"result_json":${text}}]}`);
        expect(sources.map(({ via, bytes }) => [via, bytes.toString()])).toEqual([['result_json', value]]);
        expect(envelope).toEqual({ sources: [{ result_json: '' }] });
      }),
      { numRuns: 300 },
    );
  });

  it('of which one has both result and result_json give two entries', () => {
    const { sources } = body('{"sources":[{"result":1,"result_json":"2"}]}');
    expect(sources.map(({ index, via, bytes }) => [index, via, bytes.toString()])).toEqual([
      [0, 'result', '1'],
      [0, 'result_json', '2'],
    ]);
  });

  it('are found where the member names are written with escapes', () => {
    const { sources } = body('{"\\u0073ources":[{"\\u0072esult":{"a":1}}]}');
    expect(sources.map(({ bytes }) => bytes.toString())).toEqual(['{"a":1}']);
  });

  it('are only members called result directly in an element of the top-level sources', () => {
    const text =
      '{"x":{"sources":[{"result":1}]},"result":2,"sources":[{"y":{"result":3}},[{"result":4}],5]}';
    const { sources, envelope } = body(text);
    expect(sources).toEqual([]);
    expect(envelope).toEqual(JSON.parse(text));
  });

  it('a result_json that is not a string stays in the envelope', () => {
    const { sources, envelope } = body('{"sources":[{"result_json":{"a":[1]}}]}');
    expect(sources).toEqual([]);
    expect(envelope).toEqual({ sources: [{ result_json: { a: [1] } }] });
  });

  it.each(['result', 'result_json'])('have shapes that are bounded together, in %s', (via) => {
    const wide = `[${Array.from({ length: 1_900 }, (_, i) => `{"field_${i}":{"a":1,"b":[1]}}`).join(',')}]`;
    const one = `{"${via}":${via === 'result' ? wide : JSON.stringify(wide)}}`;
    const { sources } = body(`{"sources":[${Array(60).fill(one).join(',')}]}`);
    const places = JSON.stringify(sources.map(({ shape }) => shape)).split('"types"').length;
    expect(places).toBeGreaterThan(10_000);
    expect(places).toBeLessThan(30_000);
    // The last source is still described, as far as its share goes.
    expect(sources.at(-1)?.shape.items?.object?.fields.length).toBeGreaterThan(10);
  });

  it('never reach the envelope: a canary in any value or key of a source is not in it', () => {
    const canary = { 'canary-key': ['canary-value', { deep: 'canary' }] };
    const { envelope } = body(
      JSON.stringify({ sources: [{ result: canary }, { result_json: JSON.stringify(canary) }] }),
    );
    expect(JSON.stringify(envelope)).not.toContain('canary');
  });
});

describe('the envelope', () => {
  it.each([
    '[]',
    '1',
    'null',
    '"x"',
    '{}',
    '{"sources":{}}',
    '{"sources":[]}',
    '{"sources":null}',
    ' [{"sources":[{"result":1}]}] ',
  ])('%s is what JSON.parse says', (text) => {
    expect(body(text)).toEqual({ kind: 'body', envelope: JSON.parse(text), sources: [] });
  });

  it('keeps an own __proto__ as an own member', () => {
    const { envelope } = body(
      '{"__proto__":{"polluted":1},"sources":[{"__proto__":2,"result":{"__proto__":3}}]}',
    );
    expect(Object.keys(envelope as object)).toEqual(['__proto__', 'sources']);
    expect((envelope as { polluted?: number }).polluted).toBeUndefined();
  });

  it('is refused past its bound, source data apart', () => {
    const text = (filler: number, data: number) =>
      JSON.stringify({ step: 'x'.repeat(filler), sources: [{ result: 'y'.repeat(data) }] });
    expect(read(text(10, 100_000), { maxEnvelopeBytes: 1_000 }).kind).toBe('body');
    expect(fault(text(1_000, 10), { maxEnvelopeBytes: 1_000 }).code).toBe('envelope_too_large');
  });
});

describe('faults of a body', () => {
  it.each([
    ['{"sources":[{"result":1},{"result":[NaN]}]}', 'not_finite', 1, 'sources[1].result', 36],
    ['{"sources":[{"result":{"a":1,"a":2}}]}', 'duplicate_key', 0, 'sources[0].result', 29],
    ['{"sources":[{"result":1e400}]}', 'number_out_of_range', 0, 'sources[0].result', 22],
    ['{"sources":[{"result":tru}]}', 'not_json', 0, 'sources[0].result', 22],
    ['{"sources":[{"result_json":"[1,\\u004eaN]"}]}', 'not_finite', 0, 'sources[0].result_json', 3],
    ['{"sources":[{"result_json":""}]}', 'not_json', 0, 'sources[0].result_json', 0],
    ['{"sources":[{"result_json":"1 1"}]}', 'not_json', 0, 'sources[0].result_json', 2],
    ['{"sources":[{"result_json":"\\ufeff1"}]}', 'byte_order_mark', 0, 'sources[0].result_json', 0],
    ['{"sources":[{"result_json":"\\"\\ud800\\""}]}', 'bad_utf8', 0, 'sources[0].result_json', 30],
    ['{"sources":[{"result_json":"\\"\\udc00\\ud800\\""}]}', 'bad_utf8', 0, 'sources[0].result_json', 30],
    ['{"sources":[{"result_json":"\\q"}]}', 'not_json', 0, 'sources[0].result_json', 28],
    ['{"sources":[{"tool":1,"tool":2}]}', 'duplicate_key', 0, 'sources[0]', 22],
    ['{"sources":[{"result":1,"result":2}]}', 'duplicate_key', 0, 'sources[0]', 24],
    ['{"sources":[{"tool":NaN}]}', 'not_finite', 0, 'sources[0]', 20],
    ['{"sources":[{"result":1}}', 'not_json', null, 'the body', 24],
    ['{"sources":[{"result":1},]}', 'not_json', 1, 'sources[1]', 25],
    ['{"sources":[],"sources":[]}', 'duplicate_key', null, 'the body', 14],
    ['{"a":{"b":1,"b":2}}', 'duplicate_key', null, 'the body', 12],
    ['{"a":1}x', 'not_json', null, 'the body', 7],
    ['', 'not_json', null, 'the body', 0],
    ['\ufeff{}', 'byte_order_mark', null, 'the body', 0],
  ])('%s: %s', (text, code, source, place, offset) => {
    const found = fault(text);
    expect({ ...found, message: found.message.split(': ')[0] }).toEqual({
      kind: 'fault',
      code,
      source,
      offset,
      message: place,
    });
  });

  it('refuses more sources than allowed', () => {
    const text = (count: number) => `{"sources":[${Array(count).fill('{"result":1}').join(',')}]}`;
    expect(body(text(3), { maxSources: 3 }).sources).toHaveLength(3);
    expect(fault(text(4), { maxSources: 3 }).code).toBe('too_many_sources');
    expect(fault(text(101)).code).toBe('too_many_sources');
  });

  it('refuses more than a thousand members in itself or in a source', () => {
    const members = (count: number) => Array.from({ length: count }, (_, index) => `"m${index}":1`).join(',');
    for (const [head, tail] of [
      ['{', '}'],
      ['{"sources":[{', '}]}'],
    ] as const) {
      expect(read(head + members(1_000) + tail).kind).toBe('body');
      expect(fault(head + members(1_001) + tail).code).toBe('too_many_keys');
    }
  });

  it.each([1, 64, 65, 1_000, 100_000])('counts depth from the root of each source: %i', (depth) => {
    const nested = '['.repeat(depth) + ']'.repeat(depth);
    const expected = depth <= 64 ? 'body' : 'too_deep';
    for (const member of [`"result":${nested}`, `"result_json":"${nested}"`]) {
      const result = read(`{"sources":[{${member}}]}`);
      expect(result.kind === 'fault' ? result.code : result.kind).toBe(expected);
    }
  });

  it.each([
    ['{"a":', '}', 1],
    ['{"sources":[', ']}', 2],
    ['{"sources":[{"tool":', '}]}', 3],
    ['{"sources":[{"result_json":', '}]}', 3],
  ])('counts the depth of the envelope from its own root: %s', (head, tail, outer) => {
    const nested = (depth: number) => head + '['.repeat(depth) + ']'.repeat(depth) + tail;
    expect(read(nested(64 - outer)).kind).toBe('body');
    expect(fault(nested(65 - outer)).code).toBe('too_deep');
  });

  it('never hold a key or value', () => {
    const hostile = ['"canary":1,"canary":2', '"canary":NaN', '"canary":"\\canary"', '"canary":1e400'];
    for (const member of hostile) {
      for (const text of [
        `{"sources":[{"result":{${member}}}]}`,
        `{"sources":[{"result_json":${JSON.stringify(`{${member}}`)}}]}`,
        `{${member}}`,
      ]) {
        expect(JSON.stringify(fault(text))).not.toContain('canary');
      }
    }
  });
});

describe('agreement with JSON.parse', () => {
  it('on mutated bodies, but for the faults with names of their own', () => {
    const whole = fc
      .tuple(mutatedJson, mutatedJson, jsonText)
      .map(([a, b, c]) =>
        Buffer.concat([
          Buffer.from('{"sources":[{"result":'),
          a,
          Buffer.from('},{"tool":'),
          b,
          Buffer.from(`,"result":${c}}],"step":`),
          a,
          Buffer.from('}'),
        ]),
      );
    fc.assert(
      fc.property(fc.oneof(whole, mutatedJson), (bytes) => {
        const result = read(bytes);
        if (result.kind === 'fault' && ['duplicate_key', 'number_out_of_range'].includes(result.code)) return;
        expect(result.kind === 'body').toBe(nodeAccepts(bytes));
      }),
      { numRuns: 3_000 },
    );
  });
});

function utf16(character: string): string[] {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  });
}
