import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunReport, RunUsage } from '../../../src/sandbox/port.ts';
import { type Expected, encodeFrame, FrameDecoder, TAG, type WireFrame } from '../../../src/sandbox/wire.ts';
import {
  decodeReport,
  decodeStates,
  encodeReport,
  encodeStates,
  reportMaxBytes,
} from '../../../src/sandbox/wire-report.ts';
import {
  clampLimits,
  decodeRunHeader,
  encodeRunHeader,
  RUN_HEADER_MAX_BYTES,
  type RunHeader,
} from '../../../src/sandbox/wire-run.ts';
import { LIMITS } from '../../fakes/sandbox-run.ts';

const ANYTHING: Expected = new Map([
  [TAG.code, 1000],
  [TAG.data, 1000],
  [TAG.go, 0],
]);

/** All frames of the bytes, given in pieces. */
function decode(
  pieces: readonly Buffer[],
  expected = ANYTHING,
): { frames: WireFrame[]; decoder: FrameDecoder } {
  const decoder = new FrameDecoder();
  const frames: WireFrame[] = [];
  for (const piece of pieces) {
    let rest = piece;
    while (rest.byteLength > 0) {
      const got = decoder.push(rest, expected);
      rest = got.rest;
      if (got.frame !== null) {
        frames.push(got.frame);
      }
    }
  }
  return { frames, decoder };
}

describe('frames', () => {
  test('come out as they went in, however the bytes are cut', () => {
    const frame = fc.tuple(fc.constantFrom(TAG.code, TAG.data), fc.uint8Array({ maxLength: 40 }));
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 5 }), fc.integer({ min: 1, max: 60 }), (frames, step) => {
        const bytes = Buffer.concat(
          frames.flatMap(([tag, payload]) => encodeFrame(tag, Buffer.from(payload))),
        );
        const pieces: Buffer[] = [];
        for (let at = 0; at < bytes.byteLength; at += step) {
          pieces.push(bytes.subarray(at, at + step));
        }
        expect(decode(pieces).frames.map(({ tag, payload }) => [tag, [...payload]])).toEqual(
          frames.map(([tag, payload]) => [tag, [...payload]]),
        );
      }),
    );
  });

  test('of an unknown or unexpected tag end the reading for good', () => {
    const { frames, decoder } = decode([
      Buffer.concat(encodeFrame(TAG.run, Buffer.from('x'))),
      Buffer.concat(encodeFrame(TAG.code, Buffer.from('x'))),
    ]);
    expect(frames).toEqual([]);
    expect(decoder.garbled).toBe(true);
  });

  test('longer than their bound are refused by their header, before anything is kept', () => {
    const header = Buffer.concat(encodeFrame(TAG.code, Buffer.alloc(1001))).subarray(0, 5);
    expect(decode([header]).decoder.garbled).toBe(true);
    expect(decode([Buffer.from([TAG.code, 0xff, 0xff, 0xff, 0xff])]).decoder.garbled).toBe(true);
    expect(decode(encodeFrame(TAG.code, Buffer.alloc(1000))).frames).toHaveLength(1);
    expect(decode([Buffer.from([TAG.go, 0, 0, 0, 1])]).decoder.garbled).toBe(true);
  });
});

const HEADER: RunHeader = {
  runId: '01a229fe-b5d0-748a-a5cf-9bf2c576a534',
  tenant: 'acme',
  month: '2026-11',
  codeSha256: 'a'.repeat(64),
  dataBytes: 12,
  limits: LIMITS,
};
const raw = (): Record<string, unknown> => JSON.parse(encodeRunHeader(HEADER).toString());
const decoded = (value: unknown) => decodeRunHeader(Buffer.from(JSON.stringify(value)));

