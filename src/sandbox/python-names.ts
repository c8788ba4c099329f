/** The built-in exceptions of Python 3.13. A name outside is the function's own and may carry data. */
const EXCEPTIONS: ReadonlySet<string> = new Set(
  `ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError
  BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError
  ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError EncodingWarning Exception
  ExceptionGroup FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit ImportError
  ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt
  LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError
  OverflowError PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError
  RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration
  SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError TypeError UnboundLocalError
  UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning
  ValueError Warning ZeroDivisionError`.split(/\s+/),
);

/** Types a value of an admitted function can have that are not the function's own. */
const TYPES: ReadonlySet<string> = new Set(
  `ABCMeta ChainMap Context Counter Decimal EnumType Enum Flag Fraction IntEnum IntFlag Match NoneType
  NotImplementedType OrderedDict Pattern Random StrEnum UUID ZoneInfo accumulate async_generator bool
  builtin_function_or_method bytearray bytes callable_iterator chain classmethod combinations complex count
  coroutine cycle date datetime defaultdict deque dict dict_items dict_itemiterator dict_keyiterator dict_keys
  dict_valueiterator dict_values dropwhile ellipsis enumerate filter filterfalse float frozenset function
  generator getset_descriptor groupby int islice itemgetter list list_iterator list_reverseiterator map
  mappingproxy memoryview method method-wrapper module object odict_items odict_keys odict_values pairwise
  partial permutations product property range range_iterator repeat reversed set set_iterator slice starmap
  staticmethod str str_ascii_iterator str_iterator takewhile time timedelta timezone tuple tuple_iterator type
  tzinfo zip zip_longest`.split(/\s+/),
);

/** The name if it is a built-in exception's, else `Exception`. */
export function exceptionName(name: unknown): string {
  return typeof name === 'string' && EXCEPTIONS.has(name) ? name : 'Exception';
}

/** The name if it is a built-in or standard-library type's, else `object`. */
export function typeName(name: unknown): string {
  return typeof name === 'string' && TYPES.has(name) ? name : 'object';
}
