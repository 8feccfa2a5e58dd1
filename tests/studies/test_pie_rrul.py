"""The study of PIE under rrul: what is printed, the ring, measures, claims, report."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.claims.legacy import Verdict
from dumbbell.report import Report, write_report
from dumbbell.studies import StudyOptions, get_study, pie_rrul
from dumbbell.studies.pie_rrul import arms, judging, measures, published, text
from dumbbell.studies.pie_rrul.campaigns import Arm, collect

SHORT = arms.rrul(10, 1)


@pytest.fixture(scope="module")
def report() -> Report:
    return get_study("pie-rrul").reproduce(StudyOptions(quick=True, replications=2))


def test_seven_distinct_settings() -> None:
    assert len(published.TABLES) == 8
    assert len(arms.SETTINGS) == 7
    assert published.TABLES["tupdate", 30] == published.TABLES["target", 20]
    assert sum(len(numbers) for numbers in published.TABLES.values()) == 72


def test_the_source_conflicts_with_itself() -> None:
    numbers = published.TABLES["target", 20]
    assert pytest.approx(94.1, abs=0.1) == published.LARGEST_MBPS
    assert 4 * numbers["upload"] > published.LARGEST_MBPS > numbers["throughput"]


def test_a_bucket_before_the_line_is_a_ring_of_its_size() -> None:
    """While there is a backlog the FIFO behind the bucket holds the burst, and never more."""
    ring = 60_000
    run = simulate(arms.experiment("pfifo limit 1000", test=SHORT, ring_bytes=ring))
    behind = "ring->server"
    held = run.column("queues", "backlog_max_bytes", queue=behind)[0]
    assert ring - 4 * published.WIRE_BYTES < held <= ring
    levels = run.column("queue_samples", "backlog_bytes", queue=behind)
    backlog = run.column("queue_samples", "backlog_bytes", queue=arms.queue_name(ring))
    loaded = backlog > 10 * published.WIRE_BYTES
    assert loaded.sum() > 20
    assert levels[loaded].min() > ring - 5 * published.WIRE_BYTES
    assert run.column("queues", "dropped_overlimit_pkts", queue=behind)[0] == 0


def test_the_rings_time_is_added_to_the_latency() -> None:
    """PIE keeps its own queue at the target; what is behind it comes on top."""
    qdisc = arms.Setting(target_ms=10).qdisc()
    latency = {}
    for ring in (0, 50_000):
        run = simulate(arms.experiment(qdisc, test=SHORT, ring_bytes=ring))
        of = measures.measured(run, SHORT)
        assert of["queue_delay_ms"] == pytest.approx(10, abs=1.5)
        latency[ring] = of["latency_ms"]
    assert latency[50_000] - latency[0] == pytest.approx(4, abs=1)


def test_behind_a_gateway_the_downloads_queue_is_not_at_their_sender() -> None:
    """The router's queue is found all the same."""
    qdisc = arms.Setting().qdisc(arms.ESTIMATOR)
    for ring in (0, arms.RING_BYTES):
        run = simulate(arms.experiment(qdisc, test=SHORT, ring_bytes=ring, gateway=True))
        back = f"gateway->{'ring' if ring else 'router'}"
        own, queued_s = (
            run.column("queues", "wait_mean_s", queue=queue)[0]
            for queue in ("server->gateway", back)
        )
        assert 10 * own < queued_s
        of = measures.measured(run, SHORT)
        assert of["queue_delay_ms"] == pytest.approx(20, abs=3)
        assert of["download_mbps"] > 85


def test_the_ellipse_reaches_two_standard_deviations() -> None:
    random = np.random.default_rng(4)
    x = random.normal(26, 2, 400)
    y = 91 + 0.8 * (x - 26) + random.normal(0, 1, 400)
    across, up = measures.covariance_ellipse(x, y, 721)
    assert across.max() == pytest.approx(x.mean() + 2 * x.std(ddof=1), rel=1e-4)
    assert up.min() == pytest.approx(y.mean() - 2 * y.std(ddof=1), rel=1e-4)
    # On the curve the Mahalanobis distance is 2 everywhere.
    centred = np.stack([across - x.mean(), up - y.mean()])
    distance = np.sqrt((centred * (np.linalg.inv(np.cov(x, y)) @ centred)).sum(0))
    assert distance == pytest.approx(np.full(721, 2.0))


