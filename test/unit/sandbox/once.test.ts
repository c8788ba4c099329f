import { expect, test } from 'vitest';
import { once } from '../../../src/sandbox/once.ts';

test('acts at the first call only', () => {
  let acted = 0;
  const act = once(() => {
    acted += 1;
  });
  expect(acted).toBe(0);
  act();
  act();
  expect(acted).toBe(1);
});
