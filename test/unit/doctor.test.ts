import { describe, expect, test } from 'vitest';
import { findingsJson, findingsTable, fine, healthy, wrong } from '../../src/doctor.ts';

const FINDINGS = [fine('engine', 'version 1'), wrong('ledger', 'locked', 'unlock it')];

describe('what the doctor found', () => {
  test('is a table with a fix under what is wrong, and a sum', () => {
    expect(findingsTable(FINDINGS)).toBe(
      [
        'ok    engine  version 1',
        'FAIL  ledger  locked',
        '              fix: unlock it',
        '',
        '1 of 2 checks failed',
      ].join('\n'),
    );
    expect(findingsTable([fine('engine', 'version 1')])).toBe('ok    engine  version 1\n\nall is well');
  });

  test('is JSON for a program', () => {
    expect(JSON.parse(findingsJson(FINDINGS))).toEqual({
      ok: false,
      checks: [
        { check: 'engine', ok: true, detail: 'version 1', fix: '' },
        { check: 'ledger', ok: false, detail: 'locked', fix: 'unlock it' },
      ],
    });
  });

  test('is healthy only if every check is, and something was looked at', () => {
    expect(healthy([fine('a', '')])).toBe(true);
    expect(healthy(FINDINGS)).toBe(false);
    expect(healthy([])).toBe(false);
  });
});