describe('a run’s header', () => {
  test('comes out as it went in, within its bound', () => {
    expect(decodeRunHeader(encodeRunHeader(HEADER))).toEqual(HEADER);
    const longest = { ...HEADER, runId: 'r'.repeat(64), tenant: 't'.repeat(63) };
    expect(encodeRunHeader(longest).byteLength).toBeLessThan(RUN_HEADER_MAX_BYTES);
  });

  test('loses every field that it does not have', () => {
    const more = {
      ...raw(),
      image: 'evil',
      HostConfig: { Binds: ['/:/host'] },
      ['__proto__']: { limits: 1 },
    };
    expect(decoded(more)).toEqual(HEADER);
    expect(Object.keys(decoded(more) ?? {}).sort()).toEqual(Object.keys(HEADER).sort());
    const limits = { ...(raw().limits as object), Memory: 1e12, cpus: 64 };
    expect(decoded({ ...raw(), limits })).toEqual(HEADER);
  });

  test.each([
    ['protocol', 2],
    ['protocol', undefined],
    ['run_id', 'a b'],
    ['run_id', 'r'.repeat(65)],
    ['tenant', '../acme'],
    ['tenant', 7],
    ['month', '2026-13'],
    ['code_sha256', 'A'.repeat(64)],
    ['code_sha256', 'a'.repeat(63)],
    ['data_bytes', -1],
    ['data_bytes', 1.5],
    ['data_bytes', '12'],
    ['data_bytes', 2 ** 32],
    ['limits', null],
    ['limits', []],
  ])('with %s = %j is none', (name, value) => {
    expect(decoded({ ...raw(), [name]: value })).toBeNull();
  });

  test.each([
    ['wall_ms', '5000'],
    ['wall_ms', 0],
    ['wall_ms', -1],
    ['wall_ms', 1e9],
    ['wall_ms', null],
    ['memory_mb', 0],
    ['memory_mb', 1e12],
    ['memory_mb', '64'],
    ['result_max_bytes', 2 ** 32],
    ['result_max_depth', 0],
    ['detail_max_bytes', -1],
    ['decimal_as_string', 'true'],
    ['decimal_as_string', undefined],
  ])('with limits.%s = %j is none', (name, value) => {
    expect(decoded({ ...raw(), limits: { ...(raw().limits as object), [name]: value } })).toBeNull();
  });

  test('takes no field from a prototype, nor bytes that are no JSON object', () => {
    const { limits, ...rest } = raw();
    expect(decodeRunHeader(Buffer.from(`{"__proto__":${JSON.stringify(raw())}}`))).toBeNull();
    const inherited = JSON.stringify(rest).replace('{', `{"limits":{"__proto__":${JSON.stringify(limits)}},`);
    expect(decodeRunHeader(Buffer.from(inherited))).toBeNull();
    for (const text of ['', '{', '[]', 'null', '7', `{"a":`.repeat(1000)]) {
      expect(decodeRunHeader(Buffer.from(text))).toBeNull();
    }
  });

  test('asks for no more than the operator allows', () => {
    const most = {
      ...LIMITS,
      wallMs: 3.6e6,
      memoryMb: 1e6,
      resultMaxBytes: 2 ** 31,
      resultMaxDepth: 9999,
      detailMaxBytes: 1e9,
    };
    expect(clampLimits(most, LIMITS)).toEqual(LIMITS);
    const least = {
      wallMs: 1,
      memoryMb: 16,
      resultMaxBytes: 9,
      resultMaxDepth: 2,
      detailMaxBytes: 0,
      decimalAsString: true,
    };
    expect(clampLimits(least, LIMITS)).toEqual(least);
  });
});

const USAGE: RunUsage = {
  wallNs: 2n ** 55n,
  cpuSeconds: 0.001,
  peakMemoryBytes: 7,
  peakMemorySource: 'self',
  exitCode: 0,
  outputBytes: 3,
  image: `sha256:${'a'.repeat(64)}`,
};
const BOUNDS = { resultMaxBytes: 10, resultMaxDepth: 64, detailMaxBytes: 20, lineCount: 9 };
const REPORTS: readonly RunReport[] = [
  { kind: 'returned', result: Buffer.from('[1,"é"]'), printed: null, usage: USAGE },
  { kind: 'returned', result: Buffer.from('1'), printed: 'p', usage: { ...USAGE, cpuSeconds: null } },
  { kind: 'raised', exception: 'KeyError', line: 9, text: 't', printed: null, usage: USAGE },
  { kind: 'raised', exception: 'KeyError', line: null, text: null, printed: null, usage: USAGE },
  { kind: 'notJson', notJson: { path: ['a', 3], pythonType: 'set' }, usage: USAGE },
  {
    kind: 'killed',
    reason: 'out_of_memory',
    usage: { ...USAGE, exitCode: 137, peakMemoryBytes: null, peakMemorySource: null },
  },
  { kind: 'notStarted', reason: 'overloaded', detail: 'full' },
];
const payload = (header: unknown, result = ''): Buffer => {
  const head = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.byteLength);
  return Buffer.concat([length, head, Buffer.from(result)]);
};
const wireUsage = { ...USAGE, wallNs: '5' };

