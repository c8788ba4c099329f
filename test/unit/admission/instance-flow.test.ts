import { beforeAll, describe, expect, it } from 'vitest';
import type { Admission } from '../../../src/admission/admit.ts';
import { draftOf } from '../../../src/model/reply.ts';
import { packAdmission } from './corpus.ts';
import { FOLLOWED, stores, UNSURE } from './instance-flow.ts';

let admission: Admission;
beforeAll(async () => {
  admission = await packAdmission();
});

describe('a store into an attribute of a local', () => {
  it.each(FOLLOWED)('is admitted where the local is an instance for sure: %s', (body) => {
    expect(admission.all(draftOf(stores(body)))).toEqual([]);
  });

  it.each(UNSURE)('is refused where the local may be anything: %s', (body) => {
    expect(admission.all(draftOf(stores(body))).map(({ rule }) => rule)).toContain('attribute: set x');
  });
});
