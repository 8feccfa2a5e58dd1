"""Prints the requirements of pyproject.toml, one per line, for ``pip install -r``.

``dependencies.py [EXTRA ...]`` prints the runtime and build requirements, then those of the named
extras. They are installed before the package, so that one constraints file applies to all of them.
"""

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def requirements(pyproject: dict[str, Any], extras: Sequence[str] = ()) -> list[str]:
    """Return the requirements of a parsed pyproject.toml, in its order."""
    project = pyproject["project"]
    wanted = [*pyproject["build-system"]["requires"], *project["dependencies"]]
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return wanted


if __name__ == "__main__":
    folder = Path(__file__).resolve().parent.parent
    parsed = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    print("\n".join(requirements(parsed, sys.argv[1:])))
