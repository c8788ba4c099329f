import { type Checker, type FieldFault, faultText } from '../contract/faults.ts';
import { type Problem, problem } from '../contract/problem.ts';
import type { ReadBody } from '../json/body.ts';
import type { BodyReader } from '../json/read.ts';

/**
 * Scans a body and checks its envelope (everything but the sources' values). Problem `invalid_request` names the
 * field and the fix.
 */
export async function readBody(
  reader: BodyReader,
  check: Checker,
  bytes: unknown,
  signal: AbortSignal,
): Promise<ReadBody | Problem> {
  if (!Buffer.isBuffer(bytes) || bytes.byteLength === 0) {
    return problem('invalid_request', 'The body is empty; send a JSON document.');
  }
  const read = await reader.read(bytes, signal).catch((error: unknown) => {
    if (signal.aborted) {
      return problem('deadline_exceeded', 'The deadline passed while the body was being read.');
    }
    throw error;
  });
  if (read.kind === 'problem') {
    return read;
  }
  if (read.kind === 'fault') {
    return problem('invalid_request', read.message);
  }
  const faults = check(read.envelope);
  return faults.length > 0 ? invalid(faults) : read;
}

/** `invalid_request` for field faults. */
export function invalid(faults: readonly FieldFault[]): Problem {
  return problem('invalid_request', `${faultText(faults)}.`, {
    extra: { faults: faults.map(({ field, fix }) => ({ field, fix })) },
  });
}
