"""Read a Flent data file from any source: size, depth and number of values are bounded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from dumbbell.formats.errors import FormatError
from dumbbell.formats.flent.file import FORMAT_VERSION, FlentFile
from dumbbell.formats.flent.older import OLDEST_VERSION, samples_of_version_1, upgraded
from dumbbell.formats.unpacking import read_unpacked
from dumbbell.printable import printable

LARGEST_FILE_BYTES = 32 << 20
"""Size limit of the compressed file; an RRUL test of a minute has 100 to 300 kB."""
LARGEST_TEXT_BYTES = 64 << 20
"""Size limit of the JSON text."""
MOST_CONTAINERS = 1_000_000
MOST_COMMAS = 8_000_000
DEEPEST = 32
LONGEST_TIME_S = 1e7
LARGEST_NUMBER = 1e20
"""Largest result or sample: above any 64-bit counter, with a finite square."""
_MOST_KEYS = 10_000
_LONGEST_NAME = 200
"""Longest name of a series; Flent's longest contains a host name."""


def read_flent(source: str | Path) -> FlentFile:
    """Read ``.flent.gz``, ``.flnt``, or other compressions; detected by content.

    Args:
        source: Path of the file, of any version of the format (1 to 4).

    Returns:
        The file in the units of version 4, every number finite.

    Raises:
        FormatError: It is not a Flent data file, has an unknown version, is damaged, or is too
            large.
        OSError: The file cannot be read.
    """
    path = Path(source)
    text = _text(path)
    _check_bounds(path, text)
    try:
        data = json.loads(text, parse_constant=_missing)
    except RecursionError:
        raise FormatError(str(path), "nested too deeply", "a data file of Flent") from None
    except (ValueError, UnicodeDecodeError) as error:
        message = f"{type(error).__name__}: {error}"[:200]
        raise FormatError(str(path), message, "a whole data file of Flent (JSON)") from None
    del text
    if isinstance(data, dict | list) and _is_deep(data):
        raise FormatError(str(path), "nested too deeply", f"at most {DEEPEST} levels")
    return _Check(path).file(data)


def _missing(_: str) -> None:
    """Treat NaN and infinities, which JSON forbids and some programs write, as missing."""
    return


def _text(path: Path) -> bytes:
    """The JSON text, decompressed piecewise up to the limit."""
    text, damage = read_unpacked(path, LARGEST_FILE_BYTES, LARGEST_TEXT_BYTES)
    if damage:
        raise FormatError(str(path), damage, "a whole compressed file")
    return text


def _check_bounds(path: Path, text: bytes) -> None:
    """Check the text before parsing: parsed JSON can take fifty times as much memory."""
    containers = text.count(b"{") + text.count(b"[")
    if containers > MOST_CONTAINERS:
        allowed = f"at most {MOST_CONTAINERS} lists and objects"
        raise FormatError(str(path), f"{containers} of them", allowed)
    commas = text.count(b",")
    if commas > MOST_COMMAS:
        raise FormatError(str(path), f"{commas} values", f"at most {MOST_COMMAS} values")


def _is_deep(data: object) -> bool:
    """Whether lists and objects nest more deeply than allowed."""
    level: list[Any] = [data]
    for _ in range(DEEPEST):
        below = (each.values() if isinstance(each, dict) else each for each in level)
        level = [v for values in below for v in values if isinstance(v, dict | list)]
        if not level:
            return False
    return True


