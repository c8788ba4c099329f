import { describe, expect, test } from 'vitest';
import { runJob } from './harness-container.ts';

const body = (...lines: string[]) => `def compute(data):\n${lines.map((line) => `    ${line}\n`).join('')}`;
/** Every class there is, as an escape would walk them. */
const CLASSES = '().__class__.__base__.__subclasses__()';

/** Every loaded module by its name, as an escape would come to them by way of a class. */
const MODULES_OF_A_CLASS = [
  `for cls in ${CLASSES}:`,
  '    try:',
  '        modules = cls.__init__.__globals__["sys"].modules',
  '    except (AttributeError, KeyError):',
  '        continue',
];
const loaded = (expression: string) => body(...MODULES_OF_A_CLASS, `return str(${expression})`);

/** Functions that admission refuses, run without it: what stops each in the sandbox. */
const WALLED: readonly (readonly [string, string, string])[] = [
  ['import os', body('import os', 'return os.getcwd()'), 'ImportError'],
  ['import sys', body('import sys', 'return list(sys.modules)'), 'ImportError'],
  ['import of a loaded internal module', body('import _strptime', 'return 1'), 'ImportError'],
  ['import of the harness', body('import harness_walls', 'return 1'), 'ImportError'],
  ['relative import of an admitted name', `from .math import sqrt\n${body('return 1')}`, 'ImportError'],
  ['relative import', `from . import os\n${body('return 1')}`, 'ImportError'],
  [
    'from an admitted module, a module it holds',
    `from statistics import sys\n${body('return 1')}`,
    'ImportError',
  ],
  ['from a package, its submodule', `from json import decoder\n${body('return 1')}`, 'ImportError'],
  [
    'an import as C code makes it',
    body('return __import__("os", {}, {}, ["__doc__"]).getcwd()'),
    'AttributeError',
  ],
  [
    'an import with a module name as globals',
    body('return __import__("os", {"__name__": "re"})'),
    'ImportError',
  ],
  ['a module in an admitted module', `import statistics\n${body('return statistics.sys')}`, 'AttributeError'],
  ['a name outside the table', `import json\n${body('return json.load')}`, 'AttributeError'],
  ['open', body('return open("/etc/ld.so.cache", "rb").read()'), 'NameError'],
  ['eval', body('return eval("1 + 1")'), 'NameError'],
  ['exec', body('exec("x = 1")', 'return 1'), 'NameError'],
  ['compile', body('return compile("1", "x", "eval")'), 'NameError'],
  ['input', body('return input()'), 'NameError'],
  ['breakpoint', body('breakpoint()', 'return 1'), 'NameError'],
  ['globals', body('return globals()'), 'NameError'],
  ['locals', body('return locals()'), 'NameError'],
  ['vars', body('return vars(data)'), 'NameError'],
  ['dir', body('return dir(data)'), 'NameError'],
  ['getattr', body('return getattr(data, "x")'), 'NameError'],
  ['setattr', body('setattr(data, "x", 1)'), 'NameError'],
  ['delattr', body('delattr(data, "x")'), 'NameError'],
  ['hasattr', body('return hasattr(data, "x")'), 'NameError'],
  ['object', body('return object.__subclasses__()'), 'NameError'],
  ['memoryview', body('return memoryview(b"x")'), 'NameError'],
  ['three-argument type', body('return type("X", (), {})'), 'TypeError'],
  ['type of a class', body('return type(int)("X", (), {})'), 'TypeError'],
  [
    'open among the builtins of a function',
    body('return compute.__globals__["__builtins__"]["open"]'),
    'KeyError',
  ],
  [
    'open in the builtins module',
    `from fractions import Fraction\n${body('b = Fraction.__add__.__globals__["__builtins__"]', 'return b["open"]')}`,
    'KeyError',
  ],
  [
    'exec in the builtins module',
    `from fractions import Fraction\n${body('b = Fraction.__add__.__globals__["__builtins__"]', 'return b["exec"]')}`,
    'KeyError',
  ],
  [
    'three-argument type in the builtins module',
    `from fractions import Fraction\n${body(
      'b = Fraction.__add__.__globals__["__builtins__"]',
      'return b["type"]("X", (), {})',
    )}`,
    'TypeError',
  ],
  [
    'system() by way of a class of os',
    body(
      `for c in ${CLASSES}:`,
      '    if c.__name__ == "_wrap_close": return c.__init__.__globals__["system"]("id")',
    ),
    'KeyError',
  ],
  [
    'posix by way of the importer',
    body(
      `for c in ${CLASSES}:`,
      '    if c.__name__ == "BuiltinImporter": return str(c.load_module("_socket"))',
    ),
    'AttributeError',
  ],
  [
    'a module not loaded, by the import that the standard library has',
    `from fractions import Fraction\n${body(
      'g = Fraction.__add__.__globals__',
      'return str(g["__builtins__"]["__import__"]("_socket", g))',
    )}`,
    'ModuleNotFoundError',
  ],
  ['a memo for deepcopy', `import copy\n${body('return copy.deepcopy([1], {})')}`, 'TypeError'],
  ['a memo by its name', `from copy import deepcopy\n${body('return deepcopy([1], memo={})')}`, 'TypeError'],
  ...['gc', 'harness_walls', 'harness_channel', 'harness_encoder', 'harness_names', 'harness_grants'].map(
    (name) => [`${name} among the loaded modules`, loaded(`modules["${name}"]`), 'KeyError'] as const,
  ),
  ['the harness as the main module', loaded('modules["__main__"]._exit'), 'AttributeError'],
  ['files by the name of their class', loaded('modules["_io"].FileIO'), 'AttributeError'],
  ['files by the name of their class in io', loaded('modules["io"].FileIO'), 'AttributeError'],
  [
    'source text as the name of a dataclass field',
    `from dataclasses import dataclass\n${body(
      'class X:',
      '    __annotations__ = {"x,self.out.append(1)": int}',
      '    out = []',
      'return dataclass(X, init=False, repr=False)() == 1',
    )}`,
    'TypeError',
  ],
  [
    'source text as the name of a field inherited',
    `from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 0\n${body(
      'P.__dataclass_fields__["x"].name = "x,self.out.append(1)"',
      '@dataclass(init=False, repr=False)',
      'class Q(P):',
      '    out = []',
      'return Q() == Q()',
    )}`,
    'TypeError',
  ],
];

