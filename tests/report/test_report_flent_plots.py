"""Flent's plots by Flent's names: which there are, what is in them, and that they are drawn."""

from __future__ import annotations

import contextlib
import json
import math
import re
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest

import dumbbell
from dumbbell.errors import SpecError
from dumbbell.formats.flent import FlentFile, flent_file, imported_run, read_flent, summary_text
from dumbbell.report import FigureDrawer
from dumbbell.report.figures import draw
from dumbbell.report.flent_plots import check_plot, draw_plot, plot_names, plots_of
from dumbbell.report.flent_plots.series import MOST_POINTS
from dumbbell.report.model import Figure
from dumbbell.report.narrow_charts import NARROW_PX
from dumbbell.spec import flent

pytestmark = pytest.mark.slow

STREAMS = {"upload_streams": "8", "download_streams": "2", "burst_bandwidth": "30M"}
NETWORK = flent.Network(rate="20mbit", qdisc="pie target 20ms tupdate 15ms", rtts=("10ms",))


def filed(name: str, network: flent.Network = NETWORK) -> FlentFile:
    test = flent.flent_test(name, length_s=4, delay_s=1, parameters=STREAMS)
    return flent_file(dumbbell.simulate(test.experiment(network)), test, title="pie")


@pytest.fixture(scope="module")
def rrul() -> FlentFile:
    return filed("rrul")


@pytest.mark.parametrize("name", flent.TEST_NAMES)
def test_every_plot_of_every_test_has_data(name: str) -> None:
    file = filed(name)
    names = plot_names(file)
    assert names[0] in ("all_scaled", "totals", "ping")
    assert set(names) <= set(plots_of(name))
    for plot in names:
        check_plot(name, plot)
        drawn = draw_plot(file, plot)
        rows = drawn.data.height
        # A queue need not have dropped anything.
        assert rows >= 2 or plot == "drops", plot
        assert draw(Figure("plot", drawn.chart, drawn.data, drawn.caption)).spec["description"]


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
@pytest.mark.parametrize("name", ["totals", "all_scaled", "ellipsis", "box_totals"])
def test_pictures(rrul: FlentFile, name: str, suffix: str, drawer: FigureDrawer) -> None:
    drawn = draw_plot(rrul, name)
    figure = Figure("plot", drawn.chart, drawn.data, drawn.caption)
    whole = drawer.picture(draw(figure), suffix)
    assert whole[:4] in (b"\x89PNG", b"<svg", b"%PDF")
    assert len(whole) > 8_000


@pytest.mark.parametrize("name", ["ping", "rrul"])
def test_a_queue_that_dropped_nothing_is_drawn(name: str, drawer: FigureDrawer) -> None:
    """Vega makes a legend without entries endless, of which no PNG can be made."""
    drawn = draw_plot(filed(name, flent.Network(rate="20mbit", rtts=("10ms",))), "drops")
    assert drawn.data.height == 0
    assert drawn.caption.endswith(": none")
    (files,) = drawer.files([draw(Figure("drops", drawn.chart, drawn.data, drawn.caption))])
    assert not files.missing
    assert re.match(rb'<svg [^>]*width="\d{3}" height="\d{3}"', files.pictures[".svg"])


def test_totals_are_smoothed_over_ten_steps(rrul: FlentFile) -> None:
    data = draw_plot(rrul, "totals").data
    shown = data.filter(data["label"] == "Upload")["y"].to_numpy()
    values = np.array([v for v in rrul.results["TCP upload sum"] if v is not None])
    assert len(shown) == len(values)
    assert shown[10] == pytest.approx(values[5:15].mean())
    assert shown[0] == pytest.approx(values[:5].mean())


def test_the_ellipse_is_of_the_samples(rrul: FlentFile) -> None:
    data = draw_plot(rrul, "ellipsis").data
    samples = data.filter(data["what"] == "samples")
    edge = data.filter(data["what"] == "two standard deviations")
    x = samples["x"].to_numpy()
    assert len(x) == sum(v is not None for v in rrul.results["TCP upload sum"])
    width = float(edge["x"].max()) - float(edge["x"].min())  # type: ignore[arg-type]
    assert width == pytest.approx(4 * x.std(ddof=1), rel=2e-3)
    median = data.filter(data["what"] == "median")["x"].to_list()
    assert median == [pytest.approx(np.median(x))]


def test_drops_are_those_of_the_steps(rrul: FlentFile) -> None:
    data = draw_plot(rrul, "drops").data
    of_router = data.filter(data["label"] == "router: drops")
    dropped = rrul.results["qdisc_stats_router::dropped"]
    assert of_router["y"].to_list() == [v for v in dropped if v]


