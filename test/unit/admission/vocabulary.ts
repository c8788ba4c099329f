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
];

/** A refused snippet as a whole source. */
export const asSource = (code: string): string => code + END;
