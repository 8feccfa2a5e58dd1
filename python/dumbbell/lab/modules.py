"""Bundling of JavaScript modules into one script, in Python only.

A module imports names from modules of the same or a neighbouring folder (``import { a, b } from
"../page/words.js";``), and exports functions, classes and constants at their declarations. Each
module becomes a constant with its exports, in a separate scope.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Sequence
from pathlib import Path

from dumbbell.errors import EXIT_BAD_INPUT, DumbbellError

FOLDER = Path(__file__).parent
MODULE = "engine.wasm"

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\.(?:/|\./[a-z]+/)([a-z_]+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)


class NoModuleError(DumbbellError):
    """The simulator's module was not built."""

    exit_code = EXIT_BAD_INPUT


def joined(places: Sequence[Path]) -> str:
    """Return modules as one script, in dependency order; the last exports nothing."""
    *imported, last = places
    return "\n".join([*map(scope, imported), _with_constants(last.read_text(encoding="utf-8"))])


def scope(place: Path) -> str:
    """Return a module as a constant that holds its exports."""
    text = _with_constants(place.read_text(encoding="utf-8"))
    exported = ", ".join(_EXPORT.findall(text))
    inside = _EXPORT.sub("", text)
    return f"const module_{place.stem} = (() => {{\n{inside}\nreturn {{ {exported} }};\n}})();"


def _with_constants(text: str) -> str:
    """Return a module with imports replaced by the constants of `scope`."""
    return _IMPORT.sub(r"const \1 = module_\2;", text)


def has_module() -> bool:
    """Return whether the simulator's module was built."""
    return (FOLDER / MODULE).is_file()


def packed_module() -> str:
    """Return the simulator's module, gzipped, in base64.

    Raises:
        NoModuleError: It was not built.
    """
    if not has_module():
        raise NoModuleError(
            f"the laboratory's page cannot be written: its simulator ({MODULE}) was not built with "
            "this installation. Wheels bring it; in a clone of the sources, "
            "rustup target add wasm32-unknown-unknown, then make lab"
        )
    # No timestamp: the same sources give the same page.
    content = (FOLDER / MODULE).read_bytes()
    return base64.b64encode(gzip.compress(content, mtime=0)).decode("ascii")
