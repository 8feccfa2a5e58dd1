"""Flent's plots by Flent's names: which there are, what is in them, and that they are drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dumbbell
from dumbbell.errors import SpecError
from dumbbell.formats.flent import FlentFile, flent_file
from dumbbell.report.figures import draw, picture
from dumbbell.report.flent_plots import check_plot, draw_plot, plot_names
from dumbbell.report.model import Figure
from dumbbell.spec import flent

STREAMS = {"upload_streams": "8", "download_streams": "2", "burst_bandwidth": "30M"}
NETWORK = flent.Network(rate="20mbit", qdisc="pie target 20ms tupdate 15ms", rtts=("10ms",))


def filed(name: str) -> FlentFile:
    test = flent.flent_test(name, length_s=4, delay_s=1, parameters=STREAMS)
    if name == "tcp_2up_square":
        test = test.with_controllers({"westwood": "reno"})
    return flent_file(dumbbell.simulate(test.experiment(NETWORK)), test, title="pie")


@pytest.fixture(scope="module")
def rrul() -> FlentFile:
    return filed("rrul")


@pytest.mark.parametrize("name", flent.TEST_NAMES)
def test_every_plot_of_every_test_has_data(name: str) -> None:
    file = filed(name)
    names = plot_names(file)
    assert names[0] in ("all_scaled", "totals", "ping")
    for plot in names:
        check_plot(name, plot)
        drawn = draw_plot(file, plot)
        rows = drawn.data.height
        # A queue need not have dropped anything.
        assert rows >= 2 or plot == "drops", plot
        assert draw(Figure("plot", drawn.chart, drawn.data, drawn.caption)).spec["description"]


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
@pytest.mark.parametrize("name", ["totals", "all_scaled", "ellipsis", "box_totals"])
def test_pictures(rrul: FlentFile, name: str, suffix: str) -> None:
    drawn = draw_plot(rrul, name)
    whole = picture(draw(Figure("plot", drawn.chart, drawn.data, drawn.caption)), suffix)
    assert whole[:4] in (b"\x89PNG", b"<svg", b"%PDF")
    assert len(whole) > 8_000


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


def test_what_is_not_there_is_refused(rrul: FlentFile) -> None:
    with pytest.raises(SpecError, match="did you mean 'ellipsis'"):
        draw_plot(rrul, "elipsis")
    with pytest.raises(SpecError, match="Flent's own"):
        check_plot("rrul", "qq_icmp")
    with pytest.raises(SpecError, match="a plot of ping"):
        check_plot("ping", "totals")
    nothing = dict.fromkeys(rrul.results, [None] * len(rrul.x_values))
    empty = FlentFile(rrul.x_values, nothing, {}, rrul.metadata)  # type: ignore[arg-type]
    for name in plot_names(empty):
        with pytest.raises(SpecError, match=r"has data for|at least"):
            draw_plot(empty, name)
    assert math.isfinite(rrul.x_values[-1])
