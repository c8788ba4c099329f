import { describe, expect, test } from 'vitest';
import { runJob, runPython } from './harness-container.ts';

/** Expressions of every kind that has a JSON form, with the text it must get. */
const WRITTEN: readonly (readonly [string, string])[] = [
  ['None', 'null'],
  ['True', 'true'],
  ['0', '0'],
  ['-0', '0'],
  ['9007199254740993', '9007199254740993'],
  ['2**200', '1606938044258990275541962092341162602522202993782792835301376'],
  ['10**5000', `1${'0'.repeat(5000)}`],
  ['0.1', '0.1'],
  ['4.0', '4.0'],
  ['-0.0', '-0.0'],
  ['1e22', '1e+22'],
  ['5e-324', '5e-324'],
  ['"é\\u0000😀\\n\\"\\\\/"', '"é\\u0000😀\\n\\"\\\\/"'],
  ['"\\x7f\\u2028"', '"\x7f\u2028"'],
  ['[]', '[]'],
  ['{}', '{}'],
  ['[1, [2, (3, None)], "x"]', '[1,[2,[3,null]],"x"]'],
  ['{"b": 1, "a": {"c": []}}', '{"b":1,"a":{"c":[]}}'],
  ['{1: "a", -2: "b"}', '{"1":"a","-2":"b"}'],
  ['{"a": 1, 1: 2}', '{"a":1,"1":2}'],
  ['Decimal("1.10")', '1.10'],
  ['Decimal("1E+2")', '1E+2'],
  ['Decimal("-0.00000001")', '-1E-8'],
  ['Decimal("0.1") + Decimal("0.2")', '0.3'],
  ['date(2024, 2, 29)', '"2024-02-29"'],
  ['time(1, 2, 3, 4)', '"01:02:03.000004"'],
  ['datetime(2024, 1, 2, 3, 4, 5)', '"2024-01-02T03:04:05"'],
  ['datetime(2024, 1, 2, tzinfo=UTC)', '"2024-01-02T00:00:00+00:00"'],
  ['datetime(2024, 7, 1, tzinfo=ZoneInfo("Europe/Paris"))', '"2024-07-01T00:00:00+02:00"'],
  ['UUID("12345678123456781234567812345678")', '"12345678-1234-5678-1234-567812345678"'],
  ['Color.RED', '"r"'],
  ['Level.HIGH', '3'],
  ['Name.ONE', '"one"'],
  ['Perm.R | Perm.W', '6'],
  ['Nested.PAIR', '[1,"2024-01-01"]'],
  ['Point(1, 2)', '[1,2]'],
  ['Named(1, "x")', '[1,"x"]'],
  ['Methodical(1, 2)', '[1,2]'],
  ['Plain(1, [2])', '{"x":1,"y":[2]}'],
  ['Slotted(1)', '{"x":1,"y":7}'],
  ['Child(1, [], "z")', '{"x":1,"y":[],"z":"z"}'],
  ['WithClassVar(1)', '{"x":1}'],
  ['Counter("aab")', '{"a":2,"b":1}'],
  ['defaultdict(list, a=[1])', '{"a":[1]}'],
  ['moved()', '{"b":2,"a":1}'],
  ['nest(64)', '['.repeat(64) + ']'.repeat(64)],
];

