"""Every list of sources of traffic has those that the engine has."""

from __future__ import annotations

from typing import get_args

from dumbbell import _engine, spec
from dumbbell.spec import reference, sources, unresolve


def test_every_list_of_sources_has_the_engines() -> None:
    kinds = _engine.source_kinds()
    assert len(set(kinds)) == len(kinds)
    union, _ = get_args(sources.Source)
    models = {model.model_fields["kind"].default: model for model in get_args(union)}
    assert models.keys() == set(kinds)
    assert unresolve._SOURCES.keys() == set(kinds)
    for model in models.values():
        assert model.__name__ in spec.__all__
        assert model.__name__ in reference._SECTIONS
