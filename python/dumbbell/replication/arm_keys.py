"""Keys of arms and of their experiments as plain values, which do not name Python classes.

Recorded digests are listed by these values, so renaming a class does not move them. Names and
values of fields are part of a key. (A store's keys also contain a hash of the code that makes the
results.)
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any


def plain_key(key: object) -> Any:
    """A key as a JSON value: a dataclass as an object of its fields, an enum member as its value.

    Raises:
        TypeError: The key contains something else than dataclasses, enum members, tuples, strings,
            numbers, booleans and None.
    """
    if isinstance(key, enum.Enum):
        return plain_key(key.value)
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        return {each.name: plain_key(getattr(key, each.name)) for each in dataclasses.fields(key)}
    if isinstance(key, tuple):
        return [plain_key(each) for each in key]
    if key is None or isinstance(key, str | int | float):
        return key
    raise TypeError(f"a {type(key).__name__} in an arm's key: dataclasses, enums and plain values")


def key_text(key: object) -> str:
    """A key on one line: ``SM``, ``68.0, SM`` or ``kind=ideal, limit=5kb``.

    Raises:
        TypeError: As `plain_key`.
    """
    return _text(plain_key(key))


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_inner_text(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_inner_text, value))
    return str(value)


def _inner_text(value: Any) -> str:
    return f"({_text(value)})" if isinstance(value, dict | list) else str(value)