/** Expressions without a JSON form, with the type that is named and the path to it. */
const REFUSED: readonly (readonly [string, string, readonly (string | number)[]])[] = [
  ['float("nan")', 'float', []],
  ['{"a": [1, float("inf")]}', 'float', ['a', 1]],
  ['-math.inf', 'float', []],
  ['{1, 2}', 'set', []],
  ['frozenset()', 'frozenset', []],
  ['b"x"', 'bytes', []],
  ['bytearray(1)', 'bytearray', []],
  ['Fraction(1, 3)', 'Fraction', []],
  ['1j', 'complex', []],
  ['Decimal("NaN")', 'Decimal', []],
  ['Decimal("-Infinity")', 'Decimal', []],
  ['Decimal("1E+400")', 'Decimal', []],
  ['[{"a": (1, {2})}]', 'set', [0, 'a', 1]],
  ['{1.5: 0}', 'float', []],
  ['{"x": {None: 0}}', 'NoneType', ['x']],
  ['{True: 0}', 'bool', []],
  ['{(1, 2): 0}', 'tuple', []],
  ['{Color.RED: 0}', 'object', []],
  ['{1: 0, "1": 0}', 'str', []],
  ['{"1": 0, 1: 0}', 'int', []],
  ['["ok", "\\ud800"]', 'str', [1]],
  ['{"a": {"\\udc00": 1}}', 'str', ['a', '\udc00']],
  ['(i for i in [1])', 'generator', []],
  ['{"a": 1}.keys()', 'dict_keys', []],
  ['{"a": 1}.values()', 'dict_values', []],
  ['range(3)', 'range', []],
  ['map(str, [1])', 'map', []],
  ['deque([1])', 'deque', []],
  ['ChainMap({})', 'ChainMap', []],
  ['timedelta(1)', 'timedelta', []],
  ['len', 'builtin_function_or_method', []],
  ['moved', 'function', []],
  ['int', 'type', []],
  ['Secretive()', 'object', []],
  ['DictChild(a=1)', 'object', []],
  ['ListChild([1])', 'object', []],
  ['StrChild("x")', 'object', []],
  ['IntChild(1)', 'object', []],
  ['FloatChild(1.0)', 'object', []],
  ['DataDict(a=1)', 'object', []],
  ['LyingTuple(1, 2)', 'object', []],
  ['datetime(2024, 1, 1, tzinfo=OwnZone())', 'datetime', []],
  ['Claims()', 'object', []],
  ['nest(65)', 'list', Array(64).fill(0)],
  ['cycle()', 'dict', Array(64).fill('self')],
];

const PRELUDE = `
import sys, json, math
from harness_encoder import encode, NotJson, TooLarge
import harness_names
from collections import *
from dataclasses import dataclass, field
from datetime import *
from decimal import Decimal
from enum import *
from fractions import Fraction
from typing import ClassVar, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo
sys.set_int_max_str_digits(0)
harness_names.learn_modules()
# As in a job, where the function's own module comes after.
del harness_names._modules["__main__"]

class Color(Enum):
    RED = "r"
class Level(IntEnum):
    HIGH = 3
class Name(StrEnum):
    ONE = auto()
class Perm(IntFlag):
    R = 4
    W = 2
class Nested(Enum):
    PAIR = (1, date(2024, 1, 1))
Point = namedtuple("Point", "x y")
class Named(NamedTuple):
    n: int
    s: str
class Methodical(namedtuple("Base", "a b")):
    def total(self): return self.a + self.b
class LyingTuple(namedtuple("Base", "a b")):
    def __iter__(self): raise SystemExit("called")
@dataclass
class Plain:
    x: int
    y: list
@dataclass(slots=True, frozen=True)
class Slotted:
    x: int
    y: int = 7
@dataclass
class Child(Plain):
    z: str
@dataclass
class WithClassVar:
    x: int
    k: ClassVar[int] = 5
@dataclass
class DataDict(dict):
    a: int
    __hash__ = None
class Secretive:
    __dict__ = property(lambda self: sys.exit("called"))
    def __getattr__(self, name): sys.exit("called")
class DictChild(dict):
    def items(self): sys.exit("called")
    def __iter__(self): sys.exit("called")
class ListChild(list):
    def __iter__(self): sys.exit("called")
class StrChild(str):
    def __str__(self): sys.exit("called")
class IntChild(int):
    def __repr__(self): sys.exit("called")
class FloatChild(float):
    def __repr__(self): sys.exit("called")
class OwnZone(tzinfo):
    def utcoffset(self, when): sys.exit("called")
class Claims:
    __module__ = "fractions"
    __qualname__ = "Fraction"
Claims.__name__ = "card_4111"
def moved():
    d = OrderedDict(a=1, b=2)
    d.move_to_end("a")
    return d
def nest(n):
    value = []
    for _ in range(n - 1): value = [value]
    return value
def cycle():
    d = {}
    d["self"] = d
    return d
def outcome(text, most=1 << 20, depth=64, exact=False):
    try:
        return {"text": encode(eval(text), most, depth, exact).decode("utf-8")}
    except NotJson as refusal:
        return {"type": refusal.python_type, "path": refusal.path[::-1]}
    except TooLarge:
        return {"too_large": True}
`;

