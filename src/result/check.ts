import type { ResultAsk } from '../contract/result-type.ts';
import { conform } from './conform.ts';
import { type JsonType, jsonTypeOf } from './json-type.ts';
import { mismatch, type ResultRefusal } from './refusal.ts';
import type { SchemaChecker } from './schema-check.ts';
import { conformTable } from './table.ts';

declare const checkedBrand: unique symbol;

/** A result that is of the type and schema asked for. Only `checkResult` makes one. */
export interface Checked {
  readonly kind: 'checked';
  readonly [checkedBrand]: true;
  /** JSON text to relay: the digits as Python wrote them, or as the asked type has them (`4.0` as `4`). */
  readonly text: string;
}

const WANTED: Partial<Record<ResultAsk['type'], string>> = {
  decimal: 'decimal (a number, or a string of exact digits)',
  date: 'date (YYYY-MM-DD)',
  datetime: 'datetime (RFC 3339 with offset)',
};

/**
 * Checks a result against what was asked, by the table of result types in the API description. `raw` is JSON text
 * in UTF-8, known to be valid. With `nullable` null is fine whatever type and schema say; for `any` null is a
 * value like others. The text that will be relayed is what `schema` sees. A refusal holds types, never a value.
 */
export async function checkResult(
  raw: Buffer,
  ask: ResultAsk,
  checker: SchemaChecker,
  signal?: AbortSignal,
): Promise<Checked | ResultRefusal> {
  const whole = raw.toString('utf8');
  const text = whole.trim();
  const got = jsonTypeOf(text);
  if (got === 'null' && ask.nullable) {
    return checked('null');
  }
  const typed = await conformWhole(whole, text, got, ask);
  if (typeof typed !== 'string') {
    return typed;
  }
  if (ask.schema === null) {
    return checked(typed);
  }
  const verdict = await checker.check(ask.schema, typed, signal);
  switch (verdict.kind) {
    case 'ok':
      return checked(typed);
    case 'mismatch':
      return mismatch(verdict.path, verdict.wanted ?? `"${verdict.keyword}" of result_schema`, verdict.got);
    case 'timeout':
      return { ...mismatch('$', 'result_schema', got), code: 'result_schema_timeout' };
  }
}

async function conformWhole(
  whole: string,
  text: string,
  got: JsonType,
  ask: ResultAsk,
): Promise<string | ResultRefusal> {
  if (ask.type === 'any') {
    return whole;
  }
  if (ask.type === 'table' && got === 'object') {
    return conformTable(text);
  }
  const written = ask.type === 'table' ? null : conform(text, ask.type);
  const wanted = WANTED[ask.type] ?? ask.type;
  return written ?? mismatch('$', ask.nullable ? `${wanted} or null` : wanted, got);
}

function checked(text: string): Checked {
  return { kind: 'checked', text } as Checked;
}
