"""Every list of sources of traffic has those that the engine has."""

from __future__ import annotations

import tomllib
from typing import Any, get_args

import pytest

from dumbbell import spec
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment, reference, sources, unresolve
from dumbbell.spec.source_forms import FORMS, WRITTEN_ONLY, SourceForm, SourceKey, ValueKind

WITHOUT_A_KEY_IN_RUST = {"poisson": {"rate"}, "cbr": {"rate"}, "replay": {"file"}}
"""What a person may write instead, which the resolved description does not have."""
BUILT_BY_HAND = SourceForm(
    kind="late_ones",
    summary="Made up.",
    transports=("udp",),
    sends="packets",
    keys=(
        SourceKey("gap", "gap", "gap-law", "always", "Between packets."),
        SourceKey("lateness", "late_by", "gap-law", "or-null", "How late."),
        SourceKey("most", "most", "count", "or-absent", "So many."),
        SourceKey("size", "bytes", "size", "always", "Of each."),
        SourceKey("size_at", "size_at", "size-at", "always", "Where."),
    ),
    program="nothing",
    why_nothing="made up",
    example="{}",
)


def test_every_list_of_sources_has_the_engines() -> None:
    union, _ = get_args(sources.Source)
    models = {model.model_fields["kind"].default: model for model in get_args(union)}
    assert models.keys() == FORMS.keys() | WRITTEN_ONLY.keys() == sources.MODELS.keys()
    assert not FORMS.keys() & WRITTEN_ONLY.keys()
    for kind, model in models.items():
        assert reference._SECTIONS[model.__name__] == f'`source` with `kind = "{kind}"`'
        assert getattr(sources, model.__name__) is model
    for model in sources._OWN:
        assert model.__name__ in spec.__all__


@pytest.mark.parametrize("kind", {**FORMS, **WRITTEN_ONLY})
def test_a_model_has_the_keys_of_its_form(kind: str) -> None:
    model, form = sources.MODELS[kind], {**FORMS, **WRITTEN_ONLY}[kind]
    assert model.__name__ == form.class_name
    names = {key.name for key in form.keys} | WITHOUT_A_KEY_IN_RUST.get(kind, set())
    assert {*model.keys()} == {"kind", *names}
    for key in form.keys:
        assert model.model_fields[key.name].description == key.meaning


@pytest.mark.parametrize("kind", {**FORMS, **WRITTEN_ONLY})
def test_the_example_of_a_source_goes_there_and_back(kind: str) -> None:
    form = {**FORMS, **WRITTEN_ONLY}[kind]
    source = tomllib.loads(f"source = {form.example}")["source"]
    transport = "udp" if "udp" in form.transports else "tcp"
    data: dict[str, Any] = {
        "duration": "1s",
        "links": [{"a": "a", "b": "b"}],
        "flows": [{"name": "f", "from": "a", "to": "b", "source": source, "transport": transport}],
    }
    resolved = Experiment.read(data).resolved()
    assert Experiment.from_resolved(resolved).resolved() == resolved
    written = resolved["flows"][0]["source"]
    assert written["kind"] in FORMS
    if kind in WRITTEN_ONLY:
        return
    always = {key.resolved for key in form.keys if key.presence != "or-absent"}
    assert always <= written.keys() - {"kind"} <= {key.resolved for key in form.keys}


def test_a_source_without_a_class_is_its_table_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    forms = {**FORMS, BUILT_BY_HAND.kind: BUILT_BY_HAND}
    monkeypatch.setattr(sources, "FORMS", forms)
    monkeypatch.setattr(unresolve, "FORMS", forms)
    model = sources.plain_model(BUILT_BY_HAND)
    assert (model.__name__, model.keys()[0]) == ("LateOnes", "kind")
    least = {"kind": "late_ones", "gap": "5ms", "size": "9000B"}
    resolved = model.read(least).resolved()
    assert resolved == {
        "kind": "late_ones",
        "gap": {"law": "constant", "value": 0.005},
        "late_by": None,
        "bytes": 9000,
        "size_at": "wire",
    }
    again = unresolve._source(resolved, "source")
    assert model.read(again).resolved() == resolved
    all_given = model.read({**least, "lateness": "uniform 0s 9ms", "most": 3, "size_at": "payload"})
    resolved = all_given.resolved()
    assert (resolved["most"], resolved["size_at"]) == (3, "payload")
    assert model.read(unresolve._source(resolved, "source")).resolved() == resolved
    with pytest.raises(SpecError, match="lateness"):
        model.read({**least, "latenes": "1ms"})
    with pytest.raises(SpecError, match="gap"):
        model.read({"kind": "late_ones", "size": "9000B"})


def test_every_kind_of_value_is_known_where_sources_are_read() -> None:
    kinds = set(get_args(ValueKind))
    assert unresolve._OF_VALUES.keys() == kinds
    in_classes = {"exponential-gap", "constant-gap", "times", "sizes"}
    assert sources.TAKES.keys() == kinds - in_classes
    used = {key.value for form in FORMS.values() for key in form.keys}
    assert used <= kinds
