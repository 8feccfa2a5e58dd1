"""Promises about the code itself: docstrings, and files that one can read."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import tomllib
from collections import Counter
from collections.abc import Iterator
from types import ModuleType

import pytest
from docs_pages import ROOT

PACKAGES = (
    "stats",
    "theory",
    "metrics",
    "claims",
    "replication",
    "store",
    "compare",
    "spec",
    "tables",
    "formats",
    "backends",
    "report",
    "learning",
)
LONGEST_FILE = 600
CRATES = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["members"]
SUFFIXES = {".py", ".pyi", ".rs", ".js", ".css", ".j2"}
MODULES = [f"dumbbell.{name}" for name in PACKAGES]


def modules_of(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def undocumented(where: str, thing: object) -> Iterator[str]:
    """Names without a docstring of their own: what is inherited does not count."""
    doc = thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__
    # A dataclass without one is given its signature.
    name = getattr(thing, "__name__", where)
    if not (doc or "").strip() or (doc or "").startswith(f"{name}("):
        yield where
    if inspect.isclass(thing):
        for key, member in tuple(vars(thing).items()):
            function = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if key.startswith("_") or not inspect.isfunction(function):
                continue
            # What overrides a documented method means the same.
            inherited = any(getattr(base, key, None) for base in thing.__mro__[1:])
            if function.__module__ == thing.__module__ and not inherited:
                yield from undocumented(f"{where}.{key}", function)


@pytest.mark.parametrize("package", MODULES)
def test_everything_public_has_a_docstring(package: str) -> None:
    missing = []
    for module in modules_of(package):
        if not (module.__doc__ or "").strip():
            missing.append(module.__name__)
        for name, thing in tuple(vars(module).items()):
            is_here = getattr(thing, "__module__", None) == module.__name__
            if name.startswith("_") or not is_here:
                continue
            if inspect.isclass(thing) or inspect.isfunction(thing):
                missing += undocumented(f"{module.__name__}.{name}", thing)
    assert not missing


@pytest.mark.parametrize("package", MODULES)
def test_what_is_exported_exists(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__
    for name in module.__all__:
        assert getattr(module, name, None) is not None, name


def test_files_of_tests_have_names_of_their_own() -> None:
    """Two of one name cannot be collected together."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("folder", ["python", *CRATES])
def test_files_are_short(folder: str) -> None:
    """A file over 600 lines is asking to be two."""
    lengths = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in SUFFIXES and "target" not in path.parts
    }
    assert lengths
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}
