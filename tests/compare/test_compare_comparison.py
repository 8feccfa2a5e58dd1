"""Cells run and compared."""

from __future__ import annotations

import math
import threading
import tomllib
from typing import Any

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.compare import (
    Arm,
    Basis,
    Cell,
    Comparison,
    Outcome,
    compare,
    sentences,
    summary_of,
)
from dumbbell.compare.capacity import possible_bps
from dumbbell.compare.quantity import Quantity
from dumbbell.errors import FailureKind, RunError, SpecError
from dumbbell.replication import Interrupted, Progress
from dumbbell.spec import Experiment, Resolved, Setting, settings_applied
from dumbbell.stats import difference_interval

LINE: dict[str, Any] = {
    "name": "line",
    "duration": "6s",
    "warm_up": "1s",
    "links": [
        {"a": "server", "b": "isp", "delay": "10ms"},
        {"a": "isp", "b": "home", "rate": "10mbit"},
    ],
    "flows": [
        {
            "name": "bulk",
            "count": 2,
            "from": "server",
            "to": "home",
            "start_jitter": "200ms",
            "source": {"kind": "greedy"},
        },
        {
            "name": "web",
            "from": "server",
            "to": "home",
            "source": {"kind": "arrivals", "gap": "exponential 3pps", "size": "exponential 20kb"},
        },
    ],
    "probes": [{"name": "call", "from": "home", "to": "server", "interval": "50ms"}],
}
CALL = "probe[call].mean_rtt_ms"


def cell(qdisc: str, **changes: Any) -> Cell:
    base = Experiment.read(LINE).with_(**changes)
    return Cell(qdisc, base.with_link("isp", "home", qdisc=qdisc))


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare([cell("pfifo"), cell("fq_codel")], replications=6, keep=1)


def test_numbers_are_those_of_the_runs(found: Comparison) -> None:
    experiment = cell("fq_codel").experiment
    summaries = [summary_of(simulate(experiment, number)) for number in range(6)]
    values = [each[CALL] for each in summaries]
    assert found.replicates("fq_codel").values(summaries[0].quantities[0]).shape == (6,)
    assert found.measured(CALL, "fq_codel").value == pytest.approx(np.mean(values))
    base = [summary_of(simulate(cell("pfifo").experiment, number))[CALL] for number in range(6)]
    expected = difference_interval(values, base)
    difference = found.difference(CALL, "fq_codel")
    assert difference.measured.low == pytest.approx(expected.low)
    assert difference.measured.high == pytest.approx(expected.high)
    assert difference.outcome is Outcome.DIFFERS
    assert difference.base == "pfifo"
    kept = found.replicates("pfifo").kept
    assert [run.meta["digest"] for run in kept] == [
        simulate(cell("pfifo").experiment).meta["digest"]
    ]


def test_rows_are_those_that_say_something(found: Comparison) -> None:
    paths = [each.path for each in found.quantities]
    assert "flows[bulk].total_goodput_bps" in paths
    assert "flow[web].mean_completion_time_s" in paths
    assert CALL in paths
    assert "queue[isp->home].mean_sojourn_s" in paths
    # Members of a group, queues where nobody waits, and one flow's transfers a second time.
    assert not [each for each in paths if "bulk-1" in each or "home->isp" in each]
    assert "network.mean_completion_time_s" not in paths


def test_the_sentence_says_what_differs_and_what_is_the_same(found: Comparison) -> None:
    (said,) = sentences(found)
    assert said.startswith("fq_codel in place of pfifo: ")
    before, after = (found.measured(CALL, each).value for each in ("pfifo", "fq_codel"))
    assert f"call: round trip, mean from {before:.0f} to {after:.1f} ms" in said
    same = said.partition("the same: ")[2].partition(";")[0]
    assert "isp->home: busy" in same


def test_results_do_not_depend_on_threads(found: Comparison) -> None:
    again = compare([cell("pfifo"), cell("fq_codel")], replications=6, jobs=1)
    for arm, replicates in found.results.items():
        for one, other in zip(replicates.summaries, again.results[arm].summaries, strict=True):
            assert np.array_equal(one.numbers, other.numbers, equal_nan=True)


def test_a_precision_is_reached_by_each_cell_for_itself() -> None:
    # Pings behind a full queue vary less than behind random arrivals.
    found = compare([cell("pfifo"), cell("pie")], precision=0.2)
    for arm, replicates in found.results.items():
        assert replicates.precise, arm
        assert "precise enough" in replicates.stopped_because
        row = found.measured(CALL, arm.cell)
        assert (row.high - row.low) / 2 <= 0.2 * row.value
    with pytest.raises(SpecError, match="either --replications or --precision"):
        compare([cell("pfifo")], precision=0.2, replications=3)


def test_nothing_random_gets_an_ensemble_or_no_interval() -> None:
    greedy = {"flows": [{**LINE["flows"][0], "start_jitter": "0s"}]}
    settled = cell("pfifo limit 20", **Experiment.read({**LINE, **greedy}).model_dump(
        include={"flows"}))  # fmt: skip
    found = compare([settled], replications=5)
    assert found.ensemble is not None
    assert found.measured(CALL, settled.label).basis is Basis.SPREAD
    alone = compare([settled], replications=1)
    assert alone.ensemble is None
    assert alone.measured(CALL, settled.label).basis is Basis.SINGLE
    assert sentences(alone) == []
    with pytest.raises(SpecError, match="nothing is random"):
        compare([settled], precision=0.1)


