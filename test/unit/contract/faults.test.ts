import { Type } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import { faultChecker, faultText } from '../../../src/contract/faults.ts';

const check = faultChecker(
  Type.Object(
    {
      name: Type.String({ pattern: '^[a-z]+$' }),
      kind: Type.Optional(Type.Union([Type.Literal('a'), Type.Literal('b')])),
      list: Type.Optional(Type.Array(Type.Object({ n: Type.Integer() }, { additionalProperties: false }))),
    },
    { additionalProperties: false },
  ),
);

describe('faultChecker', () => {
  it('says nothing of a good document', () => {
    expect(check({ name: 'x', kind: 'b', list: [{ n: 1 }] })).toEqual([]);
  });

  it('names each field and its fix, once', () => {
    const faults = check({ kind: 'c', list: [{ n: 1 }, { n: 'secret', extra: 1 }] });
    expect(faults).toEqual([
      { field: 'name', fix: 'is required' },
      { field: 'kind', fix: 'must be "a" or "b"' },
      { field: 'list[1].extra', fix: 'is not a known member; remove it' },
      { field: 'list[1].n', fix: 'is not valid: expected integer' },
    ]);
  });

  it('holds no value, and shows a member’s name only if it is a plain one', () => {
    const text = faultText(check({ name: 'SECRET VALUE', '\u202eevil name': 1, ['x'.repeat(500)]: 1 }));
    expect(text).not.toContain('SECRET VALUE');
    expect(text).not.toContain('evil');
    expect(text).not.toContain('x'.repeat(65));
    expect(text).toContain('<member>');
  });

  it('is bounded', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`m${index}`, 1]));
    expect(check({ name: 'x', ...many }, 5)).toHaveLength(5);
  });

  it('speaks of the document where there is no field', () => {
    expect(faultText(check([]))).toMatch(/^The document /);
  });
});
