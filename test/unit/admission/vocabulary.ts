const words = (text: string): string[] => text.trim().split(/\s+/);

const END = '\ndef compute(data):\n    return 1\n';

/** Written out from the policy, not taken from the lists in the code: each must be admitted as it is used here. */
export const ADMITTED: readonly string[] = [
  ...words(`
    abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float
    format frozenset hash hex int isinstance issubclass iter len list map max min next oct ord pow property range
    repr reversed round set slice sorted staticmethod str sum tuple zip NotImplemented __name__
    Exception ArithmeticError AssertionError AttributeError BlockingIOError BrokenPipeError BufferError BytesWarning
    ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError
    DeprecationWarning EOFError EncodingWarning EnvironmentError ExceptionGroup FileExistsError FileNotFoundError
    FloatingPointError FutureWarning IOError ImportError ImportWarning IndentationError IndexError InterruptedError
    IsADirectoryError KeyError LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError
    NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError
    PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning
    StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError TabError TimeoutError TypeError
    UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning
    UserWarning ValueError Warning ZeroDivisionError
  `).map((name) => `x = ${name}`),
  ...words(
    'bool bytearray bytes complex dict float frozenset int list set str tuple property Exception KeyError',
  ).map((name) => `class A(${name}):\n    pass`),
  ...words(`
    init post_init repr str eq ne lt le gt ge hash bool len iter next contains getitem setitem int float call enter
    exit neg pos abs invert round add sub mul truediv floordiv mod divmod pow lshift rshift and xor or radd rsub rmul
    rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand rxor ror iadd isub imul itruediv ifloordiv imod ipow
    ilshift irshift iand ixor ior
  `).map((name) => `class A:\n    def __${name}__(self, *a):\n        return 1`),
  ...words('+ - * / // % ** << >> & | ^ < > <= >= == != and or in is').map((sign) => `x = 1 ${sign} 2`),
  'x = 1 not in [2]',
  'x = 1 is not 2',
  ...words('+= -= *= /= //= %= **= <<= >>= &= |= ^=').map((sign) => `x = 1\nx ${sign} 2`),
  ...words('+ - ~ not').map((sign) => `x = ${sign} 1`),
  "x = 'a' if 1 else {**{}}",
  'match 1:\n    case 1+2j | -1-2j:\n        pass',
  'from enum import Enum\nclass A(Enum):\n    X = 1\ny = A',
  'from enum import Enum\nclass A(Enum):\n    X = 1, 2\ny = A',
  'from enum import Enum\nclass A(Enum):\n    X = 1.5\ny = A',
  "from enum import Enum\nclass A(Enum):\n    X = 'a' 'b'\ny = A",
  'from enum import Enum\nclass A(Enum):\n    X = True\ny = A',
  'from enum import Enum\nclass A(Enum):\n    X = 1 << 2\ny = A',
  "from enum import Enum\nX = Enum('X', {'A': 1, 'B': 2})",
  "from enum import Enum\nX = Enum('X', ('A', 'B'))",
  "x = r'\\x7b {}'.format(1)",
  "x = '\\\\x7b {}'.format(1)",
  'class A:\n    pass\na = None\na = A()\na.x = 1',
  'class A:\n    pass\na = A() if 1 else None\na.x = 1',
  'x = 1\nif x:\n    y = type(x) is int or type(x) == dict',
  'class A:\n    pass\nx = type(1) == A',
  'def f(x):\n    return {int: 1}[type(x)], {int: 1}.get(type(x))',
  'if 1:\n\tx = 1\n\ty = 2\nelse:\n\tx = 2',
  'class A:\n\n    @property\n    # why\n    def x(self):\n        return 1\n\n    @x.setter\n    def x(self, v):\n        pass',
  'def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n    return g',
  'import math\nimport math\nx = math.pi',
  'from typing import Dict, Type\ndef f(x: Type[int]) -> Dict[str, int] | None:\n    pass',
  'from dataclasses import dataclass, field\n@dataclass\nclass A:\n    x: "list[int]" = field(default_factory=list)',
  'from typing import NamedTuple\nclass A(NamedTuple):\n    x: int\nclass B:\n    def register(self):\n        return self.register()',
  'from enum import Enum\nclass A(Enum):\n    X = False\ny = A',
  'from enum import Enum\nclass A(Enum):\n    X = {1: 2}\ny = A',
  'x = [*range(3), *[1]]\ny = *x, 1\nz = {*x}\nprint(*x)',
  'def f(v):\n    [type := x for x in v]\n    return type',
  'class A:\n    def f(self):\n        self._x = 1\n        return (self)._x',
  'y = (*[1], 2)',
  'class A:\n    def __add__(self, o):\n        return 1\n    __radd__ = __add__',
  'import math\nx = math.pi\nclass A:\n    import_ = 1',
  'from functools import lru_cache\nN = 8\n@lru_cache(N, typed=True)\ndef f():\n    pass',
  'from dataclasses import dataclass\n@dataclass(frozen=True, order=False)\nclass A:\n    x: int = 1',
  'from copy import copy, deepcopy\nx = [copy(y) for y in map(deepcopy, [1])]\nz = deepcopy(y for y in x)',
  'import dataclasses\nfrom dataclasses import field\nfrom typing import Dict, List\nclass T:\n    pass\nV = List[int]\nW = (V | None)\n' +
    ['int', 'V', 'W', 'T', 'None', "'T'", 'List[T]', 'dict[str, V]', 'T | None', 'dataclasses.InitVar[int]']
      .map((type, i) => `@dataclasses.dataclass\nclass A${i}:\n    x: ${type} = field()`)
      .join('\n'),
  'from dataclasses import dataclass, field\n@dataclass\nclass A(Exception):\n    x: X[1] = field()\nX = {}',
  ...[
    'x in cls._value2member_map_',
    'cls._value2member_map_[x]',
    'cls._value2member_map_.get(x)',
    '[y for y in cls._member_names_]',
    'list(cls._member_names_)',
    'cls._member_map_.items()',
    '(cls._member_map_).keys()',
    'cls._member_map_.values()',
    'len(cls._member_map_)',
  ].map(
    (use) =>
      `from enum import Enum\nclass A(Enum):\n    X = 1\n    @classmethod\n    def f(cls, x):\n        return ${use}`,
  ),
  'from enum import Enum\nclass A(Enum):\n    _order_ = "X"\n    X = 1\n    def f(self):\n        return self._value_, self._name_\n    def _generate_next_value_(name, start, count, last):\n        return name',
  'def f(x):\n    kinds = {int, str}\n    d = {int: 1}\n    return type(x) in kinds, d[type(x)], d.get(type(x)), int in d',
  'def f(x):\n    kinds = [int]\n    return type(x) in (kinds)',
  'from typing import Dict, Type\nx: Dict[str, Type[int]] = {}\ny: Type | None = None',
  'from enum import Enum\nclass H:\n    class E(Enum):\n        X = 1\n    class F:\n        pass\nx = H.E(1)',
  'from enum import Enum\nclass A(Enum):\n    X = int(1)\ny = A',
  'x = type(len([])).__name__',
  'def f(x, y):\n    return type(x) is y or type(x) is not y',
].map((code) => code + END);