def test_a_cell_that_cannot_run_is_reported_and_the_others_finish() -> None:
    irtt = [{**LINE["probes"][0], "kind": "irtt"}]
    wrong = Cell("irtt", Experiment.read({**LINE, "probes": irtt}))
    found = compare([cell("pfifo"), wrong, cell("pie")], replications=2)
    assert [each.label for each in found.cells] == ["pfifo", "pie"]
    (failed,) = found.failed
    assert (failed.label, failed.replication) == ("irtt", None)
    assert "probes[0].kind" in str(failed.error)
    with pytest.raises(SpecError, match=r"probes\[0\]\.kind"):
        compare([wrong], replications=2)


def test_a_replication_that_fails_fails_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    from dumbbell.compare.executing import threads

    true = threads.run_many

    def run_many(listed: Any, *, on_failure: Any, **options: Any) -> Any:
        from dumbbell.backends import Failure

        listed = list(listed)
        kept = []
        for index, (experiment, number) in enumerate(listed):
            if number == 1 and '"pie"' in experiment.resolved_json():
                on_failure(Failure(index, number, "it stood still", FailureKind.STANDSTILL))
            else:
                kept.append((index, (experiment, number)))
        for place, run in true([job for _, job in kept], **options):
            yield kept[place][0], run

    monkeypatch.setattr(threads, "run_many", run_many)
    found = compare([cell("pfifo"), cell("pie")], replications=3)
    (failed,) = found.failed
    assert (failed.label, failed.replication, failed.backend) == ("pie", 1, "sim")
    assert failed.command.endswith("--backend sim --replication 1")
    assert list(found.results) == [Arm("pfifo", "sim")]
    assert found.replicates("pfifo").n == 3
    with pytest.raises(RunError, match="stood still"):
        compare([cell("pie")], replications=3)


def test_stopped_it_keeps_what_was_finished() -> None:
    stop = threading.Event()

    def after_two(progress: Progress) -> None:
        if progress.done >= 4:
            stop.set()

    long = {"duration": "60s"}
    cells = [cell("pfifo", **long), cell("pie", **long)]
    found = compare(cells, replications=50, jobs=1, on_progress=after_two, cancel=stop)
    assert found.interrupted
    assert all(1 <= each.n < 50 for each in found.results.values())
    stop.set()
    with pytest.raises(Interrupted):
        compare(cells, replications=2, cancel=stop)


def test_cells_with_other_flows_share_the_rows_that_both_have() -> None:
    fewer = cell("pfifo", flows=[LINE["flows"][1]])
    found = compare([cell("pie"), Cell("quiet", fewer.experiment)], replications=2)
    paths = [each.path for each in found.quantities]
    assert CALL in paths
    assert not [each for each in paths if "bulk" in each]


def test_a_number_that_some_run_has_not_is_not_made_up() -> None:
    quiet = {**LINE["flows"][1], "source": {**LINE["flows"][1]["source"], "gap": "exponential 6s"}}
    found = compare([cell("pfifo", flows=[quiet])], replications=6)
    row = found.measured("flow[web].mean_completion_time_s", "pfifo")
    assert row.basis is Basis.UNDEFINED
    assert math.isnan(row.value)


POLICED = """
duration = "3s"
[[links]]
a = "a"
b = "r"
[[links]]
a = "r"
b = "b"
delay = "10ms"
[links.forward]
rate = "100mbit"
police = "police rate 10mbit burst 50kb drop"
[[flows]]
name = "download"
from = "a"
to = "b"
source = { kind = "greedy" }
"""


@pytest.mark.parametrize(
    ("path", "change", "most_mbps"),
    [
        ("flow[download].goodput_bps", "", 10.0),
        ("flows[download].total_goodput_bps", "", 10.0),
        ("network.total_goodput_bps", "", 10.0),
        ("queue[r->b].throughput_bps", "", 10.0),
        ("flow[download].goodput_bps", "links[r->b].forward.police=none", 100.0),
        ("queue[b->r].throughput_bps", "", math.inf),
    ],
)
def test_a_margin_is_of_what_is_sold(path: str, change: str, most_mbps: float) -> None:
    """3 % of the line would call 8.15 and 9.10 Mbit/s the same where 10 of 100 are sold."""
    settings = [Setting.parse(change)] if change else []
    experiment = Experiment.read(settings_applied(tomllib.loads(POLICED), settings))
    described = Resolved(experiment.resolved())
    assert possible_bps(Quantity.parse(path), described) == 1e6 * most_mbps


def test_a_shaper_on_a_fast_link_is_what_is_possible() -> None:
    shaped = POLICED.replace(
        'police = "police rate 10mbit burst 50kb drop"',
        'qdisc = "tbf rate 4mbit burst 20kb latency 50ms"',
    )
    described = Resolved(Experiment.from_toml(shaped).resolved())
    assert described.queue("r->b").most_passed_bps == 4_000_000
    assert possible_bps(Quantity.parse("flow[download].goodput_bps"), described) == 4e6
