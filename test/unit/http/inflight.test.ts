import { describe, expect, it } from 'vitest';
import { byteBudget, tenantSlots } from '../../../src/http/inflight.ts';

describe('byteBudget', () => {
  it('refuses what does not fit, and takes it again once bytes were given back', () => {
    const budget = byteBudget(100);
    expect(budget.take(60)).toBe(true);
    expect(budget.take(41)).toBe(false);
    expect(budget.take(40)).toBe(true);
    expect(budget.take(1)).toBe(false);
    budget.give(60);
    expect(budget.take(60)).toBe(true);
  });
});

describe('tenantSlots', () => {
  it('caps a tenant, not its neighbours, and lets a tenant without a cap through', () => {
    const slots = tenantSlots();
    expect(slots.take('a', 2)).toBe(true);
    expect(slots.take('a', 2)).toBe(true);
    expect(slots.take('a', 2)).toBe(false);
    expect(slots.take('b', 2)).toBe(true);
    slots.give('a');
    expect(slots.take('a', 2)).toBe(true);
    for (let count = 0; count < 100; count += 1) {
      expect(slots.take('c', undefined)).toBe(true);
    }
  });
});
