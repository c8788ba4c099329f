import { createAdmission } from '../../src/admission/admit.ts';
import { draftOf } from '../../src/model/reply.ts';
import { attacks, honest, packModules } from '../unit/admission/corpus.ts';
import { FOLLOWED, stores, UNSURE } from '../unit/admission/instance-flow.ts';
import { RULE_CASES } from '../unit/admission/rule-cases.ts';
import { ADMITTED, asSource, REFUSED } from '../unit/admission/vocabulary.ts';

/** The quick checks of admission without a test runner: exits with 1 at the first that fails. */
const admission = await createAdmission(packModules());
const rulesOf = (source: string) => admission.all({ ...draftOf(''), source });

for (const [, code, expected] of RULE_CASES) {
  const found = rulesOf(draftOf(code).source).map(({ rule, line, column }) => `${rule} ${line}:${column}`);
  if (found.join('\n') !== expected.join('\n')) process.exit(1);
}
for (const { code } of honest()) if (rulesOf(draftOf(code).source).length > 0) process.exit(1);
for (const { code, rule_kind } of attacks()) {
  if (!rulesOf(code).some(({ rule_id }) => rule_id === rule_kind)) process.exit(1);
}
for (const code of ADMITTED) if (rulesOf(code).length > 0) process.exit(1);
for (const [id, code] of REFUSED) {
  if (!rulesOf(asSource(code)).some(({ rule_id }) => rule_id === id)) process.exit(1);
}
for (const body of FOLLOWED) if (rulesOf(stores(body)).length > 0) process.exit(1);
for (const body of UNSURE) {
  if (!rulesOf(stores(body)).some(({ rule }) => rule === 'attribute: set x')) process.exit(1);
}
process.exit(0);
