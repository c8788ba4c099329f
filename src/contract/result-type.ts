import { type Static, Type } from '@sinclair/typebox';

/** The types a caller may ask of a result; what each admits is in CONTRACT "Result types" and `result/check.ts`. */
export const RESULT_TYPES = [
  'number',
  'integer',
  'string',
  'boolean',
  'array',
  'object',
  'decimal',
  'date',
  'datetime',
  'table',
  'any',
] as const;

export type ResultType = (typeof RESULT_TYPES)[number];

export const ResultTypeSchema = Type.Union(
  RESULT_TYPES.map((name) => Type.Literal(name)),
  { description: 'The type the result must have. Booleans are not numbers; `decimal` is an exact string.' },
);

/** What the caller wants back: the type, whether null is fine too, and a JSON Schema it must satisfy besides. */
export interface ResultAsk {
  readonly type: ResultType;
  readonly nullable: boolean;
  /** JSON Schema 2020-12, as the caller gave it. */
  readonly schema: JsonObject | null;
}

/** A JSON object that the service passes on without a shape of its own. */
export const JsonObjectSchema = Type.Record(Type.String(), Type.Unknown());
export type JsonObject = Static<typeof JsonObjectSchema>;
