"""Reading TOML of bounded size, with errors that give the line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from dumbbell.errors import SpecError
from dumbbell.inputs import open_input
from dumbbell.spec.refusal import shown

LARGEST_BYTES = 1 << 20
_PLACE = re.compile(r"\s*\(at line (\d+), column (\d+)\)|\s*\(at end of document\)")


def load(source: str | Path) -> tuple[dict[str, Any], Path]:
    """Read the table in a file or text, and return it with the folder to which its paths are
    relative.

    Raises:
        SpecError: The file cannot be read, is too large, or is not valid TOML.
    """
    if isinstance(source, Path) or not ("\n" in source or "=" in source):
        path = Path(source)
        return _parse(_read(path), path.name), path.parent
    if len(source.encode(errors="replace")) > LARGEST_BYTES:
        raise SpecError("", "text", f"at most {LARGEST_BYTES >> 20} MiB of TOML")
    return _parse(source, ""), Path()


def _read(path: Path) -> str:
    name = str(path)
    try:
        if path.is_dir():
            raise SpecError(name, "a folder", "a file in TOML")
        with open_input(path) as file:
            # Reading one byte more detects a file that is too large, also if its size is unknown.
            content = file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(name, reason, "a file in TOML that can be read") from None
    if len(content) > LARGEST_BYTES:
        raise SpecError(
            name, f"more than {LARGEST_BYTES} bytes", f"at most {LARGEST_BYTES >> 20} MiB of TOML"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{name}, line {line}", "other bytes", "text in UTF-8") from None


def _parse(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(text, name, str(error)) from None
    except RecursionError:
        raise SpecError(name, "lists or tables", "not so many of them inside each other") from None
    except ValueError as error:  # a number with thousands of digits
        raise SpecError(name, shown(str(error)), "TOML") from None


def _syntax_error(text: str, name: str, message: str) -> SpecError:
    """The message of tomllib, with the line and its text."""
    lines = text.splitlines() or [""]
    place = _PLACE.search(message)
    number = int(place[1]) if place and place[1] else len(lines)
    found = lines[min(number, len(lines)) - 1].strip()
    where = f"{name}, line {number}" if name else f"line {number}"
    reason = _PLACE.sub("", message)
    return SpecError(where, shown(found), f"TOML ({reason[:1].lower()}{reason[1:]})")
