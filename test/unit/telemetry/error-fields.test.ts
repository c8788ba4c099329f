import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { errorFields } from '../../../src/telemetry/error-fields.ts';

const canary = 'canary';

describe('an error in the log', () => {
  test('is its class, its code and where it came from', () => {
    const fields = errorFields(
      Object.assign(new TypeError('for bob@corp.com'), { code: 'ERR_X', statusCode: 409 }),
    );
    expect(fields).toMatchObject({ name: 'TypeError', code: 'ERR_X', status: 409 });
    expect(fields.frames?.[0]).toMatch(/error-fields\.test\.ts:\d+:\d+$/);
    expect(fields.frames?.length).toBeLessThanOrEqual(12);
  });

  test('keeps the chain of causes, to the third', () => {
    const chain = [1, 2, 3, 4, 5].reduce<Error | undefined>(
      (cause, level) => Object.assign(new Error(canary, { cause }), { code: level }),
      undefined,
    );
    expect(errorFields(chain)).toMatchObject({ code: 5, cause: { code: 4, cause: { code: 3 } } });
    expect(errorFields(chain).cause?.cause).not.toHaveProperty('cause');
    const self = new Error(canary);
    self.cause = self;
    expect(JSON.stringify(errorFields(self))).not.toContain(canary);
  });

  test.each<[string, unknown, string]>([
    ['a string', canary, 'string'],
    ['an object', { message: canary, stack: canary }, 'object'],
    ['null', null, 'null'],
    ['undefined', undefined, 'undefined'],
    ['a number', 7, 'number'],
  ])('%s that was thrown is its type', (_, thrown, name) => {
    expect(errorFields(thrown)).toEqual({ name });
  });

  test('shows twelve frames at most', () => {
    const error = new Error('x');
    error.stack = `Error: x${'\n    at run (file:///app/main.js:1:1)'.repeat(50)}`;
    expect(errorFields(error).frames).toEqual(Array(12).fill('file:///app/main.js:1:1'));
  });

  test('of a system call has its code', () => {
    const error = Object.assign(new Error(`connect ECONNREFUSED ${canary}`), { code: 'ECONNREFUSED' });
    expect(errorFields(error)).toMatchObject({
      name: 'Error',
      code: 'ECONNREFUSED',
      frames: expect.any(Array),
    });
  });

  test('shows nothing of a message that looks like frames', () => {
    const lines = `\n    at ${canary} (file:///${canary}.js:1:1)\n    at file:///${canary}.js:1:1`;
    for (const error of [new Error(lines), new Error(`x${lines}`), new TypeError(`${lines}\nx`)]) {
      expect(JSON.stringify(errorFields(error))).not.toContain(canary);
      expect(errorFields(error).frames?.length).toBeGreaterThan(0);
    }
  });

  test('shows nothing of a stack that does not begin with its message', () => {
    /** An error whose stack was written, as V8 does, when its message was still another. */
    const renamed = (message: string, first = 'old'): Error => {
      const error = new Error(`${first} ${canary}\n    at file:///${canary}.js:1:1`);
      error.stack = `Error: ${error.message}\n    at file:///app/main.js:1:1`;
      error.message = message;
      return error;
    };
    const changed = renamed('new');
    const emptied = renamed('');
    const shortened = renamed('ol');
    const wordy = renamed('', '');
    const replaced = new Error('x');
    replaced.stack = `${canary} x\n    at file:///${canary}.js:1:1`;
    for (const error of [changed, emptied, shortened, wordy, replaced]) {
      expect(JSON.stringify(errorFields(error))).not.toContain(canary);
    }
  });

  test('shows neither a name nor a code that is made of data', () => {
    const error = Object.assign(new Error('x'), {
      name: 'bob@corp.com',
      code: 'bob@corp.com',
      statusCode: 'bob',
    });
    expect(JSON.stringify(errorFields(error))).not.toContain('bob');
    expect(errorFields(error).name).toBe('Error');
  });

  test('never shows its message, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('\n', '    at ', 'node:', '/', ':1', '(', ')', 'Error: ', ' ') }),
        (noise) => {
          const message = `${noise}${canary}${noise}`;
          expect(JSON.stringify(errorFields(new RangeError(message)))).not.toContain(canary);
        },
      ),
    );
  });
});
