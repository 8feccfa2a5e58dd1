"""Keys of arms are plain values that do not depend on the names of classes."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, make_dataclass

import pytest

from dumbbell.replication.arm_keys import key_text, plain_key


class Kind(enum.Enum):
    IDEAL = "ideal"


@dataclass(frozen=True)
class Source:
    kind: Kind
    limit: str


@dataclass(frozen=True)
class Cell:
    source: Source
    rate: float | None


def test_a_dataclass_is_its_fields() -> None:
    cell = Cell(Source(Kind.IDEAL, "5kb"), None)
    assert plain_key(cell) == {"source": {"kind": "ideal", "limit": "5kb"}, "rate": None}
    assert key_text(cell) == "source=(kind=ideal, limit=5kb), rate=None"


def test_a_renamed_class_has_the_same_key() -> None:
    renamed = make_dataclass("Renamed", ["kind", "limit"], frozen=True)("ideal", "5kb")
    assert plain_key(renamed) == plain_key(Source(Kind.IDEAL, "5kb"))
    assert key_text(renamed) == key_text(Source(Kind.IDEAL, "5kb"))


def test_tuples_and_plain_values() -> None:
    assert plain_key((68.0, "SM")) == [68.0, "SM"]
    assert key_text((68.0, "SM")) == "68.0, SM"
    assert key_text("SM") == "SM"


def test_text_and_number_have_different_keys() -> None:
    assert json.dumps(plain_key(("1",))) != json.dumps(plain_key((1,)))


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="a frozenset in an arm's key"):
        plain_key((frozenset(),))
