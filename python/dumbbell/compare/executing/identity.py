"""The key of a task's result in a store: a hash of everything that determines the result."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import dumbbell
from dumbbell.backends import get_backend, native_module_sha256, package_version
from dumbbell.compare.executing.executor import Task

_FORMAT = "dumbbell result 1"
_DECIDING = (
    "backends",
    "metrics",
    "spec",
    "stats",
    "tables",
    "units.py",
    "compare/measures.py",
    "compare/quantity.py",
    "compare/summary.py",
)
"""The Python code that determines numbers from a description."""
_OF_NO_ACCOUNT = frozenset({"guest_confined_by"})
"""Versions that do not affect results (docs/architecture.md, "The kernel in virtual time")."""


class Identities:
    """Computes keys of tasks; parts that tasks of one description share are computed once."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        self._known: dict[tuple[str, str], tuple[str, str]] = {}
        self._versions: dict[str, str] = {}

    def of(self, task: Task) -> tuple[bytes, str]:
        """The key of a task's result, and its version part.

        Returns:
            SHA-256 of description, replication, backend and versions; and the versions, as JSON: of
            dumbbell, of its code (`code_sha256`), and of everything the backend runs.

        Raises:
            DumbbellError: The backend is not available.
        """
        known = self._known.get((task.description, task.backend))
        if known is None:
            # Share equal strings: most of a hundred thousand tasks have the same one.
            version = version_of(task)
            version = self._versions.setdefault(version, version)
            known = _digest(task.description), version
            self._known[task.description, task.backend] = known
        described, version = known
        parts = [_FORMAT, described, task.replication, task.backend, version]
        return hashlib.sha256(json.dumps(parts).encode()).digest(), version


def version_of(task: Task) -> str:
    """Versions that determine the task's result besides the description, as JSON."""
    of_backend = get_backend(task.backend).versions(json.loads(task.description))
    versions = {
        "dumbbell": package_version(),
        "code_sha256": code_sha256(),
        **{name: value for name, value in of_backend.items() if name not in _OF_NO_ACCOUNT},
    }
    return json.dumps(versions, sort_keys=True, ensure_ascii=False)


@functools.cache
def code_sha256() -> str:
    """Hash of the native module and of the Python code that determines numbers.

    The version number does not suffice: in a clone, code changes between versions.
    """
    return _sha256_with(native_module_sha256(), _DECIDING)


@functools.cache
def python_sha256(*names: str) -> str:
    """Hash of Python code: packages and modules by their paths below ``dumbbell``."""
    return _sha256_with("", names)


def _sha256_with(other: str, names: Sequence[str]) -> str:
    digest = hashlib.sha256(other.encode())
    for path in _files(names):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _files(names: Sequence[str]) -> Iterator[Path]:
    package = Path(dumbbell.__file__).parent
    for name in names:
        place = package / name
        yield from sorted(place.rglob("*.py")) if place.is_dir() else [place]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
