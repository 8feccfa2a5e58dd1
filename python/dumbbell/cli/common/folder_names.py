"""Names of folders below ``results/``: different requests have different folders.

``NAME`` alone is the unchanged file. Settings and options follow an ``@``, which no experiment's
name contains: ``home-line@links.isp--router.qdisc=pie,seed=7``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.spec import Setting

LONGEST = 60
"""Most characters after the ``@``, without the hash: a file name has at most 255 bytes."""
_HASH_DIGITS = 8
_KEY = r"[a-z_][a-z0-9_]*"
_NAME = r"[a-z0-9_]+(?:-[a-z0-9_]+)*"
_PATH = re.compile(rf"{_KEY}(?:\[{_NAME}(?:->{_NAME})?\])?(?:\.{_KEY})*")
"""Paths that can be recovered from the folder's name. Upper case is excluded, because some file
systems do not distinguish it.
"""
_VALUE = re.compile(r"[a-z0-9_.-]+(?: [a-z0-9_.-]+)*")
_LOOKS_LIKE_ANOTHER = re.compile(r"true|false|[0-9.+-][0-9_.+-]*(e[0-9+-]+)?")
_TEXT_ALONE = {"kernel"}
"""Paths that do not accept numbers, so that text that looks like a number is unambiguous."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """What was requested in addition to a file.

    Attributes:
        settings: Values that replace those of the file; in a comparison several for one path, in
            the order of its cells.
        files: Further files.
        options: Values by option name, if they differ from the defaults.
    """

    settings: Sequence[Setting] = ()
    files: Sequence[Path] = ()
    options: Mapping[str, Sequence[Any]] = field(default_factory=dict)


def folder_name(name: str, asked: Overrides) -> str:
    """The name of a result's folder: equal requests have equal names, different ones different
    names.

    Args:
        name: Name of the experiment and the kind of result: ``home-line-compared``.
        asked: What was requested in addition to the file.

    Returns:
        At most 70 characters more than `name`. If the words are too long, or contain characters
        that are unsafe or ambiguous in file names, a hash of them is appended.
    """
    parts = [_of_file(file) for file in asked.files]
    values: dict[str, list[Any]] = {}
    for setting in asked.settings:
        # The folder already has the experiment's name.
        if setting.path != "name":
            values.setdefault(setting.path, []).append(setting.value)
    values.update({option: [*each] for option, each in asked.options.items()})
    parts += [_of_path(path, values[path]) for path in sorted(values)]
    if not parts:
        return name
    words = ",".join(part.words for part in parts)
    if len(words) <= LONGEST and all(part.is_exact for part in parts):
        return f"{name}@{words}"
    files = [file.as_posix() for file in asked.files]
    whole = json.dumps([files, [[path, values[path]] for path in sorted(values)]], default=str)
    digest = hashlib.sha256(whole.encode()).hexdigest()[:_HASH_DIGITS]
    return f"{name}@{words[:LONGEST].rstrip(',=.+-_')}~{digest}"


@dataclass(frozen=True, slots=True)
class _Part:
    words: str
    is_exact: bool
    """Whether the words are unambiguous."""


def _of_file(file: Path) -> _Part:
    is_here = file.suffix == ".toml" and file.parent == Path()
    return _Part(f"with={_fit_for_a_file(file.stem)}", is_here and _is(_VALUE, file.stem))


def _of_path(path: str, values: Iterable[Any]) -> _Part:
    shown = re.sub(r"\[([^\]]*)\]", r".\1", path).replace("->", "--")
    each = [_of_value(path, value) for value in values]
    words = f"{_fit_for_a_file(shown)}={','.join(part.words for part in each)}"
    return _Part(words, _is(_PATH, path) and all(part.is_exact for part in each))


def _of_value(path: str, value: Any) -> _Part:
    if not isinstance(value, str):
        text = json.dumps(value, default=str)
        return _Part(_fit_for_a_file(text), _is(_LOOKS_LIKE_ANOTHER, text))
    is_text = path in _TEXT_ALONE or not _is(_LOOKS_LIKE_ANOTHER, value)
    return _Part(_fit_for_a_file(value), is_text and _is(_VALUE, value))


def _is(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.fullmatch(text) is not None


def _fit_for_a_file(text: str) -> str:
    """Replace spaces by ``+``, and characters special to shells, URLs or file systems by ``_``."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "_", text.replace(" ", "+"))
