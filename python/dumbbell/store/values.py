"""Serialisation of reduced results for a store: dataclasses of numbers and arrays.

A layout is JSON that describes the structure, shared by many runs. The data are in the numbers,
whose bytes hold floats, integers, texts and columns exactly. Reading executes no code: a dataclass
is looked up by name in modules given by the reader, and all other types are defined here.
"""

from __future__ import annotations

import dataclasses
import json
import math
import struct
import sys
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from dumbbell.store.content import Numbers
from dumbbell.store.database import LARGEST_VALUE_BYTES
from dumbbell.store.errors import StoreError
from dumbbell.tables import Run, RunFile

Layout: TypeAlias = Any
"""JSON: a word for a plain value, an object for a compound value."""
_WORD = 8
_MOST_BYTES = LARGEST_VALUE_BYTES // 2
_KINDS = frozenset("biuf")
"""Of arrays (NumPy's dtype.kind): truth values, whole numbers, floats."""
_PLAIN: Mapping[type, tuple[str, str]] = {
    float: ("float", "<d"),
    int: ("int", "<q"),
    bool: ("bool", "<q"),
}


class NotKeptError(TypeError):
    """A value that cannot be stored: of an unsupported type, or with files."""


_SEQUENCES: Mapping[str, type] = {"tuple": tuple, "list": list}


def numbers_of(value: object) -> Numbers:
    """Serialise a value.

    Args:
        value: A float, whole number, truth value, text or None; an array of numbers; a tuple, list
            or mapping of values; a dataclass of them; or a `Run` without files.

    Raises:
        NotKeptError: The type is not supported, or the value has more than 32 MiB.
    """
    blob = bytearray()
    layout = json.dumps({"value": _put(value, blob)}, ensure_ascii=False)
    if len(blob) + len(layout) > _MOST_BYTES:
        raise NotKeptError(f"a value of {len(blob)} bytes")
    return Numbers(layout, np.frombuffer(bytes(blob), dtype="<f8"))


def value_from(numbers: Numbers, module: str) -> Any:
    """Deserialise a value.

    Args:
        numbers: The result of `numbers_of`.
        module: Name of an imported module whose dataclasses are allowed; nested dataclasses may be
            from the modules of these.

    Raises:
        StoreError: It is not a serialised value, or of a dataclass that is not allowed.
    """
    reading = _Reading(np.ascontiguousarray(numbers.values, dtype="<f8").tobytes())
    try:
        value = reading.value(json.loads(numbers.layout)["value"], module)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        allowed = "a value as it was kept"
        raise StoreError("store", numbers.layout[:80], allowed, reason=str(error)) from error
    return value


def is_value(numbers: Numbers) -> bool:
    """Whether the numbers are a serialised value, and not the quantities of a run."""
    return numbers.layout.startswith('{"value": ')


def _put(value: object, blob: bytearray) -> Layout:
    """Append a value's bytes.

    Returns:
        Its layout.
    """
    layout: Layout
    if value is None:
        layout = "none"
    elif type(value) in _PLAIN:
        layout = _put_number(value, blob)
    elif isinstance(value, str):
        _put_bytes(value.encode(), blob)
        layout = "text"
    elif isinstance(value, (np.ndarray, np.generic)):
        layout = _put_array(value, blob)
    elif type(value) in (tuple, list):
        layout = {type(value).__name__: [_put(each, blob) for each in value]}  # type: ignore[attr-defined]
    elif isinstance(value, Mapping):
        layout = {"map": [[_key(key), _put(each, blob)] for key, each in value.items()]}
    elif isinstance(value, Run):
        layout = _put_run(value, blob)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value)]
        fields = {name: _put(getattr(value, name), blob) for name in names}
        layout = {"dataclass": type(value).__name__, "fields": fields}
    else:
        raise NotKeptError(f"a {type(value).__name__} is no value that a store keeps")
    return layout


def _put_number(value: object, blob: bytearray) -> Layout:
    word, code = _PLAIN[type(value)]
    try:
        blob += struct.pack(code, value)
    except struct.error as error:
        raise NotKeptError(f"{value!r}: {error}") from error
    return word


