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
      { field: 'list[1].<member>', fix: 'is not a known member; remove it (known: n)' },
      { field: 'list[1].n', fix: 'is not valid: expected integer' },
    ]);
  });

  it('holds no value, and shows a member’s name only if the schema declares it', () => {
    const strangers = { '\u202eevil name': 1, ['x'.repeat(500)]: 1, bob_smith: 1, '7391': 1, toString: 1 };
    for (const [name, value] of Object.entries(strangers)) {
      const text = faultText(check({ name: 'SECRET VALUE', [name]: value, list: [{ n: 1, [name]: value }] }));
      expect(text).toContain('<member> is not a known member; remove it (known: name, kind, list)');
      expect(text).toContain('list[0].<member> is not a known member; remove it (known: n)');
      expect(text).not.toContain('SECRET VALUE');
      expect(text).not.toContain(name);
    }
  });

  it('shows no name of a map, and names below the choices of a union', () => {
    const text = (document: unknown) =>
      faultText(
        faultChecker(
          Type.Object({
            map: Type.Optional(Type.Record(Type.String(), Type.String())),
            either: Type.Optional(Type.Union([Type.String(), Type.Object({ id: Type.String() })])),
          }),
        )(document),
      );
    expect(text({ map: { bob_smith: 1 } })).toBe('map.<member> is not valid: expected string');
    expect(text({ map: { '7': 1 } })).toContain('map.<member> ');
    expect(text({ either: { id: 1 } })).toBe('either.id is not valid: expected string');
    expect(text({ either: {} })).toBe('either.id is required');
    expect(text({ either: 1 })).toBe('either must be a JSON string or a JSON object');
  });

  it('says of a text what its length must be', () => {
    const step = Type.Union([Type.String({ minLength: 1, maxLength: 3 }), Type.Object({})]);
    const text = (document: unknown) =>
      faultText(faultChecker(Type.Object({ step, name: Type.String({ minLength: 2 }) }))(document));
    expect(text({ step: '', name: 'ab' })).toBe('step must not be empty');
    expect(text({ step: 'abcd', name: 'ab' })).toBe('step must have at most 3 characters');
    expect(text({ step: 'abc', name: 'a' })).toBe('name must have at least 2 characters');
  });

  it('is bounded', () => {
    const list = Array.from({ length: 500 }, () => ({ n: 'x' }));
    expect(check({ name: 'x', list }, 5)).toHaveLength(5);
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`m${index}`, 1]));
    expect(check({ name: 'x', ...many })).toHaveLength(1);
  });

  it('speaks of the document where there is no field', () => {
    expect(faultText(check([]))).toMatch(/^The document /);
  });
});
