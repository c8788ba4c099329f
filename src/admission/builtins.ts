const words = (text: string): string[] => text.trim().split(/\s+/);

/** Exceptions that a function may name: `Exception` and what derives from it. */
const EXCEPTIONS = words(`
  Exception ArithmeticError AssertionError AttributeError BlockingIOError BrokenPipeError BufferError
  BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
  ConnectionResetError DeprecationWarning EOFError EncodingWarning EnvironmentError ExceptionGroup
  FileExistsError FileNotFoundError FloatingPointError FutureWarning IOError ImportError ImportWarning
  IndentationError IndexError InterruptedError IsADirectoryError KeyError LookupError MemoryError
  ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError OverflowError
  PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError RecursionError
  ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError
  SyntaxWarning SystemError TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError
  UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning
  ZeroDivisionError
`);

/** Builtins that are classes a class of the source may derive from. */
const BASE_TYPES = words('bool bytearray bytes complex dict float frozenset int list set str tuple property');

/** Builtins that a function may load as it likes, or under a rule of their own: `print`, `super`, `type`. */
export const ADMITTED_BUILTINS: ReadonlySet<string> = new Set([
  ...BASE_TYPES,
  ...EXCEPTIONS,
  ...words(`
    abs all any ascii bin callable chr classmethod divmod enumerate filter format hash hex isinstance
    issubclass iter len map max min next oct ord pow print range repr reversed round slice sorted staticmethod
    sum super type zip NotImplemented __name__
  `),
]);

/** Builtins that may stand as a base of a class. `bool`, `slice` and `range` cannot be derived from anyway. */
export const BUILTIN_BASES: ReadonlySet<string> = new Set([...BASE_TYPES, ...EXCEPTIONS]);

/** Builtins that are classes: `type` of one of them is `type` itself. */
export const BUILTIN_CLASSES: ReadonlySet<string> = new Set([
  ...BUILTIN_BASES,
  ...words('classmethod enumerate filter map range reversed slice staticmethod super type zip'),
]);

/**
 * CPython's other builtins. They may be neither loaded nor bound: a module-level name that is bound only on
 * some path falls through to the builtin of that name.
 */
export const REFUSED_BUILTINS: ReadonlySet<string> = new Set(
  words(`
    open eval exec compile globals locals vars dir getattr setattr delattr hasattr input breakpoint help exit
    quit license copyright credits memoryview object aiter anext Ellipsis BaseException BaseExceptionGroup
    GeneratorExit KeyboardInterrupt SystemExit WindowsError
  `),
);

/** What to write instead of a refused builtin. */
export const BUILTIN_HINTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    open: 'Remove it: a function has no files; everything it needs is in data.',
    eval: 'Parse with json.loads, int, float or a comparison instead of evaluating text.',
    exec: 'Write the statements out; a function cannot run text as code.',
    compile: 'Use re.compile for a pattern; a function cannot compile code.',
    getattr:
      'Use data["key"] or data.get("key"); JSON objects are dictionaries. Write attributes out by name.',
    hasattr: 'Use "key" in data; JSON objects are dictionaries.',
    setattr: 'Assign to self.name, or to a key of a dictionary.',
    delattr: 'Use del on a key of a dictionary.',
    vars: 'Use a dictionary, or dataclasses.asdict for a dataclass.',
    dir: 'Use the keys of a dictionary.',
    exit: 'Use return.',
    quit: 'Use return.',
    SystemExit: 'Use return, or raise ValueError.',
    globals: 'Name the variable, or keep values in a dictionary.',
    locals: 'Name the variable, or keep values in a dictionary.',
    __import__: 'Write an import statement for an admitted module.',
    input: 'Remove it: everything a function needs is in data.',
    object: 'Leave the base class out, or use a sentinel such as a one-element list.',
    id: 'Compare with "is", or keep a key of your own.',
    memoryview: 'Use bytes or bytearray.',
    Ellipsis: 'Write ... instead.',
    BaseException: 'Use Exception.',
  }),
);
