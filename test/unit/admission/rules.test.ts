import { beforeAll, describe, expect, it } from 'vitest';
import type { Admission } from '../../../src/admission/admit.ts';
import { ruleTable } from '../../../src/admission/rules/rule-table.ts';
import { RULE_IDS } from '../../../src/contract/admission.ts';
import { draftOf } from '../../../src/model/reply.ts';
import { packAdmission } from './corpus.ts';
import { RULE_CASES } from './rule-cases.ts';

let admission: Admission;
beforeAll(async () => {
  admission = await packAdmission();
});

describe('each rule refuses at the place it means, and no other rule does', () => {
  it.each(RULE_CASES)('%s', (_title, code, expected) => {
    const found = admission.all(draftOf(code)).map(({ rule, line, column }) => `${rule} ${line}:${column}`);
    expect(found).toEqual(expected);
  });
});

describe('the rule table', () => {
  it('has a unique title, a reason and a hint for every rule, under the ids of the contract', () => {
    const rules = ruleTable();
    expect(new Set(rules.map(({ title }) => title)).size).toBe(rules.length);
    for (const { id, title, reason, hint } of rules) {
      expect(RULE_IDS).toContain(id);
      expect(title).not.toBe('');
      expect(reason).toMatch(/\.$/);
      expect(hint.length).toBeGreaterThan(10);
    }
    expect(new Set(rules.map(({ id }) => id))).toEqual(new Set(RULE_IDS));
  });
});