class _Check:
    """Converts parsed JSON to a file, and refuses what Flent cannot have written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, data: object) -> FlentFile:
        whole = self._object(data, "")
        version = self._version(whole)
        x_values = [self._number(x, "x_values") for x in self._list(whole, "x_values")]
        if any(abs(x) > LONGEST_TIME_S for x in x_values):
            self._refuse("x_values", "a time", f"at most {LONGEST_TIME_S:g} s")
        if any(later <= sooner for sooner, later in pairwise(x_values)):
            self._refuse("x_values", "times", "times that ascend")
        metadata = self._object(whole.get("metadata"), "metadata")
        first = version == OLDEST_VERSION
        raw_values = samples_of_version_1(metadata) if first else whole.get("raw_values")
        file = FlentFile(
            x_values,
            self._results(whole.get("results"), len(x_values)),
            self._raw_values(raw_values),
            self._metadata(metadata),
        )
        return upgraded(file, version)

    def _version(self, whole: Mapping[str, Any]) -> int:
        version = whole.get("version", OLDEST_VERSION)
        known = isinstance(version, int) and not isinstance(version, bool)
        if not known or not OLDEST_VERSION <= version <= FORMAT_VERSION:
            allowed = f"version {OLDEST_VERSION} to {FORMAT_VERSION} of Flent's format"
            self._refuse("version", _shown(version), allowed)
        return int(version)

    def _series(self, name: str, where: str) -> str:
        """Path of a series; its name must be printable."""
        if not name.isprintable() or len(name) > _LONGEST_NAME:
            allowed = f"names of at most {_LONGEST_NAME} printable characters"
            self._refuse(where, name[:80], allowed)
        return f"{where}.{name[:80]}"

    def _results(self, data: object, length: int) -> dict[str, list[float | None]]:
        results: dict[str, list[float | None]] = {}
        for name, values in self._object(data, "results").items():
            where = self._series(name, "results")
            if not isinstance(values, list) or len(values) != length:
                self._refuse(where, _shown(values), f"a list of {length} values, as x_values")
            results[name] = [None if v is None else self._number(v, where) for v in values]
        return results

    def _raw_values(self, data: object) -> dict[str, list[dict[str, Any]]]:
        raw: dict[str, list[dict[str, Any]]] = {}
        for name, samples in self._object(data, "raw_values").items():
            where = self._series(name, "raw_values")
            if not isinstance(samples, list):
                self._refuse(where, _shown(samples), "a list of samples")
            for sample in samples:
                if not isinstance(sample, dict):
                    self._refuse(where, _shown(sample), "samples that are objects")
                for key, value in sample.items():
                    if isinstance(value, int | float):
                        self._bounded(value, f"{where}.{printable(key[:80])}")
            raw[name] = samples
        return raw

    def _metadata(self, data: Mapping[str, Any]) -> dict[str, Any]:
        for key, kinds, allowed in (
            ("NAME", str, "the name of a test"),
            ("TITLE", str | None, "text or null"),
            ("HOSTS", list | None, "a list or null"),
            ("TEST_PARAMETERS", dict | None, "an object or null"),
            ("SERIES_META", dict | None, "an object or null"),
        ):
            if not isinstance(data.get(key), kinds):
                self._refuse(f"metadata.{key}", _shown(data.get(key)), allowed)
        for key in ("LENGTH", "TOTAL_LENGTH", "STEP_SIZE"):
            value = data.get(key)
            if value is not None and not 0 < self._number(value, key) <= LONGEST_TIME_S:
                self._refuse(f"metadata.{key}", value, "seconds, more than 0")
        return dict(data)

    def _object(self, data: object, where: str) -> dict[str, Any]:
        if not isinstance(data, dict):
            self._refuse(where, _shown(data), "an object")
        if len(data) > _MOST_KEYS:
            self._refuse(where, f"{len(data)} keys", f"at most {_MOST_KEYS}")
        return data

    def _list(self, whole: Mapping[str, Any], key: str) -> list[Any]:
        data = whole.get(key)
        if not isinstance(data, list):
            self._refuse(key, _shown(data), "a list")
        return data

    def _number(self, value: object, where: str) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            self._refuse(where, _shown(value), "a number")
        return self._bounded(value, where)

    def _bounded(self, value: float, where: str) -> float:
        if not abs(value) <= LARGEST_NUMBER:  # NaN is refused too
            allowed = f"a finite number, at most {LARGEST_NUMBER:g}"
            self._refuse(where, "a number out of range", allowed)
        return float(value)

    def _refuse(self, where: str, value: object, allowed: str) -> NoReturn:
        place = f"{self.path}: {where}" if where else str(self.path)
        raise FormatError(place, str(value)[:80], allowed)


def _shown(value: object) -> str:
    """A short description of a wrong value."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    return f"a list of {len(value)}" if isinstance(value, list) else repr(value)[:60]
