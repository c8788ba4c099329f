import { describe, expect, it } from 'vitest';
import { isMisspelling, keyHint, nearNames } from '../../../../src/admission/schema-keys/near-names.ts';

describe('a misspelling', () => {
  it.each([
    ['pric', 'price'],
    ['prcie', 'price'],
    ['customerId', 'customer_id'],
    ['Customer Id', 'customer_id'],
    ['quantitiy', 'quantity'],
    ['qantitys', 'quantity'],
    ['qyt', 'qty'],
  ])('is %s for %s', (key, name) => {
    expect(isMisspelling(key, name)).toBe(true);
    expect(isMisspelling(name, key)).toBe(true);
  });

  it.each([
    ['cost', 'price'],
    ['a', 'b'],
    ['id', 'ip'],
    ['date', 'rated'],
    ['unit_price', 'price'],
    ['quantitiesx', 'quantity'],
  ])('is not %s for %s', (key, name) => {
    expect(isMisspelling(key, name)).toBe(false);
  });
});

describe('what to write instead', () => {
  it('is the nearest names, misspelt ones before those with a word in common', () => {
    expect(nearNames('unit_prise', ['prise_list', 'unit', 'unit_price', 'id', 'units_sold'])).toEqual([
      'unit_price',
      'prise_list',
      'units_sold',
    ]);
    expect(keyHint('qyt', ['id', 'qty'])).toBe('Use "qty".');
    expect(keyHint('total_price', ['price', 'total'])).toBe('Use "price" or "total".');
  });

  it('is a list of the names there, at most twenty, where none is near', () => {
    expect(keyHint('cost', ['id', 'qty'])).toBe('Use a field that is there: "id", "qty".');
    const many = Array.from({ length: 23 }, (_, i) => `n${i}`);
    expect(keyHint('cost', many)).toMatch(/"n19" and 3 more\.$/);
    expect(keyHint('cost', many)).not.toContain('"n20"');
  });
});
