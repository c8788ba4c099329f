import { afterAll, describe, expect, test } from 'vitest';
import { ADMITTED_BUILTINS } from '../../src/admission/builtins.ts';
import {
  type Container,
  jobFrame,
  labelled,
  MODULES,
  readAnswer,
  runJob,
  runPython,
  setupFrame,
  startContainer,
} from './harness-container.ts';

const builtins = [...ADMITTED_BUILTINS];
afterAll(async () => expect(await labelled()).toBe(0));

/** A container that has said READY. */
async function ready(): Promise<Container> {
  const container = await startContainer();
  container.write(setupFrame());
  await container.frames(1);
  return container;
}

const body = (...lines: string[]) => `def compute(data):\n${lines.map((line) => `    ${line}\n`).join('')}`;

/** A job whose data is one byte that no UTF-8 text begins with. */
function badUtf8(): Buffer {
  const frame = jobFrame(body('return 1'), '1');
  frame[frame.byteLength - 1] = 0xff;
  return frame;
}

describe('the start', () => {
  test('says READY once the modules of the table are there, and ends quietly where no job comes', async () => {
    const container = await startContainer();
    container.write(setupFrame());
    const [frame] = await container.frames(1);
    expect(frame?.tag).toBe('R');
    expect(JSON.parse(String(frame?.payload))).toEqual({
      protocol: 1,
      python: expect.stringMatching(/^3\.13\.\d+$/),
      missing: [],
      pid: 1,
    });
    container.end();
    expect(await container.ended()).toMatchObject({ exitCode: 0, frames: [{ tag: 'R' }] });
  });

  test('names what the table asks for and the image lacks', async () => {
    const container = await startContainer();
    const modules = { math: ['sqrt', 'nope'], numpy: ['array'], sqlite3: [] };
    container.write(setupFrame({ modules, builtins }));
    const [frame] = await container.frames(1);
    expect(JSON.parse(String(frame?.payload)).missing).toEqual(['math.nope', 'numpy', 'sqlite3']);
    container.end();
    expect((await container.ended()).exitCode).toBe(0);
  });

  test('ends quietly where nothing comes at all', async () => {
    const container = await startContainer();
    container.end();
    const ended = await container.ended();
    expect(ended).toMatchObject({ exitCode: 0, frames: [] });
    expect(ended.stdout.byteLength + ended.stderr.byteLength).toBe(0);
  });

  const bad: readonly (readonly [string, Buffer])[] = [
    ['not JSON', Buffer.from('\0\0\0\x03abc')],
    ['not an object', Buffer.from('\0\0\0\x02[]')],
    ['without a table', setupFrame({ builtins })],
    ['with a wrong table', setupFrame({ modules: ['math'], builtins })],
    ['with wrong builtins', setupFrame({ modules: {}, builtins: 'abs' })],
    ['cut off', setupFrame().subarray(0, 50)],
    ['larger than any setup', Buffer.from([0x7f, 0xff, 0xff, 0xff])],
  ];
  test.each(bad)('ends with a fault at settings that are %s, and says nothing', async (_name, bytes) => {
    const container = await startContainer();
    container.write(bytes);
    container.end();
    const ended = await container.ended();
    expect(ended).toMatchObject({ exitCode: 70, frames: [] });
    expect(ended.stdout.byteLength + ended.stderr.byteLength).toBe(0);
  });
});

