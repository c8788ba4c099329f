import { beforeAll, describe, expect, it } from 'vitest';
import type { Admission } from '../../../src/admission/admit.ts';
import { draftOf } from '../../../src/model/reply.ts';
import { packAdmission, packModules } from './corpus.ts';
import { ADMITTED, asSource, REFUSED } from './vocabulary.ts';

let admission: Admission;
beforeAll(async () => {
  admission = await packAdmission();
});

describe('the vocabulary of the policy', () => {
  it.each(ADMITTED)('admits %j', (code) => {
    expect(admission.all(draftOf(code))).toEqual([]);
  });

  it.each(REFUSED)('%s refuses %j', (id, code) => {
    expect(admission.all(draftOf(asSource(code))).map(({ rule_id }) => rule_id)).toContain(id);
  });

  it('admits every name of the pack, imported and behind its module, where no rule limits its use', () => {
    const limited = new Set([
      'dataclass',
      'copy',
      'deepcopy',
      'field',
      'KW_ONLY',
      'Type',
      'Enum',
      'IntEnum',
      'StrEnum',
      'Flag',
      'IntFlag',
    ]);
    for (const [module, names] of Object.entries(packModules())) {
      for (const name of names) {
        const use = limited.has(name) ? 'x = 1' : `x = ${module}.${name}`;
        const code = `import ${module}\nfrom ${module} import ${name} as y\n${use}`;
        expect(admission.all(draftOf(asSource(code))), code).toEqual([]);
      }
    }
  });
});
