"""TOML that is written is TOML that says the same when it is read."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell import _engine
from dumbbell.lab.presets import presets
from dumbbell.spec import Experiment
from dumbbell.spec.experiment import context
from dumbbell.spec.toml_text import document_text, quoted_keys_text
from dumbbell.spec.unresolve import as_written

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(
    file
    for file in (ROOT / "examples").rglob("*.toml")
    if "links" in (document := tomllib.loads(file.read_text(encoding="utf-8")))
    or "shape" in document
)
# What Python reads back as the same value: TOML has no surrogates, and a NaN equals nothing.
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
_PLAIN = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | _TEXTS
_VALUES = st.recursive(
    _PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3)
)


def _resolves_again(experiment: Experiment, folder: Path = ROOT) -> None:
    resolved = experiment.resolved_json()
    document = tomllib.loads(document_text(as_written(json.loads(resolved))))
    again = Experiment.read(document, context(folder, allow_programs=True))
    assert again.resolved_json() == resolved


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(ROOT)))
def test_an_example_written_again_resolves_to_the_same(file: Path) -> None:
    _resolves_again(Experiment.from_toml(file, allow_programs=True), file.parent)


@pytest.mark.parametrize("place", range(len(presets())))
def test_a_preset_written_again_resolves_to_the_same(place: int) -> None:
    _resolves_again(presets()[place].experiment)


@pytest.mark.parametrize("source", json.loads(_engine.sources()), ids=lambda each: each["kind"])
def test_a_source_written_again_resolves_to_the_same(source: dict[str, Any]) -> None:
    links = 'links = [{ a = "a", b = "b", rate = "10mbit", delay = "1ms" }]'
    flow = f'[[flows]]\nname = "f"\nfrom = "a"\nto = "b"\nsource = {source["example"]}'
    _resolves_again(Experiment.from_toml(f'duration = "1s"\n{links}\n{flow}\n'))


@given(st.dictionaries(_TEXTS, _VALUES, max_size=4))
def test_what_is_written_is_read_as_the_same(document: dict[str, Any]) -> None:
    assert tomllib.loads(document_text(document)) == document


@given(_VALUES)
def test_a_value_on_a_line_is_read_as_the_same(value: Any) -> None:
    text = quoted_keys_text(value)
    assert "\n" not in text
    assert tomllib.loads(f"value = {text}") == {"value": value}


def test_tables_of_a_list_follow_the_values() -> None:
    document = {
        "links": [{"a": "x", "forward": {"loss": 0.5}}, {"a": "\x7f"}],
        "name": "n",
        "hosts": [],
        "a b": (1, True),
    }
    assert document_text(document) == (
        'name = "n"\nhosts = []\n"a b" = [1, true]\n'
        '\n[[links]]\na = "x"\nforward = { loss = 0.5 }\n\n[[links]]\na = "\\u007f"\n'
    )
    assert quoted_keys_text({"kind": "greedy"}) == '{ "kind" = "greedy" }'


def test_what_toml_has_not_is_refused() -> None:
    with pytest.raises(TypeError, match="NoneType"):
        document_text({"key": None})
