"""Arms, presets and parts: what is run, what is refused, and what a stopped study reports."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pretended_kernel as pretended
import pytest

from dumbbell import metrics
from dumbbell.backends import Cost
from dumbbell.claims import Claim, Judged, Runs, judge
from dumbbell.claims.rules import Equals
from dumbbell.errors import RunError, SpecError
from dumbbell.replication import Interrupted, Progress, Replications
from dumbbell.report import LoadRow, Report, ValueRow, ValueTable
from dumbbell.spec import Experiment
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.shape import Amount, Arm, Part, Preset, Presets, Runner
from dumbbell.tables import Run


@dataclass(frozen=True)
class Load:
    pps: int


def queue(load: Load, duration: str = "10s") -> Experiment:
    return Experiment.read(
        {
            "duration": duration,
            "links": [{"a": "a", "b": "b", "forward": {"rate": "1mbit"}}],
            "flows": [
                {
                    "name": "stream",
                    "from": "a",
                    "to": "b",
                    "source": {"kind": "poisson", "rate": f"{load.pps}pps", "size": "512B"},
                }
            ],
        }
    )


def arms(*loads: Load, duration: str = "10s") -> list[Arm[Load]]:
    return [Arm(load, queue(load, duration), f"{load.pps} packets/s") for load in loads]


@dataclass(frozen=True)
class Seen:
    replication: int
    sojourn_ms: float


def seen(run: Run) -> Seen:
    return Seen(run.replication, 1e3 * metrics.mean_sojourn_s(run, "a->b"))


@dataclass(frozen=True)
class Sizes(Preset):
    light: Amount[Load]
    heavy: Amount[Load] | None = None


LIGHT, HEAVY = Load(50), Load(200)
PRESETS = Presets(
    quick=Sizes(Amount(3, 10.0, over=(LIGHT,))),
    full=Sizes(Amount(6, 10.0, over=(LIGHT, Load(60))), Amount(2, 10.0, over=(HEAVY,))),
)


class At(Part[Replications[Load, Seen]]):
    """A queue at some loads."""

    name = "loads"

    def __init__(self, name: str, amount: Amount[Load] | None, backend: str = "sim") -> None:
        self.name = name  # type: ignore[misc]
        self.amount = amount
        self.backend = backend

    def is_wanted(self, options: StudyOptions) -> bool:
        return self.amount is not None and self.backend in options.backends

    def on_kernel(self) -> Iterable[Experiment]:
        return [queue(LIGHT, "20s")] if self.backend == "kernel" else []

    def run(self, runner: Runner) -> Replications[Load, Seen]:
        assert self.amount
        return runner.replicate(
            arms(*self.amount.over), seen, self.amount, task=self.name, backend=self.backend, keep=1
        )

    def judge(self, found: Replications[Load, Seen]) -> Iterable[Judged]:
        for arm in found.arms:
            claim = Claim(
                id=f"{self.name}-{arm.pps}",
                statement="It stays",
                source="Here",
                rule=Equals(value=5.0, margin=5.0, unit="ms"),
            )
            yield judge(claim, Runs(found.values(arm, "sojourn_ms")), backend=self.backend)

    def tables(self, found: Replications[Load, Seen]) -> Iterable[ValueTable]:
        yield ValueTable(self.name, ["n"], [ValueRow("replications", "1", [found.n])])

    def loads(self, found: Replications[Load, Seen]) -> Iterable[LoadRow]:
        return [LoadRow(self.name, arm.pps, arm.pps, "packets/s") for arm in found.arms]

    def runs(self, found: Replications[Load, Seen]) -> Mapping[str, Run]:
        return {f"{self.name} {arm.pps}": found.run(arm) for arm in found.arms}


class Loads(Reproduction):
    id = "loads"
    title = "How long?"
    summary = "Loads"

    def __init__(self, options: StudyOptions) -> None:
        super().__init__(options)
        preset = PRESETS.of(options)
        self.parts = [
            At("light", preset.light),
            At("heavy", preset.heavy),
            At("on kernel", preset.light, "kernel"),
        ]

    def written(self) -> Report:
        return self.collected(meta={"of": "this study"}, summary=f"{len(self.finished())} parts")


def test_a_study_is_a_sequence_of_parts() -> None:
    report = Loads.reproduce(StudyOptions())
    assert [one.claim.id for one in report.judged] == ["light-50", "light-60", "heavy-200"]
    assert [one.found.n for one in report.judged] == [6, 6, 2]
    assert [table.title for table in report.values] == ["light", "heavy"]
    assert [row.asked for row in report.loads] == [50, 60, 200]
    assert list(report.meta["digests_of_replication_0"]) == ["light 50", "light 60", "heavy 200"]
    assert report.meta["complete"]
    assert report.meta["of"] == "this study"
    assert "dumbbell" in report.meta["versions"]
    assert report.provenance["threads"]


def test_quick_runs_the_first_of_what_full_runs() -> None:
    quick = Loads.reproduce(StudyOptions(quick=True))
    full = Loads.reproduce(StudyOptions())
    assert [one.claim.id for one in quick.judged] == ["light-50"]
    digests = quick.meta["digests_of_replication_0"]
    assert digests.items() <= full.meta["digests_of_replication_0"].items()


@pytest.mark.parametrize(
    "more",
    [
        Sizes(Amount(3, 5.0, over=(LIGHT,))),  # a preview decides nothing
        Sizes(Amount(7, 10.0, over=(LIGHT,))),
        Sizes(Amount(3, 10.0, at_most=7, over=(LIGHT,))),
        Sizes(Amount(3, 10.0, over=(Load(70),))),
    ],
)
def test_a_quick_preset_that_is_no_part_of_full_is_refused(more: Sizes) -> None:
    with pytest.raises(ValueError, match="quick's light is no first part of full's"):
        Presets(quick=more, full=PRESETS.full)


def test_quick_has_no_part_that_full_lacks() -> None:
    with pytest.raises(ValueError, match="quick's heavy"):
        Presets(quick=replace(PRESETS.full, light=PRESETS.quick.light), full=PRESETS.quick)


@pytest.mark.usefixtures("pretended_kernel")
def test_rows_of_a_claim_on_several_backends_stand_together() -> None:
    class Both(Loads):
        def __init__(self, options: StudyOptions) -> None:
            super().__init__(options)
            amount = Amount(3, 10.0, over=(LIGHT, HEAVY))
            self.parts = [At("one", amount), At("one", amount, "kernel")]

    report = Both.reproduce(StudyOptions(backends=("sim", "kernel")))
    assert [(one.claim.id, one.backend) for one in report.judged] == [
        ("one-50", "sim"),
        ("one-50", "kernel"),
        ("one-200", "sim"),
        ("one-200", "kernel"),
    ]
    assert set(report.meta["versions"]) == {"sim", "kernel"}
    assert report.meta["longest_lateness_ns"] == 512


@pytest.mark.usefixtures("pretended_kernel")
def test_what_the_kernel_cannot_run_is_refused_before_anything_is_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at = []

    def refuse(resolved_json: str) -> Cost:
        looked_at.append(resolved_json)
        raise SpecError("kernel", "this", "another")

    monkeypatch.setattr(pretended.BACKEND, "check", refuse)
    with pytest.raises(SpecError):
        Loads.reproduce(StudyOptions(backends=("kernel",)))
    assert looked_at == [queue(LIGHT, "20s").resolved_json()]


@pytest.mark.slow
def test_stopped_early_it_reports_on_the_parts_that_finished() -> None:
    cancel = threading.Event()

    class Stopped(Loads):
        def __init__(self, options: StudyOptions) -> None:
            super().__init__(options)
            self.parts = [At("light", PRESETS.full.light), Stop(), At("heavy", PRESETS.full.heavy)]

    class Stop(At):
        def __init__(self) -> None:
            super().__init__("stop", Amount(10**6, over=(LIGHT,)))

        def run(self, runner: Runner) -> Replications[Load, Seen]:
            def stop(run: Run) -> Seen:
                if {0, 1} <= done:
                    cancel.set()
                done.add(run.replication)
                return seen(run)

            done: set[int] = set()
            assert self.amount
            return runner.replicate(arms(LIGHT), stop, self.amount, task="stop", keep=1)

    report = Stopped.reproduce(StudyOptions(cancel=cancel, jobs=1))
    # The part that was stopped has replications enough to say something; no other is begun.
    assert [one.claim.id for one in report.judged] == ["light-50", "light-60", "stop-50"]
    assert not report.meta["complete"]

    with pytest.raises(Interrupted, match="light: not begun"):
        Loads.reproduce(StudyOptions(cancel=cancel))


def stopped_after(n: int) -> Mapping[str, Any]:
    """Options with which a campaign is stopped in the n-th of its results."""
    cancel = threading.Event()
    done: set[int] = set()

    def stop(run: Run) -> int:
        done.add(run.replication)
        if len(done) == n:
            cancel.set()
        return run.replication

    return {"options": StudyOptions(cancel=cancel, jobs=1), "reduce": stop}


@pytest.mark.slow
@pytest.mark.parametrize("complete", [False, True])
def test_too_few_replications_say_nothing(complete: bool) -> None:
    of = stopped_after(0 if not complete else 7)
    if not complete:
        of["options"].cancel.set()
    runner = Runner(of["options"])
    with pytest.raises(Interrupted, match=r"^waits: interrupted after \d+ replications$"):
        runner.replicate(arms(LIGHT), of["reduce"], Amount(10**6), task="waits", complete=complete)
    assert runner.interrupted


@pytest.mark.usefixtures("pretended_kernel")
def test_a_failed_replication_is_an_error_and_no_interruption(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    poll = pretended._WithMeta.poll

    def fail(batch: pretended._WithMeta, timeout_s: float) -> Any:
        done = poll(batch, timeout_s)
        return done and replace(done, error="out of luck")

    monkeypatch.setattr(pretended._WithMeta, "poll", fail)
    with pytest.raises(RunError, match=r"^waits, Linux kernel: replication 0 failed: out of luck"):
        Runner(StudyOptions()).replicate(
            arms(LIGHT), seen, Amount(2), task="waits", backend="kernel"
        )


def test_what_is_asked_for_goes_before_the_preset() -> None:
    told: list[Progress] = []
    runner = Runner(StudyOptions(replications=5, precision=0.5, on_progress=told.append))
    assert runner.replicate(arms(LIGHT), seen, Amount(3), task="one").n == 5
    assert runner.replicate(arms(LIGHT), seen, Amount(3), task="two", fixed=True).n == 3
    # The precision asked for is of means that the study wants precise, and of no others.
    options = StudyOptions(precision=0.5)
    precise = Amount[Load](3, at_most=400, precision=1e-6)
    sojourn = {"precision_of": ["sojourn_ms"], "task": "three"}
    assert Runner(options).replicate(arms(LIGHT), seen, precise, **sojourn).n == 3
    assert {each.task for each in told} == {"one", "two"}


def test_a_part_that_was_not_run_has_found_nothing() -> None:
    part = At("never", None)
    assert not part.is_finished
    with pytest.raises(RuntimeError, match="never has not been run"):
        _ = part.found
