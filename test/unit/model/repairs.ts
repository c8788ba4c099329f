import type { AdmissionRefusal } from '../../../src/contract/admission.ts';
import { type Repair, repairOf } from '../../../src/model/repair.ts';
import { draftOf } from '../../../src/model/reply.ts';

export const REFUSAL: AdmissionRefusal = {
  admitted: false,
  rule_id: 'import',
  rule: 'import: socket',
  line: 1,
  column: 7,
  message: 'This module is not admitted.',
  hint: 'Remove it.',
};

export const REFUSED = 'import socket\n\ndef compute(data):\n    return 1\n';

/** One turn of the repair: a function that imports what it may not. */
export function refusedImport(code = REFUSED, ...others: readonly AdmissionRefusal[]): Repair {
  return repairOf(draftOf(code), [REFUSAL, ...others]);
}
