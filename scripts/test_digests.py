"""Version and changelog change whenever digests do."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import digest_runs
import digests

import dumbbell
from dumbbell import _engine
from dumbbell.spec.source_forms import FORMS

V1 = {"one": "a" * 64, "two": "b" * 64}
V2 = V1 | {"two": "c" * 64}


def log(*versions: tuple[str, dict[str, str]]) -> str:
    """Return a changelog with a section for each version."""
    parts = [f"## {name}\n\nDigests: {digests.fingerprint(each)}\n" for name, each in versions]
    return "# Changelog\n\n" + "\n".join(parts)


def test_digests_version_and_changelog_moved_together() -> None:
    found = digests.faults(
        digests.today(),
        digests.kept(),
        digests.measured(),
        (digests.ROOT / digests.CHANGELOG).read_text(encoding="utf-8"),
        digests.kept_before(),
    )
    assert found == []


def test_digests_are_those_of_an_event_for_every_arrival_and_departure() -> None:
    """Fast paths change nothing but the number of events (docs/architecture.md)."""
    runs = {
        name: dumbbell.Experiment.from_toml(text)
        for name, text in digest_runs.descriptions().items()
    }
    jobs = [(experiment.resolved_json(), 0) for experiment in runs.values()]
    completed = _engine.simulate(jobs, fast_paths=False)
    ordinary = {list(runs)[done.index]: done.digest for done in completed}
    assert ordinary == digests.kept()[digests.today()]


def test_every_part_of_the_simulator_is_in_the_set() -> None:
    disciplines = {each["name"] for each in json.loads(_engine.disciplines())}
    assert disciplines == digest_runs.QUEUES.keys()
    assert set(_engine.congestion_controllers()) == set(digest_runs.CONTROLLERS)
    assert FORMS.keys() == digest_runs.SOURCES.keys()


def test_a_new_discipline_and_a_new_controller_have_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    table = json.loads(_engine.disciplines())
    table.append({"name": "fifo_head_drop", "short_example": "fifo_head_drop limit 5"})
    names = [*_engine.congestion_controllers(), "veno"]
    monkeypatch.setattr(_engine, "disciplines", lambda: json.dumps(table))
    monkeypatch.setattr(_engine, "congestion_controllers", lambda: names)
    runs = runpy.run_path(digest_runs.__file__)["descriptions"]()
    assert "qdisc = '''fifo_head_drop limit 5'''" in runs["queue fifo_head_drop"]
    assert {"controller veno rfc", "veno sack = false"} <= runs.keys()


def test_every_run_of_the_set_is_another() -> None:
    *_, last = digests.kept().values()
    by_digest: dict[str, list[str]] = {}
    for name, digest in last.items():
        by_digest.setdefault(digest, []).append(name)
    assert [names for names in by_digest.values() if len(names) > 1] == []


def test_nothing_moved() -> None:
    assert digests.faults("1.0", {"1.0": V1}, V1, log(("1.0", V1)), [{"1.0": V1}]) == []


def test_a_version_may_move_alone() -> None:
    text = log(("1.0", V1)) + "\n## 1.1\n\nA page.\n"
    assert digests.faults("1.1", {"1.0": V1}, V1, text) == []


def test_all_moved() -> None:
    both = {"1.0": V1, "1.1": V2}
    assert digests.faults("1.1", both, V2, log(("1.1", V2), ("1.0", V1)), [{"1.0": V1}]) == []


@pytest.mark.parametrize(
    ("state", "before", "words"),
    [
        (("1.0", {"1.0": V1}, V2, log(("1.0", V1))), [], "raise the version in Cargo.toml"),
        (("1.1", {"1.0": V1}, V2, log(("1.0", V1), ("1.1", V2))), [], "out of date"),
        (("1.0", {"1.0": V1}, V1 | {"new": "d"}, log(("1.0", V1))), [], "out of date"),
        (("1.1", {"1.0": V1}, V1, log(("1.0", V1))), [], "no section `## 1.1`"),
        # The stored digests were replaced, and neither version nor changelog changed.
        (("1.0", {"1.0": V2}, V2, log(("1.0", V1))), [], "no line `Digests: "),
        # The changelog's line was replaced too.
        (("1.0", {"1.0": V2}, V2, log(("1.0", V2))), [{"1.0": V1}], "were others once"),
    ],
)
def test_what_did_not_move_is_named(
    state: tuple[str, digests.ByVersion, digests.Digests, str],
    before: list[digests.ByVersion],
    words: str,
) -> None:
    (fault,) = digests.faults(*state, before)
    assert words in fault


def test_digests_of_a_version_are_not_overwritten() -> None:
    assert digests.write("1.1", {"1.0": V1}, V2) == {"1.0": V1, "1.1": V2}
    assert digests.write("1.0", {"1.0": V1}, V1 | {"new": "d"}) == {"1.0": V1 | {"new": "d"}}
    with pytest.raises(ValueError, match=r"version 1\.0 had other digests of two"):
        digests.write("1.0", {"1.0": V1}, V2)


def test_a_changed_result_ends_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: dict[str, Callable[[], object]] = {"measured": lambda: V2, "kept": lambda: {"1.0": V1}}
    for name, answer in answers.items():
        monkeypatch.setattr(digests, name, answer)
    assert digests.main([]) == 1
    said = capsys.readouterr()
    assert "two: cccc" in said.err
    assert "1 of 2 digests" in said.out