describe('the job', () => {
  test('is taken once: what comes behind it is not read', async () => {
    const container = await ready();
    container.write(Buffer.concat([jobFrame(body('return 1')), jobFrame(body('return 2'))]));
    const ended = await container.ended();
    expect(ended.exitCode).toBe(0);
    expect(ended.frames).toHaveLength(2);
    expect(ended.rest).toHaveLength(0);
    expect(readAnswer(ended.frames[1]).result).toBe('1');
  });

  const wrong: readonly (readonly [string, Buffer])[] = [
    ['a header that is not JSON', Buffer.from('\0\0\0\x03abc')],
    ['a header larger than any', Buffer.from([0, 1, 0, 0])],
    ['a negative limit', jobFrame(body('return 1'), 'null', { result_max_bytes: -1 })],
    ['no time', jobFrame(body('return 1'), 'null', { wall_seconds: 0 })],
    ['less code than it says', jobFrame(body('return 1')).subarray(0, -10)],
    ['data that is not UTF-8', badUtf8()],
    ['data that is not JSON', jobFrame(body('return 1'), '{')],
    ['NaN in the data', jobFrame(body('return 1'), '[NaN]')],
    ['Infinity in the data', jobFrame(body('return 1'), '[-Infinity]')],
  ];
  test.each(wrong)('ends without an answer where it has %s', async (_name, bytes) => {
    const container = await ready();
    container.write(bytes);
    container.end();
    const ended = await container.ended();
    expect(ended.exitCode).toBe(70);
    expect(ended.frames).toHaveLength(1);
    expect(ended.rest).toHaveLength(0);
  });

  test('brings its seal back, and the function does not find it in the frames below it', async () => {
    const seal = 'f00dfeedf00dfeed';
    const hunt = body(
      'try:',
      '    1 / 0',
      'except ZeroDivisionError as e:',
      '    frame = e.__traceback__.tb_frame',
      'seen = []',
      'while frame is not None:',
      '    seen.append(str(frame.f_locals))',
      '    frame = frame.f_back',
      `return any("f00d" "feed" in text for text in seen)`,
    );
    const answer = await runJob(hunt, 'null', { seal });
    expect(answer.header.seal).toBe(seal);
    expect(answer.result).toBe('false');
    expect((await runJob(body('return 1'))).header).not.toHaveProperty('seal');
  });

  test.each([
    ['stays a moment after an answer that its seal confirms', { seal: 'f00d' }, 'lingers 0.03'],
    ['ends at once after one that its exit confirms', {}, ''],
  ])('%s', async (_name, options, said) => {
    // Its pause, told instead of made; the descriptor is as it was before the harness took it.
    const python = [
      'import posix, sys, time',
      'out, write = posix.dup(1), posix.write',
      'time.sleep = lambda seconds: write(out, f"lingers {seconds}".encode())',
      'sys.path.insert(0, "/usr/lib")',
      'import harness',
      'harness.main()',
    ].join('\n');
    const container = await startContainer({ python });
    container.write(setupFrame());
    container.write(jobFrame(body('return 1'), 'null', options));
    const { exitCode, frames, rest } = await container.ended();
    expect(exitCode).toBe(0);
    expect(readAnswer(frames[1]).result).toBe('1');
    expect(rest.toString()).toBe(said);
  });

  test('gets numbers exactly and gives them back exactly', async () => {
    const long = '9'.repeat(6000);
    const answer = await runJob(body('return [data, data[0] + 1, 2 ** 200]'), `[${long},0.1,1e308]`);
    expect(answer.result).toBe(`[[${long},0.1,1e+308],1${'0'.repeat(6000)},${2n ** 200n}]`);
  });

  test('measures itself', async () => {
    const { header } = await runJob(body('return len([i for i in range(2000000)])'));
    expect(header.cpu_ns).toBeGreaterThan(1e6);
    expect(header.maxrss_bytes).toBeGreaterThan(40e6);
  });

  test('does not take its data apart before the answer: the exit frees all of it at once', async () => {
    const python = `
import builtins, json, sys, types
sys.path.insert(0, "/usr/lib")
import harness
freed = []
class Data:
    def __del__(self):
        freed.append(self)
harness.json = types.SimpleNamespace(loads=lambda text, **options: Data())
source = b"def compute(data):\\n    return str(data)\\n"
result = harness.run(source, bytearray(b"1"), vars(builtins))
sys.stdout.write(json.dumps([type(result).__name__, len(freed)]))
`;
    expect(await runPython(python)).toEqual(['str', 0]);
  });

  test('sees strings in one order, whatever the run', async () => {
    const code = body('return list({"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"})');
    const first = await runJob(code);
    expect((await runJob(code)).result).toBe(first.result);
  });

  test('of the service gone is ended by its own clock, spinning, catching everything or in a long C call', async () => {
    const stubborn = body(
      'while True:',
      '    try:',
      '        while True: pass',
      '    except BaseException: pass',
    );
    const regex = `import re\n${body('return re.match(r"(a+)+$", "a" * 60 + "b")')}`;
    for (const code of [stubborn, regex]) {
      const container = await ready();
      container.write(jobFrame(code, 'null', { wall_seconds: 0.2 }));
      const ended = await container.ended();
      expect(ended.exitCode).toBe(75);
      expect(ended.frames).toHaveLength(1);
    }
  });
});

