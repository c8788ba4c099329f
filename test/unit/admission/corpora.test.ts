import { beforeAll, describe, expect, it } from 'vitest';
import { type Admission, isRefusal } from '../../../src/admission/admit.ts';
import { draftOf } from '../../../src/model/reply.ts';
import { attacks, honest, packAdmission } from './corpus.ts';

let admission: Admission;
beforeAll(async () => {
  admission = await packAdmission();
});

/** Its first refusal is the import of fields; the rule named in the case would refuse two lines later. */
const REFUSED_EARLIER = new Set(['ar-003']);

describe('attacks', () => {
  it.each(attacks())('refuses $id: $why', ({ id, code, rule_kind }) => {
    const refusals = admission.all({ ...draftOf(''), source: code });
    const ids = refusals.map((refusal) => refusal.rule_id);
    if (REFUSED_EARLIER.has(id)) expect(ids).toContain(rule_kind);
    else expect(ids[0]).toBe(rule_kind);
  });
});

describe('honest functions', () => {
  it.each(honest())('admits $id: $instruction', ({ code }) => {
    expect(admission.all(draftOf(code))).toEqual([]);
    expect(isRefusal(admission.admit(draftOf(code)))).toBe(false);
  });
});
