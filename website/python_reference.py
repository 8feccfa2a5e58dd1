"""Pages of the Python reference: one a package, what it exports, from the docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repository import ROOT

PACKAGES = (
    "backends",
    "claims",
    "compare",
    "errors",
    "formats",
    "lab",
    "metrics",
    "plots",
    "replication",
    "report",
    "spec",
    "stats",
    "studies",
    "tables",
    "theory",
    "units",
)


def pages() -> Iterator[tuple[str, str]]:
    """Place and text of each."""
    lines = ["# Python reference", "", "What the package offers, from its docstrings.", ""]
    for name in PACKAGES:
        lines.append(f"- [`dumbbell.{name}`]({name}.md): {_first_line(name)}")
    lines += ["", "[The Python API in five minutes](../quickstart.md) shows how it is used.", ""]
    yield "api/index.md", "\n".join(lines)
    for name in PACKAGES:
        yield f"api/{name}.md", f"::: dumbbell.{name}\n"


def _first_line(name: str) -> str:
    package = ROOT / "python" / "dumbbell" / name
    file = package / "__init__.py" if package.is_dir() else package.with_suffix(".py")
    described = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return described.split("\n", maxsplit=1)[0]
