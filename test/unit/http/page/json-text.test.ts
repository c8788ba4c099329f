import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

// The page's scripts are plain JavaScript, checked by tsconfig.page.json: here their types are said again.
const { memberText, indented, objectText } = (await import(
  new URL('../../../../src/http/page/json-text.js', import.meta.url).href
)) as {
  memberText(text: string, name: string): string | null;
  indented(text: string): string;
  objectText(text: string): string | null;
};

describe('a member of a JSON text', () => {
  it.each([
    '9007199254740993',
    String(2n ** 200n),
    '-0',
    '1.10',
    '1e-07',
    'null',
    '"a,b}]\\"{\\\\"',
    '[1,[2,{"result":3}],"]"]',
    '{"result":{"result":1.0}, "b": []}',
    '""',
    '{}',
  ])('is cut out as it stands: %s', (value) => {
    for (const text of [
      `{"id":"x","state":"succeeded","result":${value},"result_type":"any","after":1}`,
      `{"result":${value}}`,
      ` {\n "a": {"result": 0}, "b": "\\"result\\":1",\t"result" : ${value} , "c": [] } `,
    ]) {
      expect(memberText(text, 'result')).toBe(value);
    }
  });

  it.each(['{}', '{"a":1}', '{"a":{"result":1}}', '[]', '1', '"result"', ''])(
    'is null where it is not: %s',
    (text) => {
      expect(memberText(text, 'result')).toBeNull();
    },
  );

  it('is found whatever stands around it', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.json(), { maxKeys: 5 }), fc.json(), (others, value) => {
        const members = Object.entries(others).filter(([name]) => name !== 'result');
        const text = [...members, ['result', value] as const].map(
          ([name, json]) => `${JSON.stringify(name)}:${json}`,
        );
        expect(memberText(`{${text.join(',')}}`, 'result')).toBe(value);
      }),
    );
  });
});

describe('an indented JSON text', () => {
  it('breaks what is long, and leaves each token as it was', () => {
    const long = `[${'1.10,'.repeat(20)}9007199254740993]`;
    expect(indented(`{"a":${long},"b":{},"c":"x, y: [z]"}`).split('\n').slice(0, 4)).toEqual([
      '{',
      '  "a": [',
      '    1.10,',
      '    1.10,',
    ]);
    expect(indented('9007199254740993')).toBe('9007199254740993');
    expect(indented('[1,2,3]')).toBe('[1,2,3]');
  });

  it('says the same, with nothing but space added between tokens', () => {
    const tokens = (text: string) => text.match(/"(?:[^"\\]|\\.)*"|[^\s"]/g);
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        expect(tokens(indented(text))).toEqual(tokens(text));
        expect(JSON.parse(indented(text))).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe('the text of an object', () => {
  it('is taken as it was typed, and nothing else is taken', () => {
    expect(objectText(' {"maximum": 9007199254740993}\n')).toBe('{"maximum": 9007199254740993}');
    for (const text of ['', '[]', 'null', '1', '{"a":1}, "sources": []', '{"a":}', '{} {}']) {
      expect(objectText(text), text).toBeNull();
    }
  });
});
