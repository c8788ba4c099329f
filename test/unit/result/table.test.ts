import { describe, expect, test } from 'vitest';
import { RESULT_TYPES } from '../../../src/contract/result-type.ts';
import { conformTable } from '../../../src/result/table.ts';

const column = (type: string, name = 'a'): string => `{"name":"${name}","type":"${type}"}`;
const table = (columns: string[], rows: string): string =>
  `{"columns":[${columns.join(',')}],"rows":${rows}}`;

describe('a table', () => {
  test.each([
    table([], '[]'),
    table([], '[[],[]]'),
    table([column('number')], '[]'),
    table([column('string'), column('number', 'b')], '[["x",1.10],[null,null]]'),
    table([column('integer')], `[[9007199254740993],[${2n ** 200n}]]`),
    table([column('object'), column('array', 'b')], '[[{"a":[1,"]"]},[{"b":"}"}]]]'),
    table([column('any')], '[[{"x":[[]]}],["\\\\"],["\\"]"],[null]]'),
    table([column('date'), column('datetime', 'b')], '[["2026-01-01","2026-01-01T00:00:00Z"]]'),
    '{ "rows" : [ [ 1 , "x" ] ] ,\n "columns" : [ { "type" : "number" , "name" : "n" } , {"name":"s","type":"string"} ] }',
    '{"rows":[],"\\u0063olumns":[]}',
  ])('is relayed as it is: %s', async (text) => {
    expect(await conformTable(text)).toBe(text);
  });

  test('cells are written as their column has them, and nothing else moves', async () => {
    const columns = [column('integer'), column('decimal', 'b'), column('any', 'c')];
    expect(
      await conformTable(table(columns, '[ [4.0, 1.10, 4.0],\n[-0.0,"2",1e2], [null,null,null] ]')),
    ).toBe(table(columns, '[ [4, "1.10", 4.0],\n[0,"2",1e2], [null,null,null] ]'));
  });

  test.each(RESULT_TYPES)('a column of type %s', async (type) => {
    const answer = await conformTable(table([column(type)], '[[null]]'));
    if (type === 'table') {
      expect(answer).toMatchObject({ path: '$.columns[].type' });
    } else {
      expect(answer).toBe(table([column(type)], '[[null]]'));
    }
  });

  const refused: readonly (readonly [string, string, string, string])[] = [
    ['{}', '$', 'object of columns and rows', 'object'],
    ['{"columns":[]}', '$', 'object of columns and rows', 'object'],
    ['{"columns":[],"rows":[],"canary":1}', '$', 'object of columns and rows', 'object'],
    ['{"columns":[],"rows":[],"rows":[[1]]}', '$', 'object of columns and rows', 'object'],
    ['{"columns":{},"rows":[]}', '$.columns', 'array', 'object'],
    ['{"columns":[],"rows":"canary"}', '$.rows', 'array', 'string'],
    ['{"columns":[],"rows":12.5}', '$.rows', 'array', 'number'],
    ['{"columns":["canary"],"rows":[]}', '$.columns[]', 'object of name and type', 'string'],
    ['{"columns":[{"name":"a"}],"rows":[]}', '$.columns[]', 'object of name and type', 'object'],
    [
      '{"columns":[{"name":1,"type":"any"}],"rows":[]}',
      '$.columns[].name',
      'a string that no other column has',
      'integer',
    ],
    [
      table([column('any'), column('any')], '[]'),
      '$.columns[].name',
      'a string that no other column has',
      'string',
    ],
    [
      table([column('any'), column('any', '\\u0061')], '[]'),
      '$.columns[].name',
      'a string that no other column has',
      'string',
    ],
    [table([column('canary')], '[]'), '$.columns[].type', 'a result type other than table', 'string'],
    [
      '{"columns":[{"name":"a","type":null}],"rows":[]}',
      '$.columns[].type',
      'a result type other than table',
      'null',
    ],
    [table([column('any')], '[1]'), '$.rows[]', 'array', 'integer'],
    [table([column('any')], '[{"a":1}]'), '$.rows[]', 'array', 'object'],
    [table([column('any')], '[[]]'), '$.rows[]', 'a row as long as columns', 'array'],
    [table([column('any')], '[[1],[1,2]]'), '$.rows[]', 'a row as long as columns', 'array'],
    [table([], '[[1]]'), '$.rows[]', 'a row as long as columns', 'array'],
    [table([column('integer')], '[[1],[4.5]]'), '$.rows[][]', 'integer or null', 'number'],
    [table([column('string')], '[[{"canary":1}]]'), '$.rows[][]', 'string or null', 'object'],
    [table([column('number')], '[[true]]'), '$.rows[][]', 'number or null', 'boolean'],
  ];
  test.each(refused)('%s is refused at %s', async (text, path, wanted, got) => {
    const answer = await conformTable(text);
    expect(answer).toEqual({ kind: 'refusal', code: 'result_type_mismatch', path, wanted, got });
    expect(JSON.stringify(answer)).not.toContain('canary');
  });

  test('of megabytes lets the event loop turn', async () => {
    const rows = `[${Array.from({ length: 150_000 }, (_, index) => `[${index}.0,"row ${index}"]`).join(',')}]`;
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const answer = await conformTable(table([column('integer'), column('string', 'b')], rows));
    clearInterval(timer);
    expect(typeof answer === 'string' && answer.includes('[149999,"row 149999"]')).toBe(true);
    expect(turns).toBeGreaterThan(3);
  });
});
