"""What studies do alike: checked before anything runs, stopped early, refused when runs fail."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pretended_kernel as pretended
import pytest

from dumbbell.backends import Cost, Outcome
from dumbbell.claims.legacy import Claim, Judged, Kind, not_testable
from dumbbell.errors import RunError, SpecError
from dumbbell.report import Report
from dumbbell.spec import Experiment
from dumbbell.studies import reproduction
from dumbbell.studies.base import Study, StudyOptions
from dumbbell.studies.reproduction import Reproduction, every_run, replications
from dumbbell.sweep import Interrupted, Progress, Replications
from dumbbell.tables import Run

CLAIM = Claim(
    id="one",
    statement="It waits",
    source="Here",
    kind=Kind.THEORY_EQUALS,
    theory=1,
    margin=1,
    unit="1",
)


def queue(duration: str = "10s") -> Experiment:
    return Experiment.read(
        {
            "duration": duration,
            "links": [{"a": "a", "b": "b", "forward": {"rate": "1mbit"}}],
            "flows": [
                {
                    "name": "stream",
                    "from": "a",
                    "to": "b",
                    "source": {"kind": "poisson", "rate": "100pps", "size": "512B"},
                }
            ],
        }
    )


def number(runs: Mapping[str, Run]) -> dict[str, float]:
    return {"replication": next(iter(runs.values())).replication}


class Parts(Reproduction):
    id = "parts"
    title = "How many?"
    summary = "Parts"
    begun: tuple[str, ...] = ()

    def on_kernel(self) -> Iterable[Experiment]:
        return [queue("20s")]

    def run_all(self) -> None:
        Parts.begun += ("run_all",)
        self.run_part(self.options.seed > 1)
        raise Interrupted("stopped after the first part")

    def run_part(self, is_finished: bool) -> None:
        if is_finished:
            self.judged.append(judged())

    def written(self) -> Report:
        return Report(
            study=self.id,
            title=self.title,
            summary=self.summary,
            judged=self.judged,
            meta=self.asked(),
        )


def judged() -> Judged:
    return not_testable(CLAIM, "nothing was run")


def test_a_class_is_the_study() -> None:
    study: Study = Parts
    assert (study.id, study.title) == ("parts", "How many?")


def test_stopped_early_it_reports_on_what_was_finished_if_anything_was() -> None:
    with pytest.raises(Interrupted, match="stopped after the first part"):
        Parts.reproduce(StudyOptions(seed=1))
    report = Parts.reproduce(StudyOptions(seed=2, quick=True))
    assert len(report.judged) == 1
    assert report.meta == {
        "study": "parts",
        "preset": "quick",
        "complete": False,
        "seed": 2,
        "backends": ["sim"],
    }


@pytest.mark.usefixtures("pretended_kernel")
def test_what_the_kernel_cannot_run_is_refused_before_anything_is_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at = []

    def refuse(resolved_json: str) -> Cost:
        looked_at.append(resolved_json)
        raise SpecError("kernel", "this", "another")

    monkeypatch.setattr(pretended.BACKEND, "check", refuse)
    Parts.begun = ()
    with pytest.raises(SpecError):
        Parts.reproduce(StudyOptions(seed=2, backends=("sim", "kernel")))
    assert looked_at == [queue("20s").resolved_json()]
    assert Parts.begun == ()


def stopped_after(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`replicate` as when somebody stops it after so many replications."""
    results = {"": tuple({"replication": float(at)} for at in range(n))}
    because = f"interrupted after {n} replications"
    done = Replications(results, n, because, {"": ()}, interrupted=True)
    monkeypatch.setattr(reproduction, "replicate_groups", lambda *_, **__: done)


@pytest.mark.parametrize(("n", "complete"), [(0, False), (1, False), (7, True)])
def test_too_few_replications_say_nothing(
    n: int, complete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped_after(n, monkeypatch)
    arms, asked = {"run": queue()}, {"at_least": 9, "complete": complete}
    with pytest.raises(Interrupted, match=f"^waits: interrupted after {n} replications$"):
        replications(StudyOptions(), arms, number, task="waits", **asked)


def test_two_replications_say_something(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_after(2, monkeypatch)
    done = replications(StudyOptions(), {"run": queue()}, number, at_least=9, task="waits")
    assert done.n == 2
    assert done.interrupted


@pytest.mark.usefixtures("pretended_kernel")
def test_a_failed_replication_is_an_error_and_no_interruption(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    poll = pretended._WithMeta.poll

    def fail(batch: pretended._WithMeta, timeout_s: float) -> Outcome | None:
        done = poll(batch, timeout_s)
        return done and replace(done, error="out of luck")

    monkeypatch.setattr(pretended._WithMeta, "poll", fail)
    of: dict[str, Any] = {"task": "waits", "backend": "kernel"}
    with pytest.raises(RunError, match=r"^waits, Linux kernel: replication 0 failed: out of luck"):
        replications(StudyOptions(), {"run": queue()}, number, at_least=2, complete=True, **of)
    with pytest.raises(RunError, match="out of luck"):
        list(every_run(StudyOptions(), [(queue(), 0)], **of))


@pytest.mark.usefixtures("pretended_kernel")
def test_every_run_tells_how_far_it_is_and_is_all_or_none() -> None:
    told: list[Progress] = []
    jobs = [(queue("1000s"), replication) for replication in range(4)]
    options = StudyOptions(jobs=1, on_progress=told.append)
    done = dict(every_run(options, jobs, task="each", backend="kernel"))
    assert {place: run.replication for place, run in done.items()} == {0: 0, 1: 1, 2: 2, 3: 3}
    assert {(each.task, each.total, each.unit) for each in told} == {
        ("each, Linux kernel", 4.0, "runs")
    }

    cancel = threading.Event()
    got = []
    with pytest.raises(Interrupted, match=r"^stopped after \d+ of 1000000 runs \(each\)$"):
        for place, _ in every_run(
            StudyOptions(jobs=1, cancel=cancel), [(queue(), 0)] * 10**6, task="each"
        ):
            got.append(place)
            cancel.set()
    assert 1 <= len(got) < 10**6
