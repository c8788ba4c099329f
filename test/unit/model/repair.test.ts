import { describe, expect, test } from 'vitest';
import { modelProblem } from '../../../src/model/failure.ts';
import { FORMATS } from '../../../src/model/formats.ts';
import { noFunctionReply } from '../../../src/model/no-function.ts';
import type { ModelFormat } from '../../../src/model/port.ts';
import { type Repair, repairOfNone } from '../../../src/model/repair.ts';
import { context, prompt, target } from './asking.ts';
import { REFUSAL, REFUSED, refusedImport } from './repairs.ts';

const none = (said: string) => repairOfNone(noFunctionReply(modelProblem('no_function'), said));
const body = (format: ModelFormat, repairs: readonly Repair[]): Readonly<Record<string, unknown>> =>
  FORMATS[format].body(prompt, target('https://models.example.com/', { format, name: 'm' }), {
    ...context,
    repairs,
  });

describe('a turn of the repair', () => {
  test('holds the function, its refusals and what to say', () => {
    const repair = refusedImport();
    expect(repair.earlier).toBe(REFUSED);
    expect(repair.refusals).toEqual([REFUSAL]);
    expect(repair.text).toContain('Instead: Remove it.');
    expect(Object.isFrozen(repair)).toBe(true);
  });

  test('tells of eight refusals at most', () => {
    const repair = refusedImport(
      REFUSED,
      ...Array.from({ length: 20 }, (_, line) => ({ ...REFUSAL, line: line + 2 })),
    );
    expect(repair.refusals.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(repair.text).toContain('8. Line 8');
    expect(repair.text).not.toContain('9. Line 9');
  });

  test('takes 64 Ki characters of what the model wrote, in valid UTF-8', () => {
    expect(refusedImport('x'.repeat(100_000)).earlier).toHaveLength(65_536);
    expect(none('x'.repeat(100_000)).earlier).toHaveLength(65_536);
    expect(none(`${'x'.repeat(65_535)}😀`).earlier.at(-1)).toBe('\ufffd');
  });
});

describe('what is sent on the second attempt', () => {
  test('in the service’s own format: the attempt, and the last refusal beside the unchanged prompt', () => {
    const first = body('compute-step', []);
    const { attempt, refusal, ...rest } = body('compute-step', [
      none('Sorry.'),
      refusedImport(REFUSED, { ...REFUSAL, line: 3 }),
    ]);
    expect(first).toEqual({ ...rest, attempt: 1 });
    expect(attempt).toBe(3);
    const { admitted: _, ...shown } = REFUSAL;
    expect(refusal).toEqual({
      code: REFUSED,
      ...shown,
      others: [{ ...shown, line: 3 }],
      text: expect.stringContaining('2. Line 3'),
    });
  });

  test.each(['openai', 'anthropic'] as const)('to %s: the turns in their order after the task', (format) => {
    const first = body(format, []).messages as readonly object[];
    const repairs = [none(' \n'), refusedImport()];
    expect(body(format, repairs).messages).toEqual([
      ...first,
      // The Messages API refuses an empty message.
      { role: 'assistant', content: '(nothing)' },
      { role: 'user', content: repairs[0]?.text },
      { role: 'assistant', content: REFUSED },
      { role: 'user', content: repairs[1]?.text },
    ]);
  });
});
