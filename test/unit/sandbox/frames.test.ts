import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeJob, encodeSetup, FRAME_ANSWER, FrameReader } from '../../../src/sandbox/frames.ts';
import { u32 } from '../../fakes/fake-engine.ts';

const HEADER = {
  wall_seconds: 2.5,
  result_max_bytes: 10,
  result_max_depth: 64,
  decimal_as_string: false,
  detail_max_bytes: 0,
  seal: 'ab',
};

function frame(tag: string, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(tag), u32(payload.byteLength), payload]);
}

/** Feeds bytes cut at the given places. */
function feed(reader: FrameReader, bytes: Buffer, cuts: readonly number[]): void {
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const to = Math.min(cut, bytes.byteLength);
    reader.push(bytes.subarray(from, to));
    from = to;
  }
  reader.push(bytes.subarray(from));
}

describe('a frame out of a container', () => {
  test('is the same however its bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        fc.array(fc.nat(310)),
        fc.nat(40),
        (payload, cuts, extra) => {
          const reader = new FrameReader(FRAME_ANSWER, 300);
          feed(reader, Buffer.concat([frame('A', Buffer.from(payload)), Buffer.alloc(extra, 65)]), cuts);
          expect(reader.state).toBe('complete');
          expect(reader.payload()).toEqual(Buffer.from(payload));
          expect(reader.trailingBytes).toBe(extra);
        },
      ),
    );
  });

  test('is not complete one byte before its end', () => {
    const reader = new FrameReader(FRAME_ANSWER, 10);
    const bytes = frame('A', Buffer.from('hello'));
    reader.push(bytes.subarray(0, -1));
    expect(reader.state).toBe('reading');
    expect(reader.payload().byteLength).toBe(0);
    reader.push(bytes.subarray(-1));
    expect(reader.state).toBe('complete');
  });

  test('may be empty', () => {
    const reader = new FrameReader(FRAME_ANSWER, 10);
    reader.push(frame('A', Buffer.alloc(0)));
    expect(reader.state).toBe('complete');
  });

  test('is garbled when the tag is another', () => {
    const reader = new FrameReader(FRAME_ANSWER, 10);
    reader.push(frame('R', Buffer.from('x')));
    expect(reader.state).toBe('garbled');
    expect(reader.payload().byteLength).toBe(0);
  });

  test('is garbled when it claims more than may come, and nothing is kept for it', () => {
    const exact = new FrameReader(FRAME_ANSWER, 10);
    exact.push(frame('A', Buffer.alloc(10)));
    expect(exact.state).toBe('complete');
    const reader = new FrameReader(FRAME_ANSWER, 10);
    reader.push(Buffer.concat([Buffer.from('A'), u32(0xffffffff)]));
    reader.push(Buffer.alloc(1000));
    expect(reader.state).toBe('garbled');
    expect(reader.trailingBytes).toBe(0);
  });

  test('that comes a second time counts as trailing bytes', () => {
    const reader = new FrameReader(FRAME_ANSWER, 10);
    const bytes = frame('A', Buffer.from('1'));
    reader.push(bytes);
    reader.push(bytes);
    expect(reader.trailingBytes).toBe(bytes.byteLength);
    expect(reader.payload().toString()).toBe('1');
  });
});

describe('frames into a container', () => {
  test('the setup is its length and JSON', () => {
    const bytes = encodeSetup({ modules: { math: ['é'] }, builtins: [] });
    expect(bytes.readUInt32BE(0)).toBe(bytes.byteLength - 4);
    expect(JSON.parse(bytes.toString('utf8', 4))).toEqual({ modules: { math: ['é'] }, builtins: [] });
  });

  test('the job tells the sizes of code and data in bytes and does not copy the data', () => {
    const chunk = Buffer.from('{"a":"é"}');
    const pieces = encodeJob(HEADER, Buffer.from('# é\n'), { chunks: [chunk], byteLength: chunk.byteLength });
    const head = pieces[0] as Buffer;
    expect(JSON.parse(head.toString('utf8', 4))).toEqual({ ...HEADER, code_bytes: 5, data_bytes: 10 });
    expect(head.readUInt32BE(0)).toBe(head.byteLength - 4);
    expect(pieces.at(-1)).toBe(chunk);
    expect(Buffer.concat(pieces.slice(1)).toString()).toBe('# é\n{"a":"é"}');
  });
});