const run = (calls: string): Promise<unknown> => runPython(`${PRELUDE}\nprint(json.dumps(${calls}))`);
/** A JavaScript string as a Python literal of the same text. */
const literal = (text: string) => JSON.stringify(text);

describe('what a function returns', () => {
  test('is written as JSON by exact type', async () => {
    const got = await run(`[${WRITTEN.map(([expression]) => `outcome(${literal(expression)})`)}]`);
    expect(got).toEqual(WRITTEN.map(([, text]) => ({ text })));
  });

  test('is refused by path and type where JSON has no form for it, and no method of a user class is called', async () => {
    const got = await run(`[${REFUSED.map(([expression]) => `outcome(${literal(expression)})`)}]`);
    expect(got).toEqual(REFUSED.map(([, type, path]) => ({ type, path })));
  });

  test('has Decimals as exact strings where that is asked', async () => {
    const cases = ['Decimal("1.10")', '[Decimal("1E+400")]', '{"a": Decimal("-0")}', 'Decimal("NaN")', '1.5'];
    const got = await run(`[${cases.map((text) => `outcome(${literal(text)}, exact=True)`)}]`);
    expect(got).toEqual([
      { text: '"1.10"' },
      { text: '["1E+400"]' },
      { text: '{"a":"-0"}' },
      { type: 'Decimal', path: [] },
      { text: '1.5' },
    ]);
  });

  test('may be as long as the limit in bytes and no longer', async () => {
    const cases: readonly (readonly [string, number, boolean])[] = [
      ['"abc"', 5, true],
      ['"abc"', 4, false],
      ['"éé"', 6, true],
      ['"éé"', 5, false],
      ['[1,2]', 5, true],
      ['[1,2]', 4, false],
      ['{"a":None}', 10, true],
      ['{"a":None}', 9, false],
      ['"\\n" * 10', 22, true],
      ['"\\n" * 10', 21, false],
    ];
    const calls = cases.map(([text, most]) => `"text" in outcome(${literal(text)}, ${most})`);
    expect(await run(`[${calls}]`)).toEqual(cases.map(([, , fits]) => fits));
  });

  test('ends at the limit without being written out first', async () => {
    // Each would need gigabytes or minutes if it were written before it is measured.
    const cases = [
      '["x" * 10**6] * 10**6',
      '"\\x01" * (60 * 10**6)',
      '1 << 10**9',
      'shared(12)',
      '{(1 << 10**9): 1}',
    ];
    const wide = 'def shared(n):\n    x = 0\n    for _ in range(n): x = [x] * 10\n    return x\n';
    const calls = cases.map((text) => `outcome(${literal(text)})`);
    const got = await runPython(`${PRELUDE}\n${wide}\nprint(json.dumps([${calls}]))`);
    expect(got).toEqual(cases.map(() => ({ too_large: true })));
  });

  test('costs the same at every depth', async () => {
    // Memory that Python maps anew for its frames shows as faults: some 2,000 of them where each row does so.
    const python = `
import json
from resource import RUSAGE_SELF, getrusage
from harness_encoder import encode
faults = []
rows = [{"a": [1]} for _ in range(2000)]
for depth in range(61):
    value = rows
    for _ in range(depth): value = [value]
    before = getrusage(RUSAGE_SELF).ru_minflt
    encode(value, 1 << 20, 64, False)
    faults.append(getrusage(RUSAGE_SELF).ru_minflt - before)
print(json.dumps(max(faults)))
`;
    expect(await runPython(python)).toBeLessThan(1000);
  });

  test('reaches the frame as it was written', async () => {
    const answer = await runJob(
      'def compute(data):\n    return data\n',
      '[9007199254740993,1.10,"é\\u0000😀",-0]',
    );
    expect(answer.header).toMatchObject({ status: 'returned' });
    expect(answer.result).toBe('[9007199254740993,1.1,"é\\u0000😀",0]');
    const refused = await runJob('def compute(data):\n    return {"k" * 300: [0, {1}]}\n');
    expect(refused.header).toMatchObject({
      status: 'not_json',
      python_type: 'set',
      path: ['k'.repeat(200), 1],
    });
    expect(refused.result).toBe('');
    const large = await runJob('def compute(data):\n    return "x" * 5000\n', 'null', {
      result_max_bytes: 5001,
    });
    expect(large.header).toMatchObject({ status: 'too_large' });
    expect(large.result).toBe('');
  });
});
