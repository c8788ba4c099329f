import { describe, expect, it } from 'vitest';
import { traceContext, validTraceparent } from '../../../src/contract/traceparent.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const GOOD = `00-${TRACE}-${PARENT}-01`;

describe('a traceparent', () => {
  it('is taken as it is, with its parts', () => {
    expect(validTraceparent(GOOD)).toBe(GOOD);
    expect(traceContext(GOOD)).toEqual({ traceId: TRACE, parentId: PARENT, flags: 1 });
    expect(traceContext(`00-${TRACE}-${PARENT}-00`)?.flags).toBe(0);
  });

  it.each([
    ['no text', undefined],
    ['twice', [GOOD, GOOD]],
    ['joined', `${GOOD}, ${GOOD}`],
    ['another version', `01-${TRACE}-${PARENT}-01`],
    ['no version', `ff-${TRACE}-${PARENT}-01`],
    ['more behind it', `${GOOD}-x`],
    ['upper case', GOOD.toUpperCase()],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['a parent id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['a short trace id', `00-${TRACE.slice(1)}-${PARENT}-01`],
    ['a line break', `${GOOD}\n`],
  ])('is none if it has %s', (_what, value) => {
    expect(validTraceparent(value)).toBeNull();
    expect(traceContext(typeof value === 'string' ? value : null)).toBeNull();
  });
});
