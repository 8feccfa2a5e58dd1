"""The column of a source's own programs: there where they are, else a line says why not."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dumbbell.backends.kernel import find_kernel, programs
from dumbbell.backends.kernel.confinement import Confinement, ConfinementMethod
from dumbbell.spec import Experiment
from dumbbell.studies import program_runs
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.buffer_sizing import original_programs as buffers
from dumbbell.studies.buffer_sizing import original_users
from dumbbell.studies.pie_rrul import arms
from dumbbell.studies.pie_rrul import original_programs as rrul
from dumbbell.studies.pie_rrul.arms import Setting
from dumbbell.studies.queue_size_delay import original_programs as queue_size
from dumbbell.studies.shape import Amount, Runner
from dumbbell.studies.statistical_multiplexing import original_programs as multiplexing
from dumbbell.studies.statistical_multiplexing import published
from dumbbell.studies.statistical_multiplexing.measures import PublishedRun

ON_KERNEL = StudyOptions(backends=("kernel",))
PARTS: dict[str, tuple[Callable[[], Any], str]] = {
    "statistical-multiplexing": (
        lambda: multiplexing.MultiplexingPrograms(Amount(2), 1, dict),
        "ITGDec",
    ),
    "queue-size-delay": (
        lambda: queue_size.QueueSizePrograms(Amount(2, over=("10kb",)), 1, dict),
        "ITGDec",
    ),
    "buffer-sizing, users": (lambda: original_users.IperfUsers(Amount(2), 1), "iperf"),
    "buffer-sizing": (lambda: buffers.IperfPrograms(Amount(2), 1), "tshark"),
    "pie-rrul": (
        lambda: rrul.RrulPrograms(Amount(2, over=(Setting(),)), 1, arms.rrul(2, 1), dict),
        "irtt",
    ),
}
"""A part of each study, and a program without which there is none."""


@pytest.mark.parametrize("study", PARTS)
def test_they_run_only_where_the_kernel_is_asked_for_and_they_are_there(
    study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, needed = PARTS[study]
    monkeypatch.setattr(programs, "_found", lambda name: f"/usr/bin/{name}")
    part = make()
    assert part.is_wanted(ON_KERNEL)
    assert not part.is_wanted(StudyOptions(backends=("sim",)))
    assert list(part.on_kernel())
    assert not part.why_absent(ON_KERNEL)
    monkeypatch.setattr(programs, "_found", lambda name: None if name == needed else name)
    assert not part.is_wanted(ON_KERNEL)
    assert not list(part.on_kernel())
    (said,) = part.why_absent(ON_KERNEL)
    assert f"{needed} is not installed" in said
    assert not part.why_absent(StudyOptions(backends=("sim",)))


def test_scripts_run_only_where_a_guest_is_held_to_its_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "_found", lambda name: f"/usr/bin/{name}")
    nothing = Confinement(ConfinementMethod.NOTHING)
    monkeypatch.setattr(program_runs, "best_confinement", lambda: nothing)
    part = PARTS["buffer-sizing"][0]()
    assert not part.is_wanted(ON_KERNEL)
    assert "its scripts run only where" in part.why_absent(ON_KERNEL)[0]
    assert PARTS["queue-size-delay"][0]().is_wanted(ON_KERNEL)


def test_netperf_sends_where_it_is_and_iperf3_where_it_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for hidden, kind, word in (
        ((), "netperf", "runs of netperf,"),
        (("netperf", "netserver"), "iperf3", "iperf3 (in place"),
    ):
        monkeypatch.setattr(
            programs, "_found", lambda name, hidden=hidden: None if name in hidden else name
        )
        part = PARTS["pie-rrul"][0]()
        (experiment,) = part.experiments.values()
        kinds = [each["kind"] for each in experiment.resolved()["programs"]]
        assert kinds == [kind] * 8 + ["ping"]
        assert word in rrul.caption(3, part.test, netperf=part.netperf)


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        (lambda: multiplexing.commands("SM", 1), ["-E 110 -e 512 -T UDP -t 200000", "-i 0.2"]),
        (lambda: queue_size.commands("40kb", 1), ["-E 2000 -e 512 -T UDP -t 10000", "-c 10"]),
        (
            lambda: buffers.IperfPrograms.commands(18, 1),
            [
                "-s -p 5001",
                "-p 5018 -P 5 -t 18",
                "-p 5002 -n 15000",
                "-e tcp.analysis.retransmission",
            ],
        ),
        (
            lambda: rrul.commands(Setting(), 1, arms.rrul(), netperf=True),
            ["-t TCP_STREAM -l 60", "-t TCP_MAERTS -l 60", "-i 0.2 -c 350"],
        ),
    ],
)
def test_the_commands_are_those_of_the_source(
    made: Callable[[], Experiment], lines: list[str]
) -> None:
    from dumbbell.backends.kernel.program_tasks import planned_tasks

    typed = [" ".join(each.task.words) for each in planned_tasks(made().resolved(), 0)]
    for line in lines:
        assert any(line in each for each in typed), line


def test_every_printed_number_has_a_row_and_every_side_a_column() -> None:
    def found(scale: float) -> Any:
        rng = np.random.default_rng(3)
        runs = {
            arm: [PublishedRun(scale * rng.exponential(10.0, 200)) for _ in range(4)]
            for arm in published.ARMS
        }
        return _replications(runs)

    table = multiplexing.table(found(1.0), {"simulator": found(2.0)})
    assert list(table.columns) == ["printed", "own programs", "simulator"]
    assert len(table.rows) == len(published.QUARTILES) + len(published.ARMS) + 1
    mean = next(row for row in table.rows if row.name == "SM, mean")
    assert mean.cells[2].value == pytest.approx(2 * mean.cells[1].value)


def _replications(runs: dict[str, list[PublishedRun]]) -> Any:
    """As much of replications as the table asks for."""
    from dumbbell.stats import student_interval

    class Some:
        n = 4

        def values(self, arm: str, quantity: Any) -> np.ndarray[Any, Any]:
            pick = quantity if callable(quantity) else lambda run: getattr(run, quantity)
            return np.array([pick(run) for run in runs[arm]])

        def estimate(self, arm: str, quantity: Any) -> Any:
            return student_interval(self.values(arm, quantity))

    return Some()


@pytest.mark.kernel
def test_ping_finds_the_full_queue_behind_itgsend() -> None:
    """Behind 10 kb the greatest of ten pings is 0.5 to 2.5 ms below m/mu of 12.5 ms."""
    part = queue_size.QueueSizePrograms(Amount(2, over=("10kb",)), 1, dict)
    missing = program_runs.missing_programs(part.experiments.values())
    if missing or find_kernel() is None:
        why = f"missing: {', '.join(missing) or 'a kernel'}"
        if os.environ.get("CI") or os.environ.get("DUMBBELL_REQUIRE_KERNEL"):
            pytest.fail(why)
        pytest.skip(why)
    found = part.finish(Runner(ON_KERNEL))
    assert ((found.values("10kb") > 9.0) & (found.values("10kb") < 12.51)).all()
    (table,) = part.tables(found)
    assert list(table.columns) == ["m/µ", "own programs", "a real kernel, three runs"]
