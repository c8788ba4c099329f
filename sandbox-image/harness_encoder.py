"""A function's return value as JSON text, by exact type.

Nothing here calls a method that a user's class could override: values are taken apart with the built-in types'
own functions. What is not on the list of types is refused with its path and the name of its Python type.
"""

import datetime
import decimal
import enum
import os
import uuid
from collections import Counter, OrderedDict, defaultdict
from json.encoder import encode_basestring
from types import GetSetDescriptorType, MemberDescriptorType

from harness_names import mro_of, namespace_of, type_name

# Before zoneinfo is imported: else it asks the interpreter's build settings, a table of 0.4 MB.
os.environ["PYTHONTZPATH"] = "/usr/share/zoneinfo"
import zoneinfo

_MISSING = object()
_ENUM = enum.Enum
_DICT_ITEMS = {
    dict: dict.items,
    defaultdict: dict.items,
    Counter: dict.items,
    # Its own items(): move_to_end changes an order that dict.items does not see.
    OrderedDict: OrderedDict.items,
}
# Their utcoffset is the standard library's; a tzinfo of the function's own would run its code here.
_KNOWN_TZ = (datetime.timezone, zoneinfo.ZoneInfo, type(None))
# A tuple subclass with one of these no longer reads as the tuple it holds.
_TUPLE_BEHAVIOUR = ("__iter__", "__getitem__", "__len__")


class NotJson(Exception):
    """A value that JSON has no form for. `path` is built from the inside out while the refusal travels up."""

    def __init__(self, python_type):
        self.python_type = python_type
        self.path = []


class TooLarge(Exception):
    """The text is longer than the bytes allowed; raised before the rest is written."""


def encode(value, max_bytes, max_depth, decimal_as_string):
    """UTF-8 JSON text of `value`. Raises NotJson (path reversed) or TooLarge, as soon as it is known.

    max_depth counts containers inside one another: 1 admits [] but not [[]].
    """
    writer = _Writer(max_bytes, max_depth, decimal_as_string)
    writer.value(value, 0)
    return "".join(writer.parts).encode("utf-8")


# Python keeps frames in chunks of 16 KB. Where the calls of a loop cross from one chunk into the next, each of them maps
# and unmaps memory, which at such a depth takes five times as long. A frame that claims this much stack gets a chunk
# of 512 KB, half of it for the frames above it; what is not touched of it takes no memory.
encode.__code__ = encode.__code__.replace(co_stacksize=1 << 15)