def test_measures_are_sums_over_the_load() -> None:
    run = simulate(arms.experiment(arms.Setting().qdisc(), test=SHORT))
    of = measures.measured(run, SHORT)
    line = measures.series(run, SHORT)
    assert len(line.t_s) == 50
    assert line.t_s[0] == pytest.approx(1.2)
    assert of["upload_mbps"] == pytest.approx(4 * of["upload_each_mbps"])
    assert 80 < of["upload_mbps"] < published.LARGEST_MBPS
    dropped = run.column("queues", "dropped_aqm_pkts", queue=arms.queue_name(1))[0]
    limit = run.column("queues", "dropped_overlimit_pkts", queue=arms.queue_name(1))[0]
    assert of["drops_pkts"] == dropped + limit > 0


def _pretended(latency_ms: list[float], like: Arm) -> Arm:
    values = {**like.values, "latency_ms": np.array(latency_ms)}
    return Arm(values, like.first)


def test_claims_can_fail() -> None:
    experiments = {"any": arms.experiment(arms.Setting().qdisc(), test=SHORT)}
    like = collect(StudyOptions(), experiments, SHORT, 3, task="test")["any"]
    near = _pretended([25.9, 26.1, 26.0], like)
    far = _pretended([31.9, 32.1, 32.0], like)
    number = [judging.judge_number(arm, "target", 20, "latency") for arm in (near, far)]
    assert [one.verdict for one in number] == [Verdict.REPRODUCED, Verdict.NOT_REPRODUCED]
    one, other = arms.BY_TUPDATE[:2]
    for pair, wanted in (
        ({one: near, other: near}, Verdict.REPRODUCED),
        ({one: near, other: far}, Verdict.NOT_REPRODUCED),
    ):
        assert judging.judge_hardly(pair, "alone", "sim")[0].verdict is wanted
    small, large = arms.BY_TARGET[0], arms.BY_TARGET[-1]
    for by, wanted in (
        ({small: near, large: far}, Verdict.REPRODUCED),
        ({small: far, large: near}, Verdict.NOT_REPRODUCED),
    ):
        assert judging.judge_follows(by, "latency_ms", "latency", "sim").verdict is wanted
    assert judging.judge_tick(near, near, None, "sim").verdict is Verdict.REPRODUCED
    assert judging.judge_tick(near, far, None, "sim").verdict is Verdict.NOT_REPRODUCED
    agreed = judging.judge_agreement(near, far, "pie", "x")
    verdicts = {judged.claim.id: judged.verdict for judged in agreed}
    assert verdicts["agreement-x-latency"] is Verdict.NOT_REPRODUCED
    assert verdicts["agreement-x-upload"] is Verdict.REPRODUCED


def test_every_printed_number_is_judged(report: Report) -> None:
    ids = {one.claim.id: one for one in report.judged}
    for (varied, milliseconds), numbers in published.TABLES.items():
        for name, printed in numbers.items():
            one = ids[f"{varied}-{milliseconds}-{name}"]
            assert one.claim.published == printed
            assert one.low is not None and one.high is not None
            if name == "upload" and printed == 24 and one.verdict is not Verdict.REPRODUCED:
                assert "conflict" in one.note


def test_what_the_source_saw(report: Report) -> None:
    ids = {one.claim.id: one.verdict for one in report.judged}
    for name in (
        "queue-delay-follows-target",
        "latency-follows-target",
        "target-equal-throughput",
        "tick-1-acts-as-4",
        "delay-is-target-5",
    ):
        assert ids[name] is Verdict.REPRODUCED, name
    nominal = [verdict for name, verdict in ids.items() if name.startswith("nominal-")]
    assert nominal and Verdict.NOT_REPRODUCED in nominal


