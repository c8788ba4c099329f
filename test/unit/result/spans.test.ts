import fc from 'fast-check';
import { expect, test } from 'vitest';
import { elements, members, valueEnd } from '../../../src/result/spans.ts';

const tricky = fc.string({
  unit: fc.constantFrom('"', '\\', '[', ']', '{', '}', ',', ':', ' ', 'a', 'é', '😀', '\u0000'),
});
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, -1.5, 1e300),
    tricky,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(tricky, tie('value'), { maxKeys: 4 }),
  ),
}));
const indent = fc.constantFrom(undefined, 1, '\t');

test('the elements of an array are found whatever is in them', () => {
  fc.assert(
    fc.property(fc.array(value), indent, (array, space) => {
      const text = JSON.stringify(array, null, space);
      const found = [...elements(text, 0)].map(({ start, end }) => text.slice(start, end));
      expect(found.map((piece) => JSON.parse(piece))).toEqual(JSON.parse(text));
      expect(found.every((piece) => piece === piece.trim())).toBe(true);
      expect(valueEnd(text, 0)).toBe(text.length);
    }),
  );
});

test('the members of an object are found whatever is in them', () => {
  fc.assert(
    fc.property(fc.dictionary(tricky, value), indent, (object, space) => {
      const text = JSON.stringify(object, null, space);
      const found = [...members(text, 0)].map(({ key, start, end }) => [
        key,
        JSON.parse(text.slice(start, end)),
      ]);
      expect(found).toEqual(Object.entries(JSON.parse(text)));
    }),
  );
});

test('nesting costs no stack', () => {
  const text = `${'['.repeat(1_000_000)}1${']'.repeat(1_000_000)}`;
  expect(valueEnd(text, 0)).toBe(text.length);
  expect([...elements(text, 0)]).toEqual([{ start: 1, end: text.length - 1 }]);
});