/** Each must be refused by a rule of this id. */
export const REFUSED: readonly (readonly [id: string, code: string])[] = [
  ...words(`
    open eval exec compile __import__ globals locals vars dir getattr setattr delattr hasattr input breakpoint help
    exit quit license copyright credits memoryview object aiter anext Ellipsis BaseException BaseExceptionGroup
    GeneratorExit KeyboardInterrupt SystemExit __debug__ __build_class__ id unknown
  `).map((name) => ['name', `x = ${name}`] as const),
  ...words(`
    open eval exec compile globals locals vars dir getattr setattr delattr hasattr input breakpoint help exit quit
    license copyright credits memoryview object aiter anext Ellipsis BaseException BaseExceptionGroup GeneratorExit
    KeyboardInterrupt SystemExit WindowsError super __import__
  `).map((name) => ['name', `def f(${name}):\n    pass`] as const),
  ...words(`
    gi_code gi_frame gi_running gi_suspended gi_yieldfrom cr_await cr_code cr_frame cr_origin cr_running cr_suspended
    ag_await ag_code ag_frame ag_running ag_suspended tb_frame tb_lasti tb_lineno tb_next f_back f_builtins f_code
    f_generator f_globals f_locals f_trace mro obj with_traceback from_file
  `).map((name) => ['attribute', `x = 1\ny = x.${name}`] as const),
  ...words(
    '_evaluate _convert_ _create_ _add_alias_ _member_type_ _getitem _inst _make_substitution _unpickle',
  ).map((name) => ['attribute', `class A:\n    def ${name}(self):\n        return self.${name}()`] as const),
  ...words('format_map vformat get_field').map((name) => ['string', `x = ''\ny = x.${name}`] as const),
  ...words('global await').map((word) => ['syntax', `def f():\n    ${word} x`] as const),
  ['syntax', 'x = (1 as y)'],
  ['syntax', 'class A:\n    @property\n  # why\n     def x(self):\n        return 1'],
  ['syntax', '@property\n @staticmethod\ndef f():\n    pass'],
  ['structure', "from enum import Enum\nX = Enum('X', {'__reduce__': 1})"],
  ['structure', "from enum import Enum\nX = Enum('X', {**{}})"],
  ['structure', "from enum import Enum\nX = Enum('X', ['_a'])"],
  ['structure', "from enum import Enum\nX = Enum('X', 'a _b')"],
  ['attribute', 'class A:\n    __slots__: int'],
  ['name', 'from typing import Type\nx: len(Type) = 1'],
  ['structure', 'from enum import Enum\nx: len(Enum) = 1'],
  ['structure', 'from enum import Enum\nx = isinstance(Enum, int)'],
  ['structure', 'class B:\n    pass\nB = len\nclass A(B):\n    pass'],
  ['structure', 'B = len\ndef f():\n    class A(B):\n        pass'],
  ['attribute', 'from typing import Protocol\nclass A(Protocol):\n    pass\nA.register(int)'],
  [
    'syntax',
    'class A:\n    @property\n    def x(self):\n        return 1\n    @x.getter\n    def x(self):\n        return 2',
  ],
  ['syntax', 'class A:\n    x = len\n    @x.setter\n    def x(self):\n        return 2'],
  ['name', 'class A:\n    for open in []:\n        pass'],
  ['name', 'def f(t):\n    d = {}\n    d = t\n    return d[type(t)]'],
  ['name', 'def f(t):\n    k = type(t)\n    return k.__name__, k'],
  ['name', 'def f(t, u):\n    k = [u]\n    k = {int}\n    return type(t) in k'],
  ['syntax', 'x = [y for y in 1, 2]'],
  ['name', 'class A(dict):\n    def f(self):\n        return [super().__init__]'],
  ['name', 'x = type(1).mro'],
  ['name', 'def f(t):\n    return [type(t)] == 1'],
  ['name', 'import math as m\nimport re\ndef f(t):\n    return type(t) == m.pi == f'],
  ['name', 'x = [open for y in []]'],
  ['name', 'x = [y for y in [] if open]'],
  ['name', 'x = {y: open for y in []}'],
  ['name', 'def f(x):\n    k = type(x)\n    k += 1'],
  ['name', 'def f(x):\n    d = {int: 1}\n    d[type(x)], y = 1, 2'],
  ['name', 'def f(x):\n    d = {int: 1}\n    d[type(x)] = 1'],
  ['name', 'def f(x):\n    d = {int: 1}\n    d.update(x)\n    return d[type(x)]'],
  ['name', 'def f(x):\n    d = {int: 1}\n    d[x] = 1\n    return d[type(x)]'],
  ['name', 'def f(x):\n    d = {int: 1, **x}\n    return d[type(x)]'],
  ['name', 'def f(x):\n    d = {x: 1}\n    return d.get(type(x))'],
  ['name', 'def f(x):\n    kinds = {int}\n    kinds.add(x)\n    return type(x) in kinds'],
  ['name', 'def f(x):\n    kinds = [int]\n    x(kinds)\n    return type(x) in kinds'],
  ['name', 'class A:\n    kind = type(1)'],
  ['name', 'import decimal\nx = type(decimal.Decimal).__name__'],
  ['name', 'class A:\n    pass\nx = type(A).__name__'],
  ['name', 'a = b\nb = a\ndef f(x):\n    return type(x) == a'],
  ['name', 'class A:\n    x = 1\n    __radd__ = x'],
  ['name', 'class A:\n    __add__ = len'],
  ['name', 'class A:\n    def __add__(self, o):\n        return 1\n    __format__ = __add__'],
  ['name', 'class A:\n    def __format__(self, o):\n        return 1\n    __radd__ = __format__'],
  ['name', 'class A:\n    def __add__(self, o):\n        return 1\n    __radd__: int = __add__'],
  ['name', 'class A:\n    def __add__(self, o):\n        return 1\n    __radd__ = __rsub__ = __add__'],
  ['name', 'class A:\n    def __add__(self, o):\n        return 1\nx = __add__'],
  ['string', "x = '\\N{DIGIT ONE}'.format(1)"],
  ['string', "x = '{0[a]}'.format(1)"],
  ['string', "x = '\\U00110000'.format(1)"],
  ['structure', 'B = len\nclass A:\n    class B:\n        pass\n    class C(B):\n        pass'],
  ['syntax', 'import math\nx = math.\npi[1]'],
  ['syntax', 'from functools import lru_cache\n@lru_cache(len)\ndef f():\n    pass'],
  ['syntax', 'from functools import lru_cache\n@lru_cache(maxsize=len)\ndef f():\n    pass'],
  ['syntax', 'from functools import lru_cache\nN = len\n@lru_cache(N)\ndef f():\n    pass'],
  ['syntax', 'from functools import lru_cache\nN = 1\nN = len\n@lru_cache(N)\ndef f():\n    pass'],
  ['syntax', 'from functools import lru_cache\n@lru_cache(*[len])\ndef f():\n    pass'],
  ['syntax', 'from dataclasses import dataclass\n@dataclass(dict)\nclass A:\n    pass'],
  ['attribute', 'from copy import deepcopy\nx = deepcopy(1, {})'],
  ['attribute', 'from copy import deepcopy\nx = deepcopy(*[1, {}])'],
  ['attribute', 'from copy import deepcopy\nx = deepcopy(x=1)'],
  ['attribute', 'from copy import deepcopy\nx = deepcopy()'],
  ['attribute', 'from copy import deepcopy\nx = [deepcopy]'],
  ['attribute', 'from copy import deepcopy\nx = filter(deepcopy, [1])'],
  ['attribute', 'from copy import deepcopy\nx = map(deepcopy, [1], [2])'],
  ['attribute', 'from copy import deepcopy\nx = map(deepcopy, *[[1], [2]])'],
  ['attribute', 'from copy import deepcopy\nx = map(len, deepcopy)'],
  ['attribute', 'from copy import deepcopy\ndef map(f, x):\n    return f(x, {})\nx = map(deepcopy, [1])'],
  ...[
    'cls._member_map_',
    'cls._member_map_.clear()',
    'cls._member_map_.popitem',
    'cls._member_map_.get',
    'f(cls._member_map_)',
    'sorted(key=cls._member_map_)',
    '[cls._member_names_]',
    'cls._member_map_[x].pop(cls._member_map_)',
    'cls._unhashable_values_',
    'cls._member_type_(x)',
    'cls._sort_order_',
  ].map((use) => ['attribute', `class A:\n    def g(cls, x, f=len):\n        return ${use}`] as const),
  ...[
    'cls._member_map_ = {}',
    'cls._member_map_[x] = 1',
    'del cls._member_map_[x]',
    'x[cls._member_map_] = 1',
  ].map((use) => ['attribute', `class A:\n    def g(cls, x):\n        ${use}`] as const),
  ...words('_add_alias_ _member_map_ _missing_ _is_protocol').map(
    (name) => ['attribute', `class A:\n    ${name}: int`] as const,
  ),
  [
    'name',
    'from typing import Type\nclass G:\n    def __getitem__(self, k):\n        return k\ng = G()\nx: g[Type] = 1',
  ],
  [
    'name',
    'from typing import Type\nclass G:\n    def __or__(self, k):\n        return k\ng = G()\nx: g | Type = 1',
  ],
  ['name', 'from typing import Type\nx: 1 + Type = 1'],
  ...[
    'g',
    'g[1]',
    'g.a',
    'S',
    'T',
    'U',
    '"KW_ONLY"',
    '"K"',
    'K | None',
    'int + int',
    'int if g else str',
    'V',
  ].map(
    (type) =>
      [
        'structure',
        `from dataclasses import KW_ONLY as K, dataclass, field\ng = {}\nS = 'K'\nT = S\nU = ('K')\nV = int\nV = g\n@dataclass\nclass A:\n    x: ${type} = field()`,
      ] as const,
  ),
  [
    'structure',
    'import dataclasses\ng = {}\n@dataclasses.dataclass\nclass A:\n    x: g[1] = dataclasses.field()',
  ],
  ...['enum.Enum', 'NamedTuple', 'TypedDict', 'B'].map(
    (base) =>
      [
        'structure',
        `import enum\nfrom typing import NamedTuple, TypedDict\nfrom dataclasses import dataclass, field\nclass B(enum.Flag):\n    pass\n@dataclass\nclass A(${base}):\n    x: int = field()`,
      ] as const,
  ),
  [
    'structure',
    'from dataclasses import dataclass, field\n@dataclass\nclass A:\n    x: int = field()\n    x: str',
  ],
  ['structure', 'from enum import Enum\nclass H:\n    class E(Enum):\n        pass'],
  ['structure', 'from enum import Enum\nclass A(Enum):\n    X = 1 | len\nx = A'],
  ['structure', "from enum import Enum\nX = Enum('X', ['A'], len)"],
  ['structure', "from enum import Enum\nX = Enum(len, ['A'])"],
  ['structure', 'for B in [dict]:\n    class A(B):\n        pass'],
  ['name', 'x = type(type(1)).__name__'],
  ['name', 'def f(x):\n    return x.kinds[type(x)]'],
  ['syntax', 'x = 1\nmatch 1:\n    case {x: 1}:\n        pass'],
  ['syntax', 'match 1:\n    case [x=1]:\n        pass'],
  ['syntax', "x = 'a\nb'"],
  ['string', "x = '}'.format(1)"],
  ['string', "x = '{!z}'.format(1)"],
];

/** A refused snippet as a whole source. */
export const asSource = (code: string): string => code + END;
