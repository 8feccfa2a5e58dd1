"""Tables, lists and values written as TOML (toml.io, version 1.0); `toml_file` reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def document_text(document: Mapping[str, Any]) -> str:
    """A file: values and inline tables first, then a ``[[KEY]]`` for each table of a list.

    Args:
        document: As `tomllib` would read it.

    Raises:
        TypeError: A value is nothing that TOML has.
    """
    return "\n".join([*_lines(document), ""])


def quoted_keys_text(value: Any) -> str:
    """A value on one line; a table is an inline table, with each key in quotes.

    Raises:
        TypeError: It is nothing that TOML has.
    """
    return _value(value, _text)


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    lists = {}
    for key, value in document.items():
        if isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            lists[key] = value
        else:
            yield _pair(key, value, _key)
    for key, tables in lists.items():
        for table in tables:
            yield from ("", f"[[{_key(key)}]]")
            yield from (_pair(name, value, _key) for name, value in table.items())


def _pair(key: str, value: Any, written_key: Callable[[str], str]) -> str:
    return f"{written_key(key)} = {_value(value, written_key)}"


def _value(value: Any, written_key: Callable[[str], str]) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case Mapping():
            pairs = (_pair(key, each, written_key) for key, each in value.items())
            return f"{{ {', '.join(pairs)} }}"
        case list() | tuple():
            return f"[{', '.join(_value(each, written_key) for each in value)}]"
    raise TypeError(f"no TOML of {type(value).__name__}")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # What JSON escapes, a basic string of TOML escapes alike; of DEL JSON says nothing.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
