"""Figures of a run: what is drawn when nobody says, and that it is what the tables hold."""

from __future__ import annotations

import numpy as np
import pytest

from dumbbell import metrics, plots
from dumbbell.backends import simulate
from dumbbell.compare import summary_of
from dumbbell.compare.run_page import figures_of, run_report
from dumbbell.plots import NothingToDrawError
from dumbbell.report.figures import as_polars
from dumbbell.spec import Experiment
from dumbbell.tables import Run

LINKS = """
duration = "4s"
sample_interval = "50ms"
links = [
    { a = "server", b = "router" },
    { a = "router", b = "home", delay = "10ms", rate = "5mbit", qdisc = "pfifo limit 20" },
]
"""
BULK = """
[[flows]]
name = "bulk"
from = "server"
to = "home"
tcp = { congestion_control = "cubic" }
source = { kind = "greedy" }
[[probes]]
name = "ping"
from = "server"
to = "home"
interval = "100ms"
"""
QUIET = """
[[flows]]
name = "few"
from = "server"
to = "home"
source = { kind = "cbr", gap = "100ms", size = "100B" }
"""


def ran(text: str) -> Run:
    return simulate(Experiment.from_toml(text))


@pytest.fixture(scope="module")
def bulk() -> Run:
    return ran(LINKS + BULK)


def test_the_queue_drawn_is_the_one_in_which_packets_wait(bulk: Run) -> None:
    figure = plots.queue_over_time(bulk)
    data = as_polars(figure.data)
    assert "router->home" in figure.title
    dropped = bulk.column("queue_samples", "dropped_pkts", queue="router->home")[-1]
    assert data["dropped_pkts"].sum() == dropped > 0
    held = bulk.column("queue_samples", "backlog_pkts", queue="router->home")
    assert data["backlog_pkts"].to_list() == held.tolist()
    assert "Ticks at the top" in figure.caption


def test_many_samples_are_put_together_and_no_drop_is_lost() -> None:
    run = ran(LINKS.replace("50ms", "1ms").replace('"4s"', '"3s"') + BULK)
    data = as_polars(plots.queue_over_time(run).data)
    held = run.column("queue_samples", "backlog_pkts", queue="router->home")
    assert data.height <= 500 < held.size
    assert data["backlog_pkts"].max() == held.max()
    dropped = run.column("queue_samples", "dropped_pkts", queue="router->home")[-1]
    assert data["dropped_pkts"].sum() == dropped


def test_throughput_adds_up_to_what_arrived(bulk: Run) -> None:
    data = as_polars(plots.throughput_over_time(bulk).data)
    at = np.r_[0.0, data["x"].to_numpy()]
    arrived = (data["y"].to_numpy() * np.diff(at)).sum() * 1e6 / 8
    total = bulk.column("flow_samples", "delivered_payload_bytes", flow="bulk")[-1]
    assert arrived == pytest.approx(total)


def test_windows_are_of_tcp_flows_alone(bulk: Run) -> None:
    data = as_polars(plots.cwnd_over_time(bulk).data)
    assert set(data["label"]) == {"bulk"}
    with pytest.raises(NothingToDrawError, match="no TCP flow"):
        plots.cwnd_over_time(ran(LINKS + QUIET))


def test_the_distribution_of_delay_has_the_medians_of_the_metrics(bulk: Run) -> None:
    data = as_polars(plots.delay_cdf(bulk).data)
    below = data.filter(data["share"] <= 0.5)["x"].max()
    median = 1e3 * metrics.sojourn_quantile_s(bulk, "router->home", (0.5,))[0]
    assert below == pytest.approx(median, rel=0.02)
    pings = as_polars(plots.ping_cdf(bulk).data)
    assert pings["x"].max() == pytest.approx(metrics.ping_rtt_ms(bulk).max())


def test_several_runs_are_told_apart_by_their_names(bulk: Run) -> None:
    other = ran(LINKS.replace("limit 20", "limit 60") + BULK)
    for figure in (plots.delay_cdf, plots.ping_cdf):
        data = as_polars(figure({"20 packets": bulk, "60 packets": [other, other]}).data)
        assert set(data["type"]) == {"20 packets", "60 packets"}


