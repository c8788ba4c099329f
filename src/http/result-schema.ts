import { type Problem, problem } from '../contract/problem.ts';
import type { JsonObject } from '../contract/result-type.ts';
import type { SchemaChecker } from '../result/schema-check.ts';

/** Why a `result_schema` cannot be used; null: it can, or there is none. Known before the model is asked. */
export async function resultSchemaProblem(
  checker: SchemaChecker,
  schema: JsonObject | null,
  signal: AbortSignal,
): Promise<Problem | null> {
  const fault = schema === null ? null : await checker.compileCheck(schema, signal);
  switch (fault?.code) {
    case undefined:
      return null;
    case 'busy':
      return problem('overloaded', 'Too many result_schemas are being checked; try again.', {
        retryAfterSeconds: 1,
      });
    case 'cancelled':
      return problem('deadline_exceeded', 'The deadline passed while result_schema was being read.');
    default:
      // The message begins with the field.
      return problem('invalid_request', fault?.message ?? '');
  }
}