def test_a_cdf_leaves_out_the_time_without_load(rrul: FlentFile) -> None:
    data = draw_plot(rrul, "icmp_cdf").data
    pings = zip(rrul.x_values, rrul.results["Ping (ms) ICMP"], strict=True)
    loaded = [v for x, v in pings if v is not None and 1 < x <= 5]
    assert float(data["x"].min()) == pytest.approx(min(loaded))  # type: ignore[arg-type]
    assert sorted(loaded)[1] > 20  # but for the first, there is a queue: the base is 10 ms
    idle = [v for v in rrul.results["Ping (ms) ICMP"] if v is not None and v < 11]
    assert len(idle) >= 5


def test_boxes_of_one_direction_leave_out_the_time_without_load() -> None:
    """As Flent has it; those of an RRUL are of the whole test."""
    file = filed("tcp_1up")
    data = draw_plot(file, "box_totals").data
    pings = zip(file.x_values, file.results["Ping (ms) ICMP"], strict=True)
    loaded = [v for x, v in pings if v is not None and 1 < x <= 5]
    assert data.filter(data["label"] == "Ping (ms)")["y"].to_list() == loaded
    bars = draw_plot(file, "bar_totals").data
    assert bars.filter(bars["label"] == "Ping (ms)")["mean"].to_list() == [
        pytest.approx(np.mean(loaded))
    ]
    rates = [v for v in file.results["TCP upload"] if v is not None]
    spread = bars["high"][0] - bars["low"][0]
    assert spread == pytest.approx(2 * np.std(rates))


def test_means_over_five_seconds() -> None:
    file = filed("tcp_2up_delay")
    data = draw_plot(file, "totals_5s").data
    shown = data.filter(data["label"] == "Stream 1")["y"].to_numpy()
    values = np.array([v for v in file.results["TCP stream 1"] if v is not None])
    assert len(values) == 25
    assert shown[12] == pytest.approx(values.mean())


def test_what_is_measured_by_ss_is_beside_what_is_not() -> None:
    file = filed("tcp_nup")
    labels = set(draw_plot(file, "upload_with_ping_and_tcp_rtt").data["label"])
    flows = {str(number) for number in range(1, 9)}
    assert labels == flows | {"Ping ICMP"} | {f"TCP RTT upload::{number}" for number in flows}
    assert "upload_with_ping_and_tcp_rtt" in plots_of("tcp_nup")
    without = FlentFile(file.x_values, file.results, {}, file.metadata)
    assert "upload_with_ping_and_tcp_rtt" not in plot_names(without)
    with pytest.raises(SpecError, match="has data for"):
        draw_plot(without, "upload_with_ping_and_tcp_rtt")