test.each(WALLED)('a function that admission let through does not get %s', async (_name, code, exception) => {
  expect((await runJob(code)).header).toMatchObject({ status: 'raised', exception });
});

test('the loaded modules are found by way of a class, where nothing else stops it', async () => {
  expect((await runJob(loaded('sorted(modules)[0]'))).header).toMatchObject({ status: 'returned' });
});

test('text that the standard library executes does not get what is walled', async () => {
  // A class that says it is from nowhere: dataclasses then executes in an empty namespace with its own builtins.
  const code = `from dataclasses import dataclass, field\n${body(
    'def probe(): return 1',
    '@dataclass',
    'class X:',
    '    __module__ = "nowhere"',
    '    a: int = 1',
    'b = X.__init__.__builtins__',
    'return [name in b for name in ["open", "eval", "exec", "compile", "getattr", "object"]]',
  )}`;
  expect((await runJob(code)).result).toBe('[false,false,false,false,false,false]');
});

/** What honest functions use of the modules, all in one run: name, expression, the JSON it gives. */
const HONEST: readonly (readonly [string, unknown])[] = [
  ['Frozen(1) < Frozen(2), str(Frozen(1)), hash(Frozen(1)) == hash(Frozen(1))', [true, 'Frozen(x=1)', true]],
  ['caught(lambda: Frozen(1).__setattr__("x", 2))', 'FrozenInstanceError'],
  ['asdict(Kw(a=2)), astuple(Kw(a=2))', [{ a: 4, tags: [] }, [4, []]]],
  [
    'Row(1), Row(1)._asdict(), Row(1)._replace(a=3), str(Row(1))',
    [[1, 2], { a: 1, b: 2 }, [3, 2], 'Row(a=1, b=2)'],
  ],
  ['namedtuple("Q", "a b")(1, 2).b', 2],
  ['TD(a=1)', { a: 1 }],
  ['[c.name for c in Color], Color("r").name, Color["RED"].value, Perm(6)', [['RED'], 'RED', 'r', 6]],
  ['Version(1) <= Version(2), Version(1) >= Version(2)', [true, false]],
  ['square(3), square(3), square.cache_info().hits', [9, 9, 1]],
  ['statistics.quantiles([1, 2, 3, 4]), statistics.mode("aab")', [[1.25, 2.5, 3.75], 'a']],
  ['statistics.NormalDist(0, 1).cdf(0), statistics.kde_random([1], h=1, seed=3)() != 0', [0.5, true]],
  ['list(statistics.linear_regression([1, 2, 3], [2, 4, 6]))', [2, 0]],
  [
    'str(Decimal(1) / 3)[:6], str(Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP))',
    ['0.3333', '2.68'],
  ],
  ['str(Fraction("0.25") + 1), f"{Fraction(1, 3):.3f}"', ['5/4', '0.333']],
  ['datetime.strptime("Sat 03 Feb 2024", "%a %d %b %Y").strftime("%A %d %B %j")', 'Saturday 03 February 034'],
  ['datetime(2024, 7, 1, tzinfo=ZoneInfo("US/Eastern"))', '2024-07-01T00:00:00-04:00'],
  ['datetime(2024, 1, 1, tzinfo=UTC).astimezone(ZoneInfo("Asia/Calcutta"))', '2024-01-01T05:30:00+05:30'],
  ['caught(lambda: ZoneInfo("No/Where"))', 'ZoneInfoNotFoundError'],
  ['calendar.monthrange(2024, 2)[1], calendar.month_name[3], calendar.day_abbr[0]', [29, 'March', 'Mon']],
  ['len(str(7 ** 20000)), int("9" * 5000) % 97', [16902, 80]],
  ['re.sub(r"(?P<d>\\d)", r"<\\g<d>>", "a1"), re.split("[,;]", "a,b;c")', ['a<1>', ['a', 'b', 'c']]],
  [
    'json.loads("[1, 2.5]"), json.dumps({"b": 1, "a": None}, sort_keys=True)',
    [[1, 2.5], '{"a": null, "b": 1}'],
  ],
  ['caught(lambda: json.loads("{"))', 'JSONDecodeError'],
  ['random.Random(1).randint(1, 100), random.random() < 1, len(random.sample(range(9), 2))', [18, true, 2]],
  [
    '"é".encode("cp1252").hex(), "é".encode("utf-16-le").hex(), b"\\xe9".decode("latin-1")',
    ['e9', 'e900', 'é'],
  ],
  [
    'b"\\xef\\xbb\\xbfx".decode("utf-8-sig"), "é".encode("ascii", "xmlcharrefreplace").decode()',
    ['x', '&#233;'],
  ],
  ['caught(lambda: "x".encode("klingon"))', 'LookupError'],
  ['"\\N{SNOWMAN}", unicodedata.name("é")', ['☃', 'LATIN SMALL LETTER E WITH ACUTE']],
  ['base64.b64encode(b"hi").decode(), base64.b85decode(base64.b85encode(b"hi")).decode()', ['aGk=', 'hi']],
  [
    '[hashlib.new(n, b"x").hexdigest()[:4] for n in ["md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b"]]',
    ['9dd4', '11f6', '2d71', 'a4ab', '741e', '0909'],
  ],
  [
    'hashlib.shake_128(b"x").hexdigest(4), hashlib.blake2b(b"x", digest_size=4).hexdigest()',
    ['e472c5e3', 'b1ba07e5'],
  ],
  ['str(uuid.uuid5(uuid.NAMESPACE_DNS, "x"))', '05b16a01-46c6-56dd-bd6e-c6dfb4a1427a'],
  [
    'copy.deepcopy({"a": [Row(1), Color.RED, Counter("aa"), date(2024, 1, 1)]})',
    { a: [[1, 2], 'r', { a: 2 }, '2024-01-01'] },
  ],
  ['copy.deepcopy(Version([4])).v, copy.copy(deque([1]))[0]', [[4], 1]],
  ['Counter("abca").most_common(1), dict(ChainMap({"a": 1}, {"b": 2}))', [[['a', 2]], { b: 2, a: 1 }]],
  ['itemgetter(1)([1, 2]), reduce(operator.mul, [1, 2, 3]), partial(max, 3)(2)', [2, 6, 3]],
  [
    'list(itertools.batched([1, 2, 3], 2)), heapq.nsmallest(2, [3, 1, 2])',
    [
      [[1, 2], [3]],
      [1, 2],
    ],
  ],
  [
    'textwrap.shorten("hello world foo", 12), string.capwords("ab cd"), "{:>3}".format("a")',
    ['hello [...]', 'Ab Cd', '  a'],
  ],
  ['str(Optional[int]), cast(int, "x"), isinstance([], Sequence)', ['typing.Optional[int]', 'x', true]],
  ['math.comb(5, 2), cmath.sqrt(-1).imag', [10, 1]],
  ['[type(x).__name__ for x in [1, "a", None, 2.5, Row(1)]]', ['int', 'str', 'NoneType', 'float', 'Row']],
  ['deep()', 'RecursionError'],
  ['__name__', 'compute_step'],
];

