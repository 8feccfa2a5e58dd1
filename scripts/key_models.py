"""The types of keys that are described in Rust, for type checkers and editors.

``python scripts/key_models.py --write`` after a key was added to a table below ``spec/src``;
``tests/spec/test_spec_tcp.py`` fails where it was not.
"""

from __future__ import annotations

import argparse
import types
import typing
from pathlib import Path
from typing import Any

from dumbbell.spec.base import SpecModel
from dumbbell.spec.experiment import Experiment
from dumbbell.spec.flows import Flow, Ping
from dumbbell.spec.home import Home
from dumbbell.spec.links import Change, LinkEnd, LinkOptions
from dumbbell.spec.tcp import Tcp

PLACE = Path(__file__).resolve().parents[1] / "python" / "dumbbell" / "spec" / "key_models.pyi"
MODELS: tuple[type[SpecModel], ...] = (
    Experiment,
    Change,
    LinkEnd,
    LinkOptions,
    Flow,
    Ping,
    Home,
    Tcp,
)
"""Models that derive from a model generated from a table of keys."""
LONGEST_LINE = 100
_HEAD = '''\
"""Keys that are described in Rust; written by ``python scripts/key_models.py --write``."""

import collections.abc

import dumbbell.spec.links
import dumbbell.spec.sources
import dumbbell.spec.tcp
import dumbbell.spec.traces
from dumbbell.spec.base import SpecModel
'''


def stub() -> str:
    """Return the text of the stub."""
    return _HEAD + "".join(_class(model.__base__ or model) for model in MODELS)


def _class(model: type[Any]) -> str:
    hints = typing.get_type_hints(model)
    keys = (_line(key, _named(hints[key])) for key in model.model_fields)
    return f"\nclass {model.__name__}(SpecModel):\n{''.join(keys)}"


def _line(key: str, named: str) -> str:
    """Return the line of a key, as ruff formats it."""
    line = f"    {key}: {named} = ...\n"
    if len(line) <= LONGEST_LINE + 1:
        return line
    choices = "\n        | ".join(named.split(" | "))
    return f"    {key}: (\n        {choices}\n    ) = ...\n"


def _named(hint: Any) -> str:
    """Return an annotation that every Python version can parse."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " | ".join(_named(each) for each in typing.get_args(hint))
    if hint is types.NoneType:
        return "None"
    if getattr(hint, "__module__", "").startswith("dumbbell."):
        return f"{hint.__module__}.{hint.__name__}"
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write it to its place")
    if parser.parse_args().write:
        PLACE.write_text(stub(), encoding="utf-8")
    else:
        print(stub(), end="")
