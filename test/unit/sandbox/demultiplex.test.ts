import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Demultiplexer } from '../../../src/sandbox/demultiplex.ts';
import { multiplexed } from '../../fakes/fake-engine.ts';

function collect(chunks: readonly Buffer[]): { stdout: string; stderr: string; ok: boolean } {
  const out = { stdout: '', stderr: '' };
  const demultiplexer = new Demultiplexer((channel, piece) => {
    out[channel] += piece.toString('latin1');
  });
  let ok = true;
  for (const chunk of chunks) {
    ok = demultiplexer.push(chunk);
  }
  return { ...out, ok };
}

describe('an attach stream', () => {
  test('comes apart the same however it is cut', () => {
    const bytes = Buffer.concat([
      multiplexed(1, Buffer.from('one')),
      multiplexed(2, Buffer.from('err')),
      multiplexed(1, Buffer.alloc(0)),
      multiplexed(1, Buffer.from('two')),
    ]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: bytes.byteLength }), (size) => {
        const chunks: Buffer[] = [];
        for (let from = 0; from < bytes.byteLength; from += size) {
          chunks.push(bytes.subarray(from, from + size));
        }
        expect(collect(chunks)).toEqual({ stdout: 'onetwo', stderr: 'err', ok: true });
      }),
    );
  });

  test('is passed on as it comes, without waiting for the end of a piece', () => {
    const chunk = multiplexed(1, Buffer.alloc(1000, 'x')).subarray(0, 500);
    expect(collect([chunk]).stdout.length).toBe(492);
  });

  test.each([0, 3, 65])(
    'with channel %d is not an attach stream, and nothing more is passed on',
    (channel) => {
      const bytes = Buffer.concat([multiplexed(channel, Buffer.from('x')), multiplexed(1, Buffer.from('y'))]);
      expect(collect([bytes])).toEqual({ stdout: '', stderr: '', ok: false });
    },
  );

  test('with other bytes where zeros belong is not an attach stream', () => {
    expect(collect([Buffer.from([1, 0, 7, 0, 0, 0, 0, 1, 120])])).toEqual({
      stdout: '',
      stderr: '',
      ok: false,
    });
  });
});