def long(steps: int) -> FlentFile:
    """A file of one value a millisecond, as somebody could send it."""
    random = np.random.default_rng(3)
    values = random.gamma(2.0, 5.0, steps)
    values[steps // 3] = 500.0
    rates = (100.0 - values / 6).tolist()
    x_values = (np.arange(steps) * 0.001).tolist()
    results = {
        "TCP upload sum": rates,
        "TCP download sum": rates,
        "Ping (ms) avg": values.tolist(),
        "Ping (ms) ICMP": values.tolist(),
    }
    raw = {"qdisc_stats_a": [{"t": x, "dropped": 1.0} for x in x_values[:30_000]]}
    metadata = {"NAME": "rrul", "T0": "1970-01-01T00:00:00.000000Z", "STEP_SIZE": 0.001}
    return FlentFile(x_values, results, raw, metadata)


def test_a_plot_of_a_long_file_has_few_points_and_looks_the_same() -> None:
    """Millions of points would take gigabytes to draw."""
    file = long(300_000)
    for name in ("totals", "ping_scaled", "ping_cdf", "box_totals", "ellipsis", "drops"):
        assert draw_plot(file, name).data.height <= MOST_POINTS + 100, name
    pings = draw_plot(file, "ping").data.filter(pl.col("label") == "ICMP")
    assert (pings["y"].max(), pings["y"].min()) == (500.0, min(file.results["Ping (ms) ICMP"]))  # type: ignore[type-var]
    assert pings["x"].is_sorted()
    boxes = draw_plot(file, "box_totals").data.filter(pl.col("label") == "Ping (ms)")["y"]
    every = file.results["Ping (ms) avg"]
    for q in (25, 50, 75):
        shown, all_of = (np.percentile(np.array(v, dtype=float), q) for v in (boxes, every))
        assert shown == pytest.approx(all_of, rel=1e-3)
    assert boxes.max() == 500.0


def test_short_lines_keep_every_point(rrul: FlentFile) -> None:
    shown = draw_plot(rrul, "upload").data.filter(pl.col("label") == "BE")
    assert shown["y"].to_list() == [v for v in rrul.results["TCP upload BE"] if v is not None]


@pytest.mark.parametrize("name", ["totals", "all_scaled", "ping_cdf", "box_totals", "drops"])
def test_several_files_are_drawn_over_one_another(
    rrul: FlentFile, name: str, drawer: FigureDrawer
) -> None:
    slower = filed("rrul", flent.Network(rate="10mbit", qdisc="pfifo limit 50", rtts=("10ms",)))
    drawn = draw_plot({"pie": rrul, "slow": slower}, name)
    column = "type" if name == "ping_cdf" else "label"
    labels = drawn.data[column].unique().to_list()
    of = {title: {each for each in labels if f", {title}" in each} for title in ("pie", "slow")}
    assert of["slow"] and of["pie"] | of["slow"] == set(labels)
    files = drawer.files([draw(Figure("plot", drawn.chart, drawn.data, drawn.caption))])
    assert not files[0].missing
    if name == "all_scaled":
        # Each panel has a legend of its own, and there is none beside those.
        legends = re.findall(r"Symbol legend[^\"]*", files[0].pictures[".svg"].decode())
        assert len(legends) == 3
        phone = re.search(rb'width="([0-9.]+)"', files[0].narrow)
        assert phone and float(phone[1]) <= NARROW_PX + 1
    if name == "totals":
        one = draw_plot(slower, name).data.filter(pl.col("label") == "Upload")["y"]
        both = drawn.data.filter(pl.col("label") == "Upload, slow")["y"]
        assert both.to_list() == one.to_list()


def test_ellipses_of_several_files_are_refused(rrul: FlentFile) -> None:
    with pytest.raises(SpecError, match="one file"):
        draw_plot({"a": rrul, "b": rrul}, "ellipsis")


def test_what_is_not_there_is_refused(rrul: FlentFile) -> None:
    with pytest.raises(SpecError, match="did you mean 'ellipsis'"):
        draw_plot(rrul, "elipsis")
    with pytest.raises(SpecError, match="of several files each"):
        check_plot("rrul", "qq_icmp")
    with pytest.raises(SpecError, match="a plot of ping"):
        check_plot("ping", "totals")
    nothing = dict.fromkeys(rrul.results, [None] * len(rrul.x_values))
    empty = FlentFile(rrul.x_values, nothing, {}, rrul.metadata)  # type: ignore[arg-type]
    for name in plot_names(empty):
        with pytest.raises(SpecError, match=r"has data for|at least"):
            draw_plot(empty, name)
    assert math.isfinite(rrul.x_values[-1])


_VALUES = (None, 0, 1, -1, 0.5, 1e20, -1e20, 1e-300, 2**53, 1e6)
_SERIES = (
    "TCP upload", "TCP download", "TCP upload sum", "TCP download sum", "TCP totals", "TCP",
    "TCP upload::1", "TCP upload BE::tcp_cwnd", "TCP upload BE", "UDP upload", "x::y", "",
    "Ping (ms) ICMP", "Ping (ms) avg", "Ping (ms) UDP BE", "Ping", "qdisc_stats_a",
    "qdisc_stats_a::delay", "qdisc_stats_a::dropped",
)  # fmt: skip
_KEYS = ("t", "val", "dur", "tcp_cwnd", "tcp_rtt", "tcp_delivery_rate", "dropped", "delay")


def any_file(random: Random) -> dict[str, object]:
    """A file that the reader takes and no Flent would write."""
    x_values = sorted(random.sample((0.0, 0.2, 0.4, 1.0, 5.0, 6.0, 1e6), random.randint(0, 7)))

    def sample() -> dict[str, object]:
        keys = random.sample(_KEYS, random.randint(0, len(_KEYS)))
        return {key: random.choice((*_VALUES, "a", [1], True)) for key in keys}

    def some() -> list[str]:
        return random.sample(_SERIES, random.randint(0, 12))

    return {
        "version": 4,
        "x_values": x_values,
        "results": {name: [random.choice(_VALUES) for _ in x_values] for name in some()},
        "raw_values": {
            name: [sample() for _ in range(random.choice((0, 1, 5)))] for name in some()
        },
        "metadata": {
            "NAME": random.choice((*flent.TEST_NAMES, "http")),
            "T0": random.choice((None, "2023-11-14T22:13:20.000000Z", "2023-11-14T22:13:20", "x")),
            "LENGTH": random.choice((None, 1, 60, 1e6, 0.1)),
            "STEP_SIZE": random.choice((None, 0.2, 1e-9, 1e6)),
            "HOSTS": random.choice((None, ["a"], ["::1", 3, None], ["x y"] * 100)),
            "TEST_PARAMETERS": random.choice((None, {"markings": "XX"}, {"a": 3})),
            "SERIES_META": random.choice((None, {"TCP upload": {"RUNNER": 3, "IDX": "a"}})),
        },
    }


def test_whatever_a_file_holds_it_is_drawn_or_refused(tmp_path: Path) -> None:
    random = Random(1)
    drawn = 0
    for _ in range(60):
        path = tmp_path / "any.flent"
        path.write_text(json.dumps(any_file(random)))
        file = read_flent(path)
        imported_run(file)
        summary_text(file)
        with np.errstate(all="ignore"):
            for plot in plot_names(file):
                with contextlib.suppress(SpecError):
                    draw_plot(file, plot)
                    drawn += 1
    assert drawn > 100
