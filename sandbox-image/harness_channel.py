"""Frames over the container's standard streams.

In:  u32 big-endian length and that many bytes (SETUP), then u32 length, JSON header, code, data (JOB).
Out: one tag byte, u32 big-endian length, payload.
"""

import json
from posix import O_RDWR, close, dup, dup2, readv, write
from posix import open as open_fd

# The operator's settings: a pack's table is some 20 KB. Larger ones are a mistake.
SETUP_MAX_BYTES = 1 << 20
HEADER_MAX_BYTES = 1 << 12
CODE_MAX_BYTES = 1 << 20
# Far above what the service takes (BODY_MAX_BYTES); the container's memory limit ends anything near it.
DATA_MAX_BYTES = 1 << 30

_JOB_BOUNDS = {
    "code_bytes": CODE_MAX_BYTES,
    "data_bytes": DATA_MAX_BYTES,
    "result_max_bytes": 1 << 30,
    "result_max_depth": 1000,
    "detail_max_bytes": 1 << 20,
}


class BadFrame(Exception):
    """A frame that the service does not write."""


class Channel:
    """The two ends. After opening, descriptors 1 and 2 lead nowhere; after the job, 0 does too."""

    def __init__(self):
        self.seal = None
        self._out = dup(1)
        self._null = open_fd("/dev/null", O_RDWR)
        dup2(self._null, 1)
        dup2(self._null, 2)

    def setup(self):
        """The operator's settings, or None where the input ended before them."""
        size = self._length(SETUP_MAX_BYTES)
        if size is None:
            return None
        return _object(self._read(size))

    def job(self):
        """(header, code, data) of the one job, or None where the input ended before it. Then closes the input."""
        size = self._length(HEADER_MAX_BYTES)
        if size is None:
            return None
        header = _object(self._read(size))
        for name, most in _JOB_BOUNDS.items():
            value = header.get(name)
            if type(value) is not int or not 0 <= value <= most:
                raise BadFrame
        wall = header.get("wall_seconds")
        if type(wall) not in (int, float) or not 0 < wall <= 86400:
            raise BadFrame
        if type(header.get("decimal_as_string")) is not bool:
            raise BadFrame
        seal = header.pop("seal", None)
        if seal is not None and type(seal) is not str:
            raise BadFrame
        self.seal = seal
        code = self._read(header["code_bytes"])
        data = self._read(header["data_bytes"])
        dup2(self._null, 0)
        close(self._null)
        return header, code, data

    def send(self, tag, *payload):
        """Writes one frame in full."""
        size = sum(map(len, payload))
        for piece in (tag + size.to_bytes(4, "big") + payload[0], *payload[1:]):
            view = memoryview(piece)
            while view:
                view = view[write(self._out, view) :]

    def _length(self, most):
        prefix = self._read(4, may_end=True)
        if prefix is None:
            return None
        size = int.from_bytes(prefix, "big")
        if size > most:
            raise BadFrame
        return size

    def _read(self, size, may_end=False):
        buffer = bytearray(size)
        view = memoryview(buffer)
        while view:
            count = readv(0, [view])
            if count == 0:
                if may_end and len(view) == size:
                    return None
                raise BadFrame
            view = view[count:]
        return buffer


def _object(text):
    try:
        value = json.loads(text)
    except ValueError:
        raise BadFrame from None
    if type(value) is not dict:
        raise BadFrame
    return value