def test_the_page_has_tables_figures_and_flents_files(report: Report, tmp_path: Path) -> None:
    titles = [table.title for table in report.values]
    for varied in ("tupdate", "target"):
        assert f"Observation table, {varied} varied, no other traffic" in titles
    assert "What should one set on this router?" in titles
    names = {figure.name for figure in report.figures}
    for kind in ("ellipsis", "totals", "drops", "delay"):
        assert {f"{kind}-alone-tupdate", f"{kind}-alone-target"} <= names
    assert {"ellipsis-bursts-both", "delay-tcp-both"} <= names
    page = write_report(report, tmp_path / "page").read_text(encoding="utf-8")
    assert "rrul does not read" in page
    content = report.files["pie-t20-tu30.flent.gz"]
    assert isinstance(content, bytes)
    file = json.loads(gzip.decompress(content))
    assert file["metadata"]["NAME"] == "rrul"
    assert len(file["results"]["TCP upload sum"]) == len(file["x_values"])


def test_intervals_end_where_nothing_can_be(report: Report) -> None:
    """But for an ellipse, which goes on where no sample is."""
    bursts = next(
        table for table in report.values if table.title.endswith("target varied, with UDP bursts")
    )
    assert any("−" in cell for row in bursts.rows if "end" in row.name for cell in row.cells)
    for table in report.values:
        for row in table.rows:
            if "end" not in row.name:
                assert not any("−" in cell for cell in row.cells), (table.title, row)
            if table.title == "What should one set on this router?":
                assert float(row.cells[-1].rstrip("]").split()[-1]) <= 1.0


def test_the_summary_says_what_was_judged(report: Report) -> None:
    """Nothing of targets where none was compared, or where one of the claims failed."""
    said = "a smaller one costs no throughput"
    assert said in text.summary(report.judged, None)
    assert said not in text.summary([], None)
    for name in ("latency-follows-target", "target-equal-throughput"):
        judged = [
            replace(one, verdict=Verdict.NOT_REPRODUCED) if one.claim.id == name else one
            for one in report.judged
        ]
        assert judged != list(report.judged)
        assert said not in text.summary(judged, None)


def test_the_summary_tells_the_scenarios_apart(report: Report) -> None:
    assert "Without other traffic tupdate hardly matters (" in report.summary
    assert "; under UDP bursts" in report.summary


def test_the_ring_is_the_fitted_one(report: Report) -> None:
    """The printed latencies ask for what the constant is, to 10 %."""
    (note,) = [note for note in report.notes if note.startswith("The fit:")]
    fitted_kb = float(note.split(" kB at 100 Mbit/s")[0].split()[-1])
    assert fitted_kb == pytest.approx(arms.RING_BYTES / 1000, rel=0.1)


@pytest.mark.usefixtures("pretended_kernel")
def test_both_backends_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    # The simulator that stands for the kernel runs no programs.
    monkeypatch.setattr(pie_rrul, "irtt_is_installed", lambda: False)
    quick = replace(pie_rrul.QUICK, kernel_scenarios=("alone", "bursts"))
    monkeypatch.setattr(pie_rrul, "QUICK", quick)
    options = StudyOptions(quick=True, replications=2, backends=("kernel",))
    report = get_study("pie-rrul").reproduce(options)
    agreed = [one for one in report.judged if one.claim.id.startswith("agreement-")]
    # Queue delay, drops, both throughputs and latency of two settings, in three tables; the same
    # simulator on both sides.
    assert len(agreed) == 30
    assert {one.verdict for one in agreed} == {Verdict.REPRODUCED}
    titles = [table.title for table in report.values]
    both = "Simulator and Linux kernel side by side"
    assert f"{both}, no other traffic" in titles
    assert f"{both}, with UDP bursts" in titles
    assert f"{both}, with UDP bursts, downloads queue at a gateway" in titles
    assert "delay-backends" in {figure.name for figure in report.figures}
    assert {one.backend for one in report.judged} == {"kernel"}
    assert any(note.startswith("irtt is not installed here") for note in report.notes)


def test_irtt_agrees_within_the_spread_of_our_own_seeds() -> None:
    experiments = {"any": arms.experiment(arms.Setting().qdisc(), test=SHORT)}
    like = collect(StudyOptions(), experiments, SHORT, 3, task="test")["any"]

    def of(latency_ms: list[float]) -> Arm:
        return Arm({**like.values, "latency_udp_ms": np.array(latency_ms)}, like.first)

    own = of([25.9, 26.1, 26.0])
    near, far = (judging.judge_irtt(own, of([x, x]), "pie") for x in (26.2, 27.5))
    assert (near.verdict, far.verdict) == (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED)
    assert "26 ms" in near.note