describe('a report', () => {
  test.each(REPORTS)('of kind $kind comes out as it went in, within its bound', (report) => {
    const bytes = Buffer.concat(encodeReport(report));
    expect(decodeReport(bytes, BOUNDS)).toEqual(report);
    expect(bytes.byteLength).toBeLessThan(reportMaxBytes(BOUNDS));
  });

  test.each<[string, unknown, string?]>([
    ['no object', []],
    ['an unknown kind', { kind: 'won', usage: wireUsage }],
    ['no usage', { kind: 'killed', reason: 'timeout' }],
    ['an unknown reason', { kind: 'killed', reason: 'bored', usage: wireUsage }],
    ['a reason of another kind', { kind: 'notStarted', reason: 'timeout', detail: '' }],
    ['no detail', { kind: 'notStarted', reason: 'overloaded' }],
    ['a wall time that is a number', { kind: 'killed', reason: 'timeout', usage: { ...USAGE, wallNs: 5 } }],
    ['a negative wall time', { kind: 'killed', reason: 'timeout', usage: { ...USAGE, wallNs: '-5' } }],
    [
      'an endless wall time',
      { kind: 'killed', reason: 'timeout', usage: { ...USAGE, wallNs: '9'.repeat(19) } },
    ],
    ['an exit code past 255', { kind: 'killed', reason: 'timeout', usage: { ...wireUsage, exitCode: 256 } }],
    [
      'an unknown source',
      { kind: 'killed', reason: 'timeout', usage: { ...wireUsage, peakMemorySource: 'x' } },
    ],
    [
      'an endless image',
      { kind: 'killed', reason: 'timeout', usage: { ...wireUsage, image: 'x'.repeat(129) } },
    ],
    ['a result past its bound', { kind: 'returned', printed: null, usage: wireUsage }, '"12345678901"'],
    [
      'a result of a run that raised',
      { kind: 'raised', exception: 'E', line: null, text: null, printed: null, usage: wireUsage },
      '1',
    ],
    ['text past its bound', { kind: 'returned', printed: 'p'.repeat(21), usage: wireUsage }, '1'],
    [
      'a line that the function does not have',
      { kind: 'raised', exception: 'E', line: 10, text: null, printed: null, usage: wireUsage },
    ],
    [
      'a path that is none',
      { kind: 'notJson', notJson: { path: [{}], pythonType: 'set' }, usage: wireUsage },
    ],
    [
      'an endless path',
      { kind: 'notJson', notJson: { path: Array(101).fill(1), pythonType: 'set' }, usage: wireUsage },
    ],
  ])('with %s is none', (_what, header, result) => {
    expect(decodeReport(payload(header, result), BOUNDS)).toBeNull();
  });

  test('says no text where none was asked for, and no names outside the closed sets', () => {
    const raised = {
      kind: 'raised',
      exception: 'bob@corp.com',
      line: 1,
      text: null,
      printed: null,
      usage: wireUsage,
    };
    expect(decodeReport(payload(raised), BOUNDS)).toMatchObject({ exception: 'Exception' });
    expect(decodeReport(payload({ ...raised, text: 't' }), { ...BOUNDS, detailMaxBytes: 0 })).toBeNull();
    const notJson = { kind: 'notJson', notJson: { path: [], pythonType: 'bob@corp.com' }, usage: wireUsage };
    expect(decodeReport(payload(notJson), BOUNDS)).toMatchObject({ notJson: { pythonType: 'object' } });
  });

  test('whose header says to be longer than there is, is none', () => {
    const bytes = Buffer.concat(encodeReport({ kind: 'notStarted', reason: 'overloaded', detail: '' }));
    bytes.writeUInt32BE(bytes.readUInt32BE(0) + 1, 0);
    expect(decodeReport(bytes, BOUNDS)).toBeNull();
  });

  test('is not read out of garbage', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        expect(decodeReport(Buffer.from(bytes), BOUNDS)).toBeNull();
      }),
    );
  });
});

describe('the state of a daemon', () => {
  const states = (['engine', 'image', 'self_test'] as const).map((check) => ({
    check,
    ok: true,
    detail: 'd',
  }));

  test('comes out as it went in', () => {
    expect(decodeStates(encodeStates(states))).toEqual(states);
  });

  test.each([
    ['nothing', 'null'],
    ['garbage', '{'],
    ['a check missing', JSON.stringify(states.slice(1))],
    ['a check twice', JSON.stringify([states[0], states[0], states[2]])],
    ['another check', JSON.stringify([...states.slice(0, 2), { check: 'ledger', ok: true, detail: '' }])],
    ['an ok that is text', JSON.stringify([{ ...states[0], ok: 'true' }, ...states.slice(1)])],
  ])('is not read out of %s', (_what, text) => {
    expect(decodeStates(Buffer.from(text))).toBeNull();
  });
});
