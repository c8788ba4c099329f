import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resultTextOf } from '../../../src/client/result-text.ts';

describe('the text of a result', () => {
  it.each([
    ['9007199254740993'],
    [String(2n ** 200n)],
    ['-0.10'],
    ['1e-07'],
    ['null'],
    ['true'],
    ['""'],
    ['"a \\" quote, a \\\\ and a }"'],
    ['"ends in a backslash \\\\"'],
    ['"\\u005d\\ud83d\\ude00"'],
    ['[]'],
    ['{"a":[{"b":"]}"}],"result":{"c":"\\\\\\""}}'],
    ['[[1,[2]],{"x":{}}]'],
  ])('is %s as it was sent, wherever it stands', (text) => {
    expect(resultTextOf(`{"result":${text}}`)).toBe(text);
    expect(resultTextOf(`{"id":"1","result":${text},"z":{"result":0}}`)).toBe(text);
    expect(resultTextOf(`{"a":{"result":0},"b":["result"],"c":"result","result":${text}}`)).toBe(text);
    expect(resultTextOf(` {\n\t"a" : [ 1 , { } ] ,\r\n "result" : ${text} , "z" : 1 } `)).toBe(text);
  });

  it('is null where there is none at the top', () => {
    for (const text of [
      '{}',
      ' { } ',
      '{"a":1}',
      '{"a":{"result":1}}',
      '{"a":"\\"result\\":1"}',
      '{"results":1}',
    ]) {
      expect(resultTextOf(text), text).toBeNull();
    }
  });

  it('finds the member whose name is written with escapes', () => {
    expect(resultTextOf('{"\\u0072esult":10.50}')).toBe('10.50');
  });

  it('is what JSON.stringify wrote for any value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), (value, others) => {
        const { result: _, ...before } = others;
        const text = JSON.stringify({ ...before, result: value, last: before });
        expect(resultTextOf(text)).toBe(JSON.stringify(value));
      }),
    );
  });
});