describe('a function that fails', () => {
  const raised: readonly (readonly [string, string, string, number | null])[] = [
    ['a built-in exception', body('return {}["secret"]'), 'KeyError', 2],
    [
      'one from a helper',
      `def half(x):\n    return x / 0\n${body('return half(1)')}`,
      'ZeroDivisionError',
      2,
    ],
    ['the module body', `x = 1\ny = x + "a"\n${body('return 1')}`, 'TypeError', 2],
    [
      'a class of its own',
      `class Card4111(ValueError): pass\n${body('raise Card4111("x")')}`,
      'Exception',
      3,
    ],
    [
      'a class that hides where it came from',
      `class E(Exception):\n    __traceback__ = property(lambda self: 1 / 0)\n${body('raise E()')}`,
      'Exception',
      4,
    ],
    ['json', `import json\n${body('return json.loads("{")')}`, 'ValueError', 3],
    ['decimal', `from decimal import Decimal\n${body('return Decimal("x")')}`, 'ArithmeticError', 3],
    ['statistics', `import statistics\n${body('return statistics.mean([])')}`, 'ValueError', 3],
    ['zoneinfo', `from zoneinfo import ZoneInfo\n${body('return ZoneInfo("No/Where")')}`, 'KeyError', 3],
    ['recursion', body('return compute(data)'), 'RecursionError', 2],
    ['memory asked for at once', body('return bytearray(1 << 62)'), 'MemoryError', 2],
    ['an assertion', body('assert data, "empty"'), 'AssertionError', 2],
    ['text that is not Python', 'def compute(data) return 1', 'SyntaxError', 1],
    ['a return outside', `${body('pass')}return 1`, 'SyntaxError', 3],
    ['wrong indentation', 'def compute(data):\nreturn 1', 'IndentationError', 2],
    ['no function', 'x = 1', 'NameError', null],
    ['a function of two', 'def compute(a, b):\n    return 1', 'TypeError', null],
    ['something uncallable', 'compute = 1', 'TypeError', null],
  ];
  test.each(raised)('tells class and line: %s', async (_name, code, exception, line) => {
    const answer = await runJob(code);
    expect(answer.header).toMatchObject({ status: 'raised', exception, line });
    expect(Object.keys(answer.header).sort()).toEqual([
      'cpu_ns',
      'exception',
      'line',
      'maxrss_bytes',
      'status',
    ]);
    expect(answer.result).toBe('');
  });

  test('with an exit is a failure like any other', async () => {
    // By the bases: the names themselves are not among a function's builtins.
    const code = body(
      'for c in Exception.__base__.__subclasses__():',
      '    if c.__name__ == data: raise c(0)',
    );
    for (const name of ['SystemExit', 'KeyboardInterrupt', 'GeneratorExit']) {
      const answer = await runJob(code, JSON.stringify(name));
      expect(answer.header).toMatchObject({ status: 'raised', exception: name, line: 3 });
    }
  });

  test('is not compiled from bytes that are not UTF-8', async () => {
    const answer = await runJob(Buffer.from('def compute(data):\n    return "\xff"\n', 'latin1'));
    expect(answer.header).toMatchObject({ status: 'raised', exception: 'UnicodeDecodeError', line: null });
  });

  test('ignores a coding cookie: it is text already', async () => {
    const cookie = '# coding: utf-7\n# +AAo-import os\n';
    expect((await runJob(`${cookie}${body('return "é"')}`)).result).toBe('"é"');
  });

  test('shows text and prints only where they are asked for, cut to the bytes asked', async () => {
    const code = body('print("é" * 10)', 'print("second")', 'raise ValueError("secret" * 10)');
    const silent = await runJob(code);
    expect(silent.header).not.toHaveProperty('text');
    expect(silent.header).not.toHaveProperty('printed');
    const cut = await runJob(code, 'null', { detail_max_bytes: 9 });
    expect(cut.header).toMatchObject({ text: 'secretsec', printed: 'éééé' });
    const whole = await runJob(code, 'null', { detail_max_bytes: 100 });
    expect(whole.header).toMatchObject({ text: 'secret'.repeat(10), printed: `${'é'.repeat(10)}\nsecond\n` });
  });
});

describe('the frame channel', () => {
  test('does not see what the function prints, and no more of it is kept than was asked for', async () => {
    // More than the container's memory holds.
    const code = body('for i in range(400): print("A" * 10 ** 6)', 'print("\\ud800")', 'return 1');
    const answer = await runJob(code, 'null', { detail_max_bytes: 100 });
    expect(answer.header.printed).toBe('A'.repeat(100));
    expect(answer.result).toBe('1');
  });

  test('is not behind the standard descriptors, which a function that broke out writes to', async () => {
    // The file class by way of its bases, as an escape would find it.
    const code = body(
      'for c in ().__class__.__base__.__subclasses__():',
      '    if c.__name__ == "_IOBase": base = c',
      'raw = [c for c in base.__subclasses__() if c.__name__ == "_RawIOBase"][0]',
      'file = [c for c in raw.__subclasses__() if c.__name__ == "FileIO"][0]',
      'for number in (1, 2):',
      '    file(number, "wb", closefd=False).write(b"A\\0\\0\\0\\x02{}")',
      'return file(0, "rb", closefd=False).read() == b""',
    );
    const container = await ready();
    container.write(Buffer.concat([jobFrame(code), Buffer.from('more input')]));
    const ended = await container.ended();
    expect(ended.exitCode).toBe(0);
    expect(ended.frames).toHaveLength(2);
    expect(ended.rest).toHaveLength(0);
    expect(ended.stderr).toHaveLength(0);
    expect(readAnswer(ended.frames[1])).toMatchObject({ header: { status: 'returned' }, result: 'true' });
  });

  test('carries an answer of megabytes whole', async () => {
    const answer = await runJob(body('return ["x" * 1000] * 4000'), 'null', { result_max_bytes: 8 << 20 });
    expect(answer.result).toBe(JSON.stringify(Array(4000).fill('x'.repeat(1000))));
  });
});

test('the pack of these tests is the one the image was built for', () => {
  expect(Object.keys(MODULES).length).toBeGreaterThan(20);
});
