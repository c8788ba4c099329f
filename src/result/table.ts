import { setImmediate as nextTurn } from 'node:timers/promises';
import { RESULT_TYPES, type ResultType } from '../contract/result-type.ts';
import { conform } from './conform.ts';
import { jsonTypeOf } from './json-type.ts';
import { mismatch, type ResultRefusal } from './refusal.ts';
import { elements, members, type Span } from './spans.ts';

type ColumnType = Exclude<ResultType, 'table'>;

/** Characters walked before the event loop gets its turn: a few milliseconds of work. */
const CHARS_A_TURN = 256 * 1024;

/**
 * A table: `{"columns": [{"name", "type"}, …], "rows": [[…], …]}` and no other members. Names are unique strings,
 * types are result types other than `table`, each row is as long as `columns`, each cell is of its column's type
 * or null. Answers the text to relay, cells written as their type has them (`4.0` in an integer column as `4`).
 */
export async function conformTable(text: string): Promise<string | ResultRefusal> {
  const parts = exactMembers(text, 0, ['columns', 'rows'], '$');
  if ('kind' in parts) {
    return parts;
  }
  const { columns, rows } = parts;
  const types = columnTypes(text, columns);
  if ('kind' in types) {
    return types;
  }
  if (text[rows.start] !== '[') {
    return mismatch('$.rows', 'array', typeAt(text, rows));
  }
  const out: string[] = [];
  let copied = 0;
  let turnAt = rows.start + CHARS_A_TURN;
  for (const row of elements(text, rows.start)) {
    if (text[row.start] !== '[') {
      return mismatch('$.rows[]', 'array', typeAt(text, row));
    }
    let index = 0;
    for (const cell of elements(text, row.start)) {
      const type = types[index];
      if (type === undefined) {
        return mismatch('$.rows[]', 'a row as long as columns', 'array');
      }
      const token = text.slice(cell.start, cell.end);
      const written = token === 'null' ? token : conform(token, type);
      if (written === null) {
        return mismatch('$.rows[][]', `${type} or null`, jsonTypeOf(token));
      }
      if (written !== token) {
        out.push(text.slice(copied, cell.start), written);
        copied = cell.end;
      }
      index += 1;
    }
    if (index !== types.length) {
      return mismatch('$.rows[]', 'a row as long as columns', 'array');
    }
    if (row.end > turnAt) {
      turnAt = row.end + CHARS_A_TURN;
      await nextTurn();
    }
  }
  out.push(text.slice(copied));
  return out.join('');
}

function columnTypes(text: string, columns: Span): readonly ColumnType[] | ResultRefusal {
  if (text[columns.start] !== '[') {
    return mismatch('$.columns', 'array', typeAt(text, columns));
  }
  const names = new Set<string>();
  const types: ColumnType[] = [];
  for (const column of elements(text, columns.start)) {
    const parts = exactMembers(text, column.start, ['name', 'type'], '$.columns[]');
    if ('kind' in parts) {
      return parts;
    }
    const name = stringAt(text, parts.name);
    if (name === null || names.has(name)) {
      return mismatch('$.columns[].name', 'a string that no other column has', typeAt(text, parts.name));
    }
    const type = stringAt(text, parts.type);
    if (!isColumnType(type)) {
      return mismatch('$.columns[].type', 'a result type other than table', typeAt(text, parts.type));
    }
    names.add(name);
    types.push(type);
  }
  return types;
}

/** The places of exactly these members of the object at `at`; a missing, further or repeated one is refused. */
function exactMembers<Name extends string>(
  text: string,
  at: number,
  names: readonly Name[],
  path: string,
): Record<Name, Span> | ResultRefusal {
  const wanted = `object of ${names.join(' and ')}`;
  const got = typeAt(text, { start: at, end: text.length });
  if (got !== 'object') {
    return mismatch(path, wanted, got);
  }
  const found = new Map<string, Span>();
  for (const member of members(text, at)) {
    if (!names.some((name) => name === member.key) || found.has(member.key)) {
      return mismatch(path, wanted, 'object');
    }
    found.set(member.key, member);
  }
  if (found.size !== names.length) {
    return mismatch(path, wanted, 'object');
  }
  return Object.fromEntries(found) as Record<Name, Span>;
}

function isColumnType(name: string | null): name is ColumnType {
  return name !== 'table' && RESULT_TYPES.some((type) => type === name);
}

function stringAt(text: string, span: Span): string | null {
  return text[span.start] === '"' ? (JSON.parse(text.slice(span.start, span.end)) as string) : null;
}

function typeAt(text: string, span: Span): ReturnType<typeof jsonTypeOf> {
  // The first characters tell all types but integer from number, for which the whole token is needed.
  const first = text[span.start];
  return jsonTypeOf(
    first === '{' || first === '[' || first === '"' ? first : text.slice(span.start, span.end),
  );
}
