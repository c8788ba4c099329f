"""The second wall around a function: what it could reach if admission had let it through.

The container is the boundary. This wall makes `import os`, `open` or `eval` fail inside it all the same. It stands
in the `builtins` module itself, because the standard library executes source text that it generates (dataclasses)
and such text sees that module; the modules that honestly need a walled name get it in their own namespace.
"""

import _imp
import builtins
import importlib
import os
import posix
import sys
from types import FunctionType, ModuleType

# Absent from the builtins module once the wall stands.
WALLED = frozenset(
    "open eval exec compile input breakpoint globals locals vars dir getattr setattr delattr hasattr "
    "memoryview object".split()
)
# Replaced there by narrower ones.
NARROWED = frozenset(("type", "__import__"))
GRANTABLE = WALLED | NARROWED

# What honest functions make the standard library import later: strptime, long integers as text.
LATE_MODULES = ("_strptime", "_pylong")
# Codecs besides those that str.encode knows by itself; a codec not here is an unknown encoding (LookupError).
CODECS = (
    "ascii latin-1 utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be utf-7 cp437 cp850 cp1250 "
    "cp1251 cp1252 iso8859-2 iso8859-15 mac-roman koi8-r unicode-escape raw-unicode-escape"
).split()
# Generated code needs these of the namespace it runs in (`__hash__` and the frozen `__setattr__` of dataclasses).
_GENERATED_CODE = ("hash", "super")
# Functions of the operating system that the standard library's honest paths use: files of time zones, seeds.
_POSIX_KEPT = frozenset("stat lstat fspath urandom getcwd fsencode fsdecode".split())


def load_modules(table):
    """Imports what the table names; answers the modules by name and what is missing, `m` or `m.name`."""
    loaded = {}
    missing = []
    for name, members in table.items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            missing.append(name)
            continue
        loaded[name] = module
        missing.extend(f"{name}.{member}" for member in members if not hasattr(module, member))
    for name in LATE_MODULES:
        importlib.import_module(name)
    for codec in CODECS:
        "".encode(codec)
    # Named characters in string literals: the compiler looks the table up once.
    compile(r'"\N{DIGIT ONE}"', "<warm>", "eval")
    return loaded, missing


def build_walls(table, loaded, builtin_names):
    """Raises the walls; answers the `__builtins__` for the function. Nothing can be imported from disk after it."""
    facades = _facades(table, loaded)
    _narrow_deepcopy(facades)
    real_import = builtins.__import__
    _grant()
    _patch_dataclasses()
    _patch_zoneinfo()
    guarded_import = _guarded_import(facades, real_import)
    one_argument_type = _one_argument_type()
    offered = {
        name: getattr(builtins, name)
        for name in (*builtin_names, *_GENERATED_CODE)
        if type(name) is str and name not in WALLED and hasattr(builtins, name)
    }
    offered["__build_class__"] = builtins.__build_class__
    offered["__name__"] = "builtins"
    offered["type"] = builtins.type = one_argument_type
    offered["__import__"] = builtins.__import__ = guarded_import
    _close_importing()
    _forget_modules()
    for name in (*WALLED, "__loader__", "__spec__"):
        builtins.__dict__.pop(name, None)
    return offered


def _facades(table, loaded):
    """Modules with the table's names only: `statistics.sys` is not there. They have no `__name__` either, for
    `from json import decoder` would look under it for a loaded submodule.
    """
    facades = {"__future__": _facade(importlib.import_module("__future__"), ["annotations"])}
    for name, module in loaded.items():
        facades[name] = _facade(module, table[name])
    for name in list(facades):
        parent, _, child = name.rpartition(".")
        if parent:
            facades.setdefault(parent, _facade(ModuleType(parent), [])).__dict__[child] = facades[name]
    return facades


def _facade(module, members):
    facade = ModuleType("")
    facade.__dict__.clear()
    for member in members:
        if hasattr(module, member):
            facade.__dict__[member] = getattr(module, member)
    return facade


