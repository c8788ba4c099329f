import type { Admission } from '../../../../src/admission/admit.ts';
import type { AdmissionRefusal } from '../../../../src/contract/admission.ts';
import type { JsonObject } from '../../../../src/contract/result-type.ts';
import type { KeyPolicy } from '../../../../src/contract/source.ts';
import { draftOf } from '../../../../src/model/reply.ts';
import { describeSources } from '../../../../src/schema/describe.ts';
import { source } from '../../schema/shapes.ts';

/** The schema that a prompt over this data shows. */
export function shownFor(data: object, keys: KeyPolicy = 'auto'): JsonObject {
  return describeSources(Object.entries(data).map(([name, value]) => source(value, { name, keys }))).json;
}

/** The refusals of a function as `rule line:column`. */
export function told(admission: Admission, code: string, shown: JsonObject): readonly string[] {
  return admission.all(draftOf(code), shown).map(placeTold);
}

export const placeTold = ({ rule, line, column }: AdmissionRefusal) => `${rule} ${line}:${column}`;
