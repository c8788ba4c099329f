import { describe, expect, test } from 'vitest';
import { OBJECT_KEYS_MAX } from '../../../src/json/key-spans.ts';
import { FIELDS_MAX } from '../../../src/json/shape-builder.ts';
import { type AnswerBounds, answerMaxBytes, isSealed, readAnswer } from '../../../src/sandbox/answer.ts';
import { u32 } from '../../fakes/fake-engine.ts';

const BOUNDS: AnswerBounds = { resultMaxBytes: 100, resultMaxDepth: 4, detailMaxBytes: 10, lineCount: 7 };

function payload(header: unknown, result: string | Buffer = ''): Buffer {
  const head = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  return Buffer.concat([u32(head.byteLength), head, Buffer.from(result)]);
}

const returned = (result: string | Buffer, more: object = {}) =>
  readAnswer(payload({ status: 'returned', ...more }, result), BOUNDS);
const raised = (more: object) => readAnswer(payload({ status: 'raised', ...more }), BOUNDS);
const notJson = (more: object) => readAnswer(payload({ status: 'not_json', ...more }), BOUNDS);

describe('an answer', () => {
  test('that returned brings its result’s bytes and the harness’s own readings', () => {
    expect(returned('[9007199254740993]', { cpu_ns: 1_500_000, maxrss_bytes: 4096 })).toEqual({
      kind: 'returned',
      result: Buffer.from('[9007199254740993]'),
      printed: null,
      cpuSeconds: 0.0015,
      peakMemoryBytes: 4096,
    });
  });

  test.each([
    ['nothing', ''],
    ['broken JSON', '{"a":'],
    ['two documents', '1 2'],
    ['NaN', 'NaN'],
    ['a duplicate key', '{"a":1,"a":2}'],
    ['nesting past the limit', '[[[[[1]]]]]'],
    ['bad UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ])('whose result is %s is one the harness would not write', (_what, result) => {
    expect(returned(result).kind).toBe('garbled');
  });

  test('whose result is past the limit is too large, whatever it says of itself', () => {
    expect(returned(`"${'x'.repeat(98)}"`).kind).toBe('returned');
    expect(returned(`"${'x'.repeat(99)}"`).kind).toBe('tooLarge');
  });

  test('whose result is an honest object with more keys than are looked through is too large, not a crash', () => {
    const keys = Array.from({ length: OBJECT_KEYS_MAX + FIELDS_MAX + 1 }, (_, index) => `"${index}":0`);
    const answer = readAnswer(payload({ status: 'returned' }, `{${keys.join()}}`), {
      ...BOUNDS,
      resultMaxBytes: 2 ** 30,
    });
    expect(answer.kind).toBe('tooLarge');
  });

  test.each([
    ['no header', Buffer.from([0, 0])],
    ['a header longer than the payload', Buffer.concat([u32(99), Buffer.from('{"status":"too_large"}')])],
    ['a header that is not JSON', payload('{')],
    ['a header that is not an object', payload('["returned"]')],
    ['null for a header', payload('null')],
    ['an unknown status', payload({ status: 'killed' })],
    ['a limit verdict for a status', payload({ status: 'timeout' })],
    ['no status', payload({})],
    ['a result beside an exception', payload({ status: 'raised', exception: 'KeyError' }, '1')],
    ['a result beside a refusal', payload({ status: 'too_large' }, '1')],
  ])('with %s is one the harness would not write', (_what, bytes) => {
    expect(readAnswer(bytes, BOUNDS).kind).toBe('garbled');
  });

  test.each([
    ['KeyError', 'KeyError'],
    ['bob@corp.com', 'Exception'],
    ['__proto__', 'Exception'],
    [7, 'Exception'],
    [undefined, 'Exception'],
  ])('names an exception %s as %s', (given, shown) => {
    expect(raised({ exception: given })).toMatchObject({ kind: 'raised', exception: shown });
  });

  test.each([
    [1, 1],
    [7, 7],
    [8, null],
    [0, null],
    [-1, null],
    [1.5, null],
    ['3', null],
    [null, null],
    [1e30, null],
  ])('has line %s of a function of seven lines as %s', (given, shown) => {
    expect(raised({ exception: 'KeyError', line: given })).toMatchObject({ line: shown });
  });

  test('shows text and prints only where they were asked for, cut at a character', () => {
    const full = { exception: 'KeyError', text: 'aaaaaaaaaé', printed: 'short' };
    expect(raised(full)).toMatchObject({ text: 'aaaaaaaaa', printed: 'short' });
    const none = readAnswer(payload({ status: 'raised', ...full }), { ...BOUNDS, detailMaxBytes: 0 });
    expect(none).toMatchObject({ text: null, printed: null });
    expect(raised({ exception: 'KeyError', text: ['x'], printed: 3 })).toMatchObject({
      text: null,
      printed: null,
    });
    expect(raised({ text: '\ud800' })).toMatchObject({ text: '\ufffd' });
  });

  test.each([
    ['set', 'set'],
    ['Decimal', 'Decimal'],
    ['bob@corp.com', 'object'],
    [3, 'object'],
  ])('names a Python type %s as %s', (given, shown) => {
    expect(notJson({ path: ['a', 0], python_type: given })).toMatchObject({
      kind: 'notJson',
      notJson: { path: ['a', 0], pythonType: shown },
    });
  });

  test.each([
    ['no path', undefined],
    ['too many steps', Array(101).fill(0)],
    ['a step too long', ['x'.repeat(401)]],
    ['a step that is neither key nor index', [null]],
    ['a negative index', [-1]],
  ])('with %s is one the harness would not write', (_what, path) => {
    expect(notJson({ path, python_type: 'set' }).kind).toBe('garbled');
  });

  test.each([[-1], [1.5], ['5'], [null], [1e300]])('with a reading of %s has none', (reading) => {
    expect(returned('1', { cpu_ns: reading, maxrss_bytes: reading })).toMatchObject({
      kind: 'returned',
      cpuSeconds: null,
      peakMemoryBytes: null,
    });
  });

  test('fits the largest frame that the harness can write', () => {
    const path = Array(100).fill('\u{1f600}'.repeat(200));
    const ascii = (value: unknown) =>
      JSON.stringify(value).replace(
        /[\u0080-\uffff]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
    const header = ascii({ status: 'not_json', path, python_type: 'set', printed: '\u0001'.repeat(10) });
    const bytes = payload(header);
    expect(bytes.byteLength).toBeLessThan(answerMaxBytes(BOUNDS));
    expect(readAnswer(bytes, BOUNDS).kind).toBe('notJson');
  });
});

describe('a seal', () => {
  test('is recognised in an answer', () => {
    expect(isSealed(payload({ status: 'returned', seal: 'abcd' }, '1'), 'abcd')).toBe(true);
  });

  test.each([
    ['another', { seal: 'abce' }],
    ['a part of it', { seal: 'abc' }],
    ['none', {}],
    ['no string', { seal: ['abcd'] }],
  ])('is not recognised in %s', (_what, header) => {
    expect(isSealed(payload({ status: 'returned', ...header }, '1'), 'abcd')).toBe(false);
  });

  test('is not looked for outside the header', () => {
    expect(isSealed(payload({ status: 'returned' }, '{"seal":"abcd"}'), 'abcd')).toBe(false);
    expect(isSealed(Buffer.from('abcd'), 'abcd')).toBe(false);
  });
});
