import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Admission } from '../../../../src/admission/admit.ts';
import { draftOf } from '../../../../src/model/reply.ts';
import { honest, packAdmission } from '../corpus.ts';
import { shownFor, told } from './shown.ts';

/** A function of the corpora with one key that its data lacks, and why that is not refused where it is not. */
interface Misspelt {
  readonly id: string;
  readonly of: string;
  readonly key: string;
  readonly line: number;
  readonly column: number;
  readonly left_alone?: string;
  readonly data: object;
  readonly code: string;
}

function misspelt(): readonly Misspelt[] {
  const text = readFileSync(new URL('../../../cases/misspelt.jsonl', import.meta.url), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Misspelt);
}

let admission: Admission;
beforeAll(async () => {
  admission = await packAdmission();
});

const withData = honest();

describe.each(['auto', 'fields'] as const)('over its own data, shown with keys %s', (keys) => {
  it.each(withData)('$id stays admitted: $instruction', ({ code, data }) => {
    expect(admission.all(draftOf(code), shownFor(data, keys))).toEqual([]);
  });
});

describe('a function with one key that its data lacks', () => {
  const caught = misspelt().filter((each) => each.left_alone === undefined);
  const left = misspelt().filter((each) => each.left_alone !== undefined);

  it.each(caught)('$id ($of with $key) is refused there', ({ key, line, column, code, data }) => {
    expect(told(admission, code, shownFor(data))).toEqual([`schema-keys: ${key} ${line}:${column}`]);
  });

  it.each(left)('$id ($of with $key) is left alone: $left_alone', ({ code, data }) => {
    expect(told(admission, code, shownFor(data))).toEqual([]);
  });

  it('is refused in thirty samples, all of functions that are admitted as they were', () => {
    expect(caught.length).toBeGreaterThanOrEqual(30);
    const known = new Set(honest().map(({ id }) => id));
    for (const { of } of misspelt()) expect(known).toContain(of);
  });
});
