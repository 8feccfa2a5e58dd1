"""Writes the lock files: every Python package that `make` installs, with the hashes of its files.

``locks.py --write`` makes them again (`make locks`): of `constraints.txt`, which has the versions,
and `pyproject.toml`, which has what is needed, with the hashes that the index has for each file of
a release, of every platform. It needs uv (`python3 -m pip install uv`) and the index. ``locks.py``
alone compares, and needs neither: what is asked for is there, in the version of `constraints.txt`,
with SHA-256 hashes.
Exit status 1 with what is not right.

pip takes nothing that is not in a lock file or has another hash (`--require-hashes`).
"""

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dependencies import requirements

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = "constraints.txt"
FOLDER = "locks"
OLDEST_PYTHON = "3.11"
OLDEST_PYTHON_OF: Mapping[str, str] = {"site": "3.11.5", "test": "3.11.5"}
"""Minimum Python of lock files whose packages need a later one: pymdown-extensions 13.1, of the
site."""
EXTRAS: Mapping[str, Sequence[str] | None] = {
    "build": None,
    "runtime": (),
    "site": ("site",),
    "test": ("test", "pandas", "site"),
}
"""Extras of each lock file besides the package's requirements; None for build requirements only."""
HEAD = "# Made by `make locks` of constraints.txt and pyproject.toml: not to be edited.\n"

_PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Locked:
    """A package of a lock file.

    Attributes:
        version: The only version that may be installed.
        hashes: SHA-256 of its files, hexadecimal.
    """

    version: str
    hashes: tuple[str, ...]


def normalized(name: str) -> str:
    """Return a project's name as the index compares it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    """Return the version of each package in a list of constraints."""
    found = (_PIN.match(line) for line in text.splitlines())
    return {normalized(match[1]): match[2] for match in found if match is not None}


def locked(text: str) -> dict[str, Locked]:
    """Return the packages of a lock file.

    Raises:
        ValueError: A line has no `==` version, or a package has no hash.
    """
    packages: dict[str, Locked] = {}
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for line in lines.replace("\\\n", " ").splitlines():
        match = _PIN.match(line)
        hashes = tuple(_HASH.findall(line))
        if match is None or not hashes:
            raise ValueError(f"{line.split(' ')[0]!r} is not pinned, or has no hash")
        packages[normalized(match[1])] = Locked(match[2], hashes)
    return packages


def wanted(pyproject: dict[str, Any], lock: str) -> list[str]:
    """Return the requirements of a lock file, as written in `pyproject.toml`."""
    extras = EXTRAS[lock]
    if extras is None:
        return [*pyproject["build-system"]["requires"]]
    return requirements(pyproject, extras)


def faults(lock: str, text: str, asked: Sequence[str], constraints: Mapping[str, str]) -> list[str]:
    """Return the faults of a lock file.

    Args:
        lock: Its name, for messages.
        text: Text of the file.
        asked: Requirements.
        constraints: Version of each package.
    """
    try:
        packages = locked(text)
    except ValueError as error:
        return [f"{lock}: {error}"]
    found = []
    for requirement in asked:
        asked_name = _NAME.match(requirement)
        if asked_name is None or normalized(asked_name[0]) not in packages:
            found.append(f"{lock}: {requirement} is not in it")
    for name, package in packages.items():
        if constraints.get(name) != package.version:
            there = constraints.get(name, "not there")
            found.append(f"{lock}: {name} {package.version}; in {CONSTRAINTS} it is {there}")
    return found


def compare(root: Path = ROOT) -> list[str]:
    """Return the faults of the lock files of a checkout."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    constraints = pins((root / CONSTRAINTS).read_text(encoding="utf-8"))
    found = []
    for lock in EXTRAS:
        path = root / FOLDER / f"{lock}.txt"
        if not path.is_file():
            found.append(f"{lock}: {path.relative_to(root)} is not there")
            continue
        text = path.read_text(encoding="utf-8")
        found += faults(lock, text, wanted(pyproject, lock), constraints)
    return found


def write(root: Path = ROOT) -> None:
    """Regenerate the lock files."""
    uv = shutil.which("uv")
    if uv is None:
        sys.exit("uv is not there: python3 -m pip install uv, or pipx install uv")
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    (root / FOLDER).mkdir(exist_ok=True)
    command = [uv, "pip", "compile", "--quiet", "--universal"]
    command += ["--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate"]
    command += ["--no-emit-find-links", "--constraint", CONSTRAINTS, "-"]
    for lock in EXTRAS:
        asked = "\n".join(wanted(pyproject, lock))
        python = ["--python-version", OLDEST_PYTHON_OF.get(lock, OLDEST_PYTHON)]
        done = subprocess.run(
            [*command, *python],
            cwd=root,
            input=asked,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            sys.exit(f"{lock}: uv ended with exit status {done.returncode}")
        (root / FOLDER / f"{lock}.txt").write_text(HEAD + done.stdout, encoding="utf-8")


def main() -> None:
    """Regenerate or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--write", action="store_true", help="make them again")
    if parser.parse_args().write:
        write()
    found = compare()
    if found:
        sys.exit("\n".join([*found, "make locks"]))
    print(f"{len(EXTRAS)} lock files are as {CONSTRAINTS} and pyproject.toml say")


if __name__ == "__main__":
    main()