class _Writer:
    def __init__(self, max_bytes, max_depth, decimal_as_string):
        self.parts = []
        self.left = max_bytes
        self.max_depth = max_depth
        self.decimal_as_string = decimal_as_string
        self.scalars = {
            str: self.text,
            int: self.integer,
            float: self.real,
            bool: lambda value: self.emit("true" if value else "false"),
            type(None): lambda value: self.emit("null"),
            decimal.Decimal: self.decimal,
            datetime.date: lambda value: self.emit(f'"{datetime.date.isoformat(value)}"'),
            datetime.datetime: self.moment,
            datetime.time: self.moment,
            uuid.UUID: lambda value: self.text(uuid.UUID.__str__(value)),
        }

    def emit(self, token):
        """Adds ASCII text and takes it off the bytes left."""
        self.left -= len(token)
        if self.left < 0:
            raise TooLarge
        self.parts.append(token)

    def text(self, value):
        if len(value) > self.left:
            raise TooLarge
        token = encode_basestring(value)
        if token.isascii():
            return self.emit(token)
        try:
            size = len(token.encode("utf-8"))
        except UnicodeEncodeError:
            # A lone surrogate has no UTF-8 form.
            raise NotJson("str") from None
        self.left -= size
        if self.left < 0:
            raise TooLarge
        self.parts.append(token)

    def integer(self, value):
        # A quarter of the bits is fewer than the digits: a power of many millions ends here, unprinted.
        if value.bit_length() // 4 > self.left:
            raise TooLarge
        self.emit(int.__repr__(value))

    def real(self, value):
        if value - value != 0.0:
            raise NotJson("float")
        self.emit(float.__repr__(value))

    def decimal(self, value):
        # finite: a NaN or an infinity has no JSON form, as text neither.
        if not decimal.Decimal.is_finite(value):
            raise NotJson("Decimal")
        if self.decimal_as_string:
            return self.emit(f'"{decimal.Decimal.__str__(value)}"')
        as_float = decimal.Decimal.__float__(value)
        if as_float - as_float != 0.0:
            raise NotJson("Decimal")
        self.emit(decimal.Decimal.__str__(value))

    def moment(self, value):
        if type(value.tzinfo) not in _KNOWN_TZ:
            raise NotJson(type_name(type(value)))
        self.emit(f'"{type(value).isoformat(value)}"')

    def value(self, value, depth):
        cls = type(value)
        scalar = self.scalars.get(cls)
        if scalar is not None:
            return scalar(value)
        if cls is list or cls is tuple:
            return self.array(cls.__iter__(value), cls, depth)
        items = _DICT_ITEMS.get(cls)
        if items is not None:
            return self.object(items(value), cls, depth)
        mro = mro_of(cls)
        if _ENUM in mro:
            inner = _instance_dict(value, mro).get("_value_", _MISSING)
            if inner is _MISSING or depth >= self.max_depth:
                raise NotJson(type_name(cls))
            return self.value(inner, depth + 1)
        if tuple in mro and _is_namedtuple(mro):
            return self.array(tuple.__iter__(value), tuple, depth)
        fields = _dataclass_fields(mro)
        if fields is not None and not any(base in mro for base in (dict, list, tuple, str, int, float)):
            return self.object(_field_values(value, mro, fields), cls, depth)
        raise NotJson(type_name(cls))

    def array(self, items, cls, depth):
        if depth >= self.max_depth:
            raise NotJson(type_name(cls))
        self.emit("[")
        index = 0
        try:
            for item in items:
                if index:
                    self.emit(",")
                self.value(item, depth + 1)
                index += 1
        except NotJson as refusal:
            refusal.path.append(index)
            raise
        self.emit("]")

    def object(self, items, cls, depth):
        if depth >= self.max_depth:
            raise NotJson(type_name(cls))
        self.emit("{")
        separator = ""
        seen = None
        previous = []
        for key, item in items:
            kind = type(key)
            if kind is int:
                if seen is None:
                    seen = set(previous)
                if key.bit_length() // 4 > self.left:
                    raise TooLarge
                key = int.__repr__(key)
            elif kind is not str:
                raise NotJson(type_name(kind))
            # 1 and "1" would become one key, and a reader would lose one of the two values.
            if seen is None:
                previous.append(key)
            elif key in seen:
                raise NotJson(type_name(kind))
            else:
                seen.add(key)
            try:
                if separator:
                    self.emit(separator)
                separator = ","
                self.text(key)
                self.emit(":")
                self.value(item, depth + 1)
            except NotJson as refusal:
                refusal.path.append(key)
                raise
        self.emit("}")


def _instance_dict(value, mro):
    """The instance's own dictionary by its C descriptor, or an empty one; never a `__dict__` the class defines."""
    for base in mro:
        found = namespace_of(base).get("__dict__")
        if type(found) is GetSetDescriptorType:
            return found.__get__(value)
    return {}


def _is_namedtuple(mro):
    named = False
    for base in mro:
        if base is tuple:
            return named
        namespace = namespace_of(base)
        if any(name in namespace for name in _TUPLE_BEHAVIOUR):
            return False
        named = named or type(namespace.get("_fields")) is tuple
    return False


def _dataclass_fields(mro):
    """Names of a dataclass's fields in order, or None. Its table holds class variables and InitVars too, marked as such."""
    for base in mro:
        table = namespace_of(base).get("__dataclass_fields__")
        if type(table) is dict:
            return [
                name
                for name, entry in dict.items(table)
                if type(name) is str and entry._field_type.name == "_FIELD"
            ]
    return None


def _field_values(value, mro, fields):
    """(name, value) of each field from instance dictionary, slot or class default; runs no user descriptor."""
    own = _instance_dict(value, mro)
    pairs = []
    for name in fields:
        found = own.get(name, _MISSING)
        if found is _MISSING:
            for base in mro:
                entry = namespace_of(base).get(name, _MISSING)
                if entry is not _MISSING:
                    slot = type(entry) is MemberDescriptorType
                    found = entry.__get__(value) if slot else entry
                    break
        if found is _MISSING:
            raise NotJson(type_name(type(value)))
        pairs.append((name, found))
    return pairs
