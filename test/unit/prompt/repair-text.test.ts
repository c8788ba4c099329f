import { describe, expect, test } from 'vitest';
import type { AdmissionRefusal } from '../../../src/contract/admission.ts';
import { repairText } from '../../../src/prompt/repair-text.ts';

const refusal = (more: Partial<AdmissionRefusal> = {}): AdmissionRefusal => ({
  admitted: false,
  rule_id: 'import',
  rule: 'import: socket',
  line: 2,
  column: 4,
  message: 'This module is not admitted.',
  hint: 'Remove it.',
  ...more,
});

describe('what a model is told of its refused function', () => {
  test('is each refusal with its place, its line, what is wrong and what to write instead', () => {
    const source = 'def compute(data):\n    import socket\n    return open(1)\n';
    const second = refusal({
      rule: 'name: open',
      line: 3,
      column: 11,
      message: 'No.',
      hint: 'Leave it out.',
    });
    expect(repairText([refusal(), second], source)).toContain(`
1. Line 2, column 4: import socket
   Refused by import: socket. This module is not admitted.
   Instead: Remove it.
2. Line 3, column 11: return open(1)
   Refused by name: open. No.
   Instead: Leave it out.
`);
  });

  test('shows what cannot be seen, and no more than 200 characters of a line', () => {
    const text = repairText([refusal({ line: 1 })], `x\u200b\r\u00a0\ud800${'a'.repeat(5000)}\n`);
    expect(text).toContain('column 4: x<U+200B><U+000D><U+00A0><U+D800>aaa');
    expect(text.length).toBeLessThan(1000);
  });

  test('goes without a line that is not there', () => {
    expect(repairText([refusal({ line: 9 })], 'x\n')).toContain('1. Line 9, column 4\n');
  });
});
