"""Names of types and exceptions that may leave the sandbox: Python's own. A user's class name can carry data."""

import builtins
import sys

_HEAP_TYPE = 1 << 9
_IMMUTABLE_TYPE = 1 << 8

mro_of = type.__dict__["__mro__"].__get__
namespace_of = type.__dict__["__dict__"].__get__
_name_of = type.__dict__["__name__"].__get__
_flags_of = type.__dict__["__flags__"].__get__

_BUILTIN_EXCEPTIONS = frozenset(
    id(value)
    for value in vars(builtins).values()
    if isinstance(value, type) and issubclass(value, BaseException)
)
_modules = {}


def learn_modules():
    """Takes note of the modules there are. Called once, before the first byte of a function is read."""
    _modules.update(sys.modules)


def is_standard(cls):
    """Whether a class is Python's own: by its C flags, or by identity with what its module holds under its name.

    A class that only claims a standard module in `__module__` is not.
    """
    flags = _flags_of(cls)
    if not flags & _HEAP_TYPE or flags & _IMMUTABLE_TYPE:
        return True
    module_name = namespace_of(cls).get("__module__")
    module = _modules.get(module_name) if type(module_name) is str else None
    return module is not None and module.__dict__.get(_name_of(cls)) is cls


def type_name(cls):
    """The class's name if it is Python's own, else `object`."""
    return _name_of(cls) if is_standard(cls) else "object"


def exception_name(cls):
    """The nearest built-in class's name for Python's own exceptions, else `Exception`."""
    if is_standard(cls):
        for base in mro_of(cls):
            if id(base) in _BUILTIN_EXCEPTIONS:
                return _name_of(base)
    return "Exception"
