import fc from 'fast-check';

/** JSON texts as they come in: any value, any white space, any escapes; keys unique in each object. */
export const jsonText: fc.Arbitrary<string> = fc
  .tuple(fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }), fc.constantFrom(undefined, 1, '\t', ' \r\n '))
  .map(([value, indent]) => JSON.stringify(value, null, indent));

/** Bytes close to JSON: a document with a few bytes replaced, removed or put in. */
export const mutatedJson: fc.Arbitrary<Buffer> = fc
  .tuple(
    jsonText,
    fc.array(
      fc.record({
        at: fc.nat(),
        how: fc.constantFrom('replace', 'remove', 'insert'),
        byte: fc.oneof(
          fc.constantFrom(...Buffer.from('{}[],:"\\0123456789.eE+-truefalsn u\n\t/b')),
          fc.integer({ min: 0, max: 255 }),
        ),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([text, edits]) => {
    const bytes = [...Buffer.from(text)];
    for (const { at, how, byte } of edits) {
      const index = at % (bytes.length + 1);
      bytes.splice(index, how === 'insert' ? 0 : 1, ...(how === 'remove' ? [] : [byte]));
    }
    return Buffer.from(bytes);
  });

/** Whether Node takes these bytes as strict UTF-8 (no mark) and JSON. */
export function nodeAccepts(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}