def _narrow_deepcopy(facades):
    """deepcopy of one value. Its memo would be asked for the copies, and could answer with any class and state."""
    names = facades["copy"].__dict__ if "copy" in facades else {}
    real_deepcopy = names.get("deepcopy")
    if real_deepcopy is None:
        return

    def deepcopy(value, /):
        return real_deepcopy(value)

    names["deepcopy"] = _bare(deepcopy)


def _guarded_import(facades, real_import):
    """`__import__` for everybody: the table's facades for a function, loaded modules for the standard library."""
    modules = sys.modules
    trusted = frozenset(id(module.__dict__) for module in list(modules.values()))
    nothing = ModuleType("")
    nothing.__dict__.clear()
    identity, kind, list_type, missing = id, type, list, ImportError

    def __import__(name, globals=None, locals=None, fromlist=(), level=0):
        if globals is not None and identity(globals) in trusted:
            return real_import(name, globals, locals, fromlist, level)
        # C code imports with a list, runs in its caller's namespace and takes the module from the interpreter.
        if kind(fromlist) is list_type and name in modules:
            return nothing
        if level == 0 and name in facades:
            return facades[name] if fromlist else facades[name.partition(".")[0]]
        raise missing("this module is not available to a compute function")

    return _bare(__import__)


def _one_argument_type():
    """`type(x)`, which never hands out a metaclass: with one, three arguments would make a class out of strings."""
    real_type, refusal, is_class = type, TypeError, isinstance

    def type_(value, /):
        if is_class(value, real_type):
            raise refusal("type() of a class is not available to a compute function")
        return real_type(value)

    bare = _bare(type_)
    bare.__name__ = bare.__qualname__ = "type"
    return bare


def _bare(function):
    """The function without this module as its globals."""
    return FunctionType(
        function.__code__,
        {"__builtins__": {}},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )


def _grant():
    """Gives each module the walled names that its own functions use; the image's build wrote down which."""
    from harness_grants import GRANTS

    for module_name, names in GRANTS.items():
        module = sys.modules.get(module_name)
        if module is not None:
            for name in names:
                module.__dict__.setdefault(name, getattr(builtins, name))


def _patch_dataclasses():
    """dataclass() pastes field names into source that it executes: only plain identifiers get there."""
    dataclasses = sys.modules.get("dataclasses")
    if dataclasses is None:
        return
    process_class = dataclasses._process_class

    def _process_class(cls, *rest, **options):
        names = list(cls.__dict__.get("__annotations__", ()))
        for base in cls.__mro__:
            for name, field in base.__dict__.get("__dataclass_fields__", {}).items():
                names += (name, field.name)
        for name in names:
            if type(name) is not str or not name.isidentifier():
                raise TypeError("dataclass field names must be identifiers")
        return process_class(cls, *rest, **options)

    dataclasses._process_class = _process_class


def _patch_zoneinfo():
    """An unknown zone is looked for in the `tzdata` package by an import; here it is unknown at once."""
    common = sys.modules.get("zoneinfo._common")
    if common is None:
        return
    unknown = common.ZoneInfoNotFoundError

    def load_tzdata(key):
        raise unknown("no time zone found with this key")

    common.load_tzdata = load_tzdata


def _close_importing():
    """Nothing more can be loaded, and the operating system's functions are gone from where they can be looked up."""
    sys.meta_path.clear()
    sys.path_hooks.clear()
    sys.path.clear()
    for name in ("create_builtin", "exec_builtin", "create_dynamic", "exec_dynamic", "get_frozen_object", "init_frozen"):
        _imp.__dict__.pop(name, None)
    for module in (os, posix):
        for name, value in list(module.__dict__.items()):
            if callable(value) and name not in _POSIX_KEPT and not isinstance(value, type):
                del module.__dict__[name]
    for module_name in ("io", "_io", "codecs"):
        for name in ("open", "open_code", "FileIO"):
            sys.modules[module_name].__dict__.pop(name, None)


def _forget_modules():
    """The harness's own modules and the list of all objects are not in the interpreter's table any more."""
    for name in list(sys.modules):
        if name == "gc" or name.startswith("harness"):
            del sys.modules[name]
    # Python expects one of this name.
    sys.modules["__main__"] = ModuleType("__main__")