const PRELUDE = `
from __future__ import annotations
import base64, calendar, cmath, collections.abc, copy, hashlib, heapq, itertools, json, math, operator, random, re
import statistics, string, textwrap, unicodedata, uuid
from collections import ChainMap, Counter, deque, namedtuple
from collections.abc import Sequence
from dataclasses import InitVar, asdict, astuple, dataclass, field
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal
from enum import Enum, IntFlag, unique
from fractions import Fraction
from functools import lru_cache, partial, reduce, total_ordering
from operator import itemgetter
from typing import Generic, NamedTuple, Optional, Protocol, TypedDict, TypeVar, cast
from zoneinfo import ZoneInfo

T = TypeVar("T")
class Stack(Generic[T]):
    pass
class HasSize(Protocol):
    def size(self) -> int: ...
@dataclass(frozen=True, order=True, slots=True)
class Frozen:
    x: int
@dataclass(kw_only=True)
class Kw:
    a: int = 1
    more: InitVar[int] = 2
    tags: list = field(default_factory=list)
    def __post_init__(self, more):
        self.a += more
class Row(NamedTuple):
    a: int
    b: int = 2
class TD(TypedDict, total=False):
    a: int
@unique
class Color(Enum):
    RED = "r"
class Perm(IntFlag):
    R = 4
    W = 2
@total_ordering
class Version:
    def __init__(self, v): self.v = v
    def __eq__(self, other): return self.v == other.v
    def __lt__(self, other): return self.v < other.v
@lru_cache(maxsize=None)
def square(n): return n * n
def caught(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__
def deep():
    value = []
    for _ in range(100000): value = [value]
    return caught(lambda: copy.deepcopy(value))
`;

describe('an honest function', () => {
  test('gets all it needs of the standard library behind the walls', async () => {
    const lines = HONEST.map(([expression]) => `    out.append(caught(lambda: (${expression})))\n`);
    const answer = await runJob(
      `${PRELUDE}\ndef compute(data):\n    out = []\n${lines.join('')}    return out\n`,
    );
    expect(answer.header).toMatchObject({ status: 'returned' });
    expect(JSON.parse(answer.result)).toEqual(HONEST.map(([, value]) => value));
  });
});
