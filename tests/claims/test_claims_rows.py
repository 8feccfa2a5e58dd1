"""claims.json: version, fields, and files of earlier versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dumbbell.claims import (
    Amendment,
    Claim,
    ClaimsFileError,
    Family,
    Grid,
    GridPoint,
    Judged,
    Origin,
    Runs,
    Stated,
    Verdict,
    from_json,
    judge,
    not_testable,
    read_claims,
    to_json_text,
    to_rows,
    views_of,
)
from dumbbell.claims.page_of_rules import EXAMPLES
from dumbbell.claims.rules import Direction, Published, Share

NUMBER = Published(printed=20.0, rounding=0.5, unit="ms")


def some() -> list[Judged]:
    claim = Claim(
        id="median",
        statement="The median is 20 ms ä <b>",
        source="a book",
        rule=NUMBER,
        fact="quartiles",
        beside=(Stated(19.0, Origin.THEORY), Stated(21.0, Origin.ELSEWHERE)),
        family=Family("quartiles", "All quartiles", "p50"),
        amended=Amendment("2026-03-14", "the rounding was forgotten"),
    )
    grid: Any = Grid(
        [
            GridPoint({"base RTT": rtt}, Runs(np.linspace(share - 0.1, share + 0.1, 5)))
            for rtt, share in (("short", 0.8), ("long", 0.2))
        ]
    )
    direction = Direction(at_each=Share.most("flows"), grid="base RTT")
    turned = Claim(id="most", statement="Most flows", source="a book", rule=direction)
    return [
        judge(claim, Runs(np.linspace(19, 21, 12)), backend="kernel"),
        judge(turned, grid),
        judge(claim, Runs([20.0])),
        not_testable(turned, "nothing was run"),
    ]


def test_a_row_says_by_which_rule_and_from_how_much() -> None:
    first, second, few, nothing = to_rows(some())
    assert first == {
        "id": "median",
        "statement": "The median is 20 ms ä <b>",
        "source": "a book",
        "backend": "kernel",
        "rule": NUMBER.words,
        "margin": None,
        "published": 20.0,
        "theory": 19.0,
        "measured_elsewhere": 21.0,
        "measured": pytest.approx(20.0),
        "low": pytest.approx(18.0, abs=0.6),
        "high": pytest.approx(22.0, abs=0.6),
        "unit": "ms",
        "level": 0.95,
        "interval_kind": "prediction",
        "n_replications": 12,
        "verdict": "reproduced",
        "depends_on": [],
        "explained_at": [],
        "p_value": 1.0,
        "chance_of_a_miss": pytest.approx(0.05),
        "kind": "published number",
        "fact": "quartiles",
        "counted_as": "the source",
        "family": {"name": "quartiles", "statement": "All quartiles", "label": "p50"},
        "amended": {"when": "2026-03-14", "what": "the rounding was forgotten"},
        "note": "",
    }
    assert second["verdict"] == "depends on base RTT"
    assert second["depends_on"] == ["base RTT"]
    assert second["interval_kind"] == "whole grid"
    assert (few["low"], few["high"], few["verdict"]) == (None, None, "inconclusive")
    assert (nothing["measured"], nothing["note"]) == (None, "nothing was run")


def test_the_file_has_its_version_no_nan_and_reads_back(tmp_path: Path) -> None:
    everything = some()
    text = to_json_text(everything)
    whole = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert whole["version"] == 2
    path = tmp_path / "claims.json"
    path.write_text(text, encoding="utf-8")
    assert read_claims(path) == views_of(everything)


def test_every_verdict_of_every_rule_reads_back() -> None:
    shown = [example for examples in EXAMPLES.values() for example in examples]
    judged = [
        judge(Claim(id=str(k), statement="s", source="t", rule=each.rule), each.evidence)
        for k, each in enumerate(shown)
    ]
    again = from_json(json.loads(to_json_text(judged)))
    assert again == views_of(judged)
    assert {view.verdict for view in again} == set(Verdict) - {Verdict.NOT_TESTABLE}


OLD = {
    "id": "ratio",
    "statement": "s",
    "source": "t",
    "backend": "sim",
    "rule": "inside",
    "margin": 0.02,
    "published": None,
    "theory": 2.0,
    "measured": 2.01,
    "low": 1.99,
    "high": 2.03,
    "unit": "1",
    "level": 0.95,
    "n_replications": 20,
    "verdict": "depends on load",
    "p_value": 1.0,
    "kind": "theory: equals",
    "note": "",
}


def test_a_file_of_the_version_before_is_read() -> None:
    (view,) = from_json([OLD])
    assert (view.verdict, view.depends_on, view.words) == (
        Verdict.DEPENDS_ON, ("load",), "inside",
    )  # fmt: skip
    assert (view.theory, view.interval_kind) == (2.0, None)


@pytest.mark.parametrize(
    ("whole", "words"),
    [
        ({"version": 3, "claims": []}, "reads 1 and 2"),
        ({"claims": []}, "version"),
        ("text", "version"),
        ([OLD | {"colour": "red"}], "colour"),
        ([OLD | {"verdict": "perhaps"}], "perhaps"),
        ([7], "int"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_word(whole: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    path.write_text(json.dumps(whole), encoding="utf-8")
    with pytest.raises(ClaimsFileError, match=words) as refused:
        read_claims(path)
    assert str(path) in str(refused.value)


def test_unknown_keys_and_words_of_this_version_are_refused(tmp_path: Path) -> None:
    (row, *_) = to_rows(some())
    for change, words in (
        ({"colour": "red"}, "colour"),
        ({"verdict": "perhaps"}, "perhaps"),
        ({"interval_kind": "guess"}, "guess"),
        ({"counted_as": "everything"}, "everything"),
    ):
        with pytest.raises(ClaimsFileError, match=words):
            from_json({"version": 2, "claims": [row | change]})
    broken = tmp_path / "claims.json"
    broken.write_text("{", encoding="utf-8")
    with pytest.raises(ClaimsFileError, match="cannot be read"):
        read_claims(broken)