def test_without_samples_the_page_says_how_to_get_some() -> None:
    text = LINKS.replace('sample_interval = "50ms"\n', "") + BULK
    run = ran(text)
    with pytest.raises(NothingToDrawError, match="sample_interval, such as 100ms"):
        plots.queue_over_time(run)
    report = run_report(run, Experiment.from_toml(text))
    assert any("sample_interval" in note for note in report.notes)
    assert {figure.name for figure in report.figures} == {"delay-cdf", "rtt", "ping-cdf"}


def test_where_nothing_waits_the_page_says_so() -> None:
    text = LINKS + QUIET
    report = run_report(ran(text), Experiment.from_toml(text))
    assert report.summary.startswith("No packet waited")
    assert "queue" not in {figure.name for figure in report.figures}


def test_the_tables_have_the_numbers_of_the_summary(bulk: Run) -> None:
    report = run_report(bulk, Experiment.from_toml(LINKS + BULK))
    numbers = summary_of(bulk)
    (flows,) = (each for each in report.values if each.title == "Flows")
    goodput = next(row for row in flows.rows if (row.name, row.unit) == ("Goodput", "Mbit/s"))
    paths = [f"flow[{name}].goodput_bps" for name in flows.columns]
    assert [cell.value for cell in goodput.filled] == [1e-6 * numbers[path] for path in paths]
    assert not [
        row.name
        for table in report.values
        for row in table.rows
        if not any(np.isfinite(cell.value or 0.0) for cell in row.filled)
    ]


def test_the_first_figure_is_chosen_by_what_was_run(bulk: Run) -> None:
    assert next(figures_of(bulk)).name == "queue"
    poisson = '{ kind = "poisson", rate = "500pps", size = "exponential 1000B" }'
    random = QUIET.replace('{ kind = "cbr", gap = "100ms", size = "100B" }', poisson)
    assert next(figures_of(ran(LINKS + random))).name == "delay-cdf"
    short = BULK.replace(
        '{ kind = "greedy" }', '{ kind = "arrivals", gap = "exponential 50ms", size = "10kB" }'
    )
    assert next(figures_of(ran(LINKS + short))).name == "completion"


def test_a_run_draws_itself_with_the_theme_of_the_page(bulk: Run) -> None:
    for chart in (bulk.plot.queue(), bulk.plot.throughput(), bulk.plot.cwnd(), bulk.plot.rtt()):
        assert chart.to_dict()["config"]["font"].startswith("Helvetica")
    assert bulk.plot.delay_cdf().to_dict()["layer"]
    with pytest.raises(NothingToDrawError, match="no transfer was completed"):
        bulk.plot.completion()


def test_queues_of_several_runs_stand_below_each_other(bulk: Run) -> None:
    quiet = ran(LINKS + QUIET)
    figure = plots.queues_over_time({"bulk": bulk, "nothing waits": quiet, "again": bulk})
    data = as_polars(figure.data)
    assert data["what"].unique(maintain_order=True).to_list() == ["bulk", "again"]
    assert figure.chart.to_dict()["facet"]["row"]["sort"] == ["bulk", "again"]
    with pytest.raises(NothingToDrawError):
        plots.queues_over_time({"nothing waits": quiet})


def test_what_a_trace_lets_through_is_drawn_behind() -> None:
    traced = LINKS.replace(
        'rate = "5mbit"', 'trace = { kind = "steps", steps = "0r5m 2gr0 1gr3m" }'
    )
    run = ran(traced + BULK)
    for figure in (
        plots.throughput_over_time(run),
        plots.queue_over_time(run, "router->home"),
        plots.cwnd_over_time(run),
    ):
        assert "Grey: what router->home can send by its trace" in figure.caption
        behind = as_polars(figure.chart.layer[0].data)
        rates = dict(zip(behind["t_s"], behind["rate_mbps"], strict=True))
        assert {at: round(rate, 9) for at, rate in rates.items() if at in (0, 2, 3)} == {
            0.0: 5.0,
            2.0: 0.0,
            3.0: 3.0,
        }
    assert behind["height"].max() == pytest.approx(as_polars(figure.data)["y"].fill_nan(None).max())


def test_nothing_is_behind_figures_of_links_without_a_trace(bulk: Run) -> None:
    assert "Grey" not in plots.throughput_over_time(bulk).caption