def _put_array(array: np.ndarray[Any, Any] | np.generic, blob: bytearray) -> Layout:
    dtype = array.dtype.newbyteorder("<")
    if dtype.kind not in _KINDS:
        raise NotKeptError(f"an array of {array.dtype} is no value that a store keeps")
    for length in array.shape:
        blob += struct.pack("<q", length)
    _put_bytes(np.ascontiguousarray(array, dtype=dtype).tobytes(), blob)
    kind = "scalar" if isinstance(array, np.generic) else "array"
    return {kind: dtype.str, "dimensions": array.ndim}


def _put_run(run: Run, blob: bytearray) -> Layout:
    if run.files:
        raise NotKeptError("files of a run, such as captures, are kept in no store")
    tables = {name: dict(columns) for name, columns in run.tables.items()}
    texts = [json.dumps(each, ensure_ascii=False) for each in (run.spec, run.meta, run.provenance)]
    return {"run": _put((run.origin, run.replication, *texts, tables), blob)}


def _put_bytes(raw: bytes, blob: bytearray) -> None:
    blob += struct.pack("<q", len(raw)) + raw + bytes(-len(raw) % _WORD)


def _key(key: object) -> str | int:
    if type(key) in (str, int):
        return key  # type: ignore[return-value]  # narrowed by type() on purpose: no subclass
    raise NotKeptError(f"a mapping with the key {key!r}")


class _Reading:
    """Sequential reader of bytes."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def value(self, layout: Layout, module: str) -> Any:
        """The next value, of a given layout."""
        if isinstance(layout, str):
            return self._plain(layout)
        if "dataclass" in layout:
            return self._dataclass(layout["dataclass"], layout["fields"], module)
        if "array" in layout or "scalar" in layout:
            return self._array(layout)
        if "map" in layout:
            return {_key(key): self.value(each, module) for key, each in layout["map"]}
        if "run" in layout:
            return self._run(layout["run"], module)
        ((kind, layouts),) = layout.items()
        return _SEQUENCES[kind](self.value(each, module) for each in layouts)

    def _plain(self, word: str) -> Any:
        if word == "none":
            return None
        if word == "text":
            return self._bytes().decode()
        kind, code = {name: (kind, code) for kind, (name, code) in _PLAIN.items()}[word]
        return kind(struct.unpack(code, self._take(_WORD))[0])

    def _array(self, layout: Layout) -> np.ndarray[Any, Any] | np.generic:
        is_scalar = "scalar" in layout
        dtype = np.dtype(layout["scalar" if is_scalar else "array"])
        if dtype.kind not in _KINDS:
            raise ValueError(f"an array of {dtype}")
        shape = [self._length() for _ in range(layout["dimensions"])]
        raw = self._bytes()
        if len(raw) != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{len(raw)} bytes of an array {shape} of {dtype}")
        array = np.frombuffer(raw, dtype).reshape(shape).astype(dtype.newbyteorder("="))
        return array[()] if is_scalar else array

    def _run(self, layout: Layout, module: str) -> Run:
        origin, replication, spec, meta, provenance, tables = self.value(layout, module)
        files: Mapping[str, RunFile] = {}
        return Run(
            origin,
            replication,
            json.loads(spec),
            tables,
            json.loads(meta),
            json.loads(provenance),
            files,
        )

    def _dataclass(self, name: str, layouts: Mapping[str, Layout], module: str) -> Any:
        kind = vars(sys.modules[module]).get(name)
        if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
            raise ValueError(f"{module} has no dataclass {name[:40]!r}")
        if [each.name for each in dataclasses.fields(kind)] != list(layouts):
            raise ValueError(f"{name} with fields {', '.join(layouts)[:80]}")
        fields = {each: self.value(layout, kind.__module__) for each, layout in layouts.items()}
        return kind(**fields)

    def _length(self) -> int:
        (length,) = struct.unpack("<q", self._take(_WORD))
        if not 0 <= length <= len(self._raw):
            raise ValueError(f"a length of {length}")
        return int(length)

    def _bytes(self) -> bytes:
        length = self._length()
        raw = self._take(length)
        self._take(-length % _WORD)
        return raw

    def _take(self, count: int) -> bytes:
        if self._at + count > len(self._raw):
            raise ValueError("it ends too early")
        taken = self._raw[self._at : self._at + count]
        self._at += count
        return taken
