"""Figures of a sweep: content and appearance."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from test_compare_sweeps import CALL, CROSSED, DELAY, QDISC, sweep

from dumbbell.compare import Comparison, sweep_charts
from dumbbell.compare.axes import Axis
from dumbbell.compare.page import comparison_report
from dumbbell.compare.sweep_figures import figures_of_sweep
from dumbbell.errors import SpecError
from dumbbell.plots import NothingToDrawError
from dumbbell.report import Figure
from dumbbell.report.figures import draw

GOODPUT = "flows[bulk].total_goodput_bps"
FIGURES = f"""
[[figure]]
kind = "lines"
x = "delay"
y = "{CALL}"
colour = "qdisc"
title = "How long a call waits"
[[figure]]
kind = "lines"
x = "delay"
y = "{CALL}"
facet = "qdisc"
[[figure]]
kind = "heatmap"
x = "delay"
y = "qdisc"
colour = "{CALL}"
[[figure]]
kind = "pareto"
x = "{CALL}"
y = "{GOODPUT}"
colour = "qdisc"
"""


@pytest.fixture(scope="module")
def found() -> Comparison:
    tables = CROSSED.replace("replications = 4", "replications = 3")
    return sweep(tables.replace('"fq_codel"', '"fq_codel", "nothing"') + FIGURES).run()


@pytest.fixture(scope="module")
def figures(found: Comparison) -> list[Figure]:
    return list(figures_of_sweep(found))


def marks(spec: Any) -> list[str]:
    if isinstance(spec, list):
        return [mark for each in spec for mark in marks(each)]
    if not isinstance(spec, dict):
        return []
    own = [spec["mark"]["type"]] if isinstance(spec.get("mark"), dict) else []
    return own + [mark for key in ("layer", "spec") for mark in marks(spec.get(key))]


def test_the_figures_that_were_asked_for(figures: list[Figure]) -> None:
    lines, small, heat, front = figures
    assert lines.title == "How long a call waits"
    assert len({each.name for each in figures}) == 4
    spec = draw(lines).spec
    assert marks(spec) == ["area", "line", "point"]
    assert spec["layer"][1]["encoding"]["x"]["title"] == "delay (ms)"
    assert spec["layer"][1]["encoding"]["y"]["title"] == "call: round trip, 95 % (ms)"
    # A value with which nothing could be run has no place in a legend.
    colours = spec["layer"][1]["encoding"]["color"]["scale"]["domain"]
    assert colours == ["pfifo limit 200", "fq_codel"]
    panels = draw(small).spec
    assert panels["columns"] == 2 and marks(panels["spec"]) == ["area", "line", "point"]
    assert marks(draw(heat).spec) == ["rect", "text"]
    assert "front" in front.caption or "no other" in front.caption


def test_numbers_of_figures_are_those_of_the_table(
    found: Comparison, figures: list[Figure]
) -> None:
    frame: Any = figures[0].data
    row = frame.row(by_predicate=pl.col("cell") == "fq_codel, 40 ms", named=True)
    number = found.measured(CALL, "fq_codel, 40 ms")
    assert (row["x"], row["colour"]) == (40.0, "fq_codel")
    assert (row["y_low"], row["y"], row["y_high"]) == pytest.approx(
        (number.low, number.value, number.high)
    )


def test_the_front_is_what_no_other_beats(figures: list[Figure]) -> None:
    frame: Any = figures[3].data
    rows = frame.to_dicts()
    for one in rows:
        beaten = any(
            other["x"] <= one["x"] and other["y"] >= one["y"]
            and (other["x"], other["y"]) != (one["x"], one["y"])
            for other in rows
        )  # fmt: skip
        assert one["front"] is not beaten


def test_figures_by_default() -> None:
    tables = CROSSED.replace("replications = 4", "replications = 2")
    names = [each.name for each in figures_of_sweep(sweep(tables).run())]
    assert names == [
        "rtt-p95-ms-over-delay",
        "total-goodput-bps-over-delay",
        "total-goodput-bps-front-rtt-p95-ms",
    ]


def test_one_call_each_from_python(found: Comparison) -> None:
    assert len(found.plot.figures()) == 4
    chart = found.plot.lines(DELAY, CALL, colour=QDISC)
    assert marks(chart.to_dict()) == ["area", "line", "point"]
    assert "rect" in marks(found.plot.heat_map("delay", "qdisc", GOODPUT).to_dict())
    assert "point" in marks(found.plot.pareto(CALL, GOODPUT).to_dict())
    with pytest.raises(SpecError, match="did you mean 'delay'"):
        found.plot.lines("dely", CALL, colour="qdisc")
    with pytest.raises(NothingToDrawError):
        found.plot.lines("delay", "flows[bulk].mean_completion_time_s", colour="qdisc")


def test_parameters_from_python_are_what_they_set(found: Comparison) -> None:
    """Not their texts: as in ``compare`` of a sweep, and in its figures."""
    plot = found.plot
    # The link from the server is the first of the file, and the default direction is both.
    other = plot.lines("links[0].delay", CALL, colour="links[1].qdisc").to_dict()
    assert other == plot.lines(DELAY, CALL, colour=QDISC).to_dict()
    one = plot.lines("delay", CALL, where={QDISC: "pfifo limit 200"}).to_dict()
    alike = {"links[1].qdisc": "pfifo  limit  200"}
    assert one == plot.lines("links[0].delay", CALL, where=alike).to_dict()
    with pytest.raises(SpecError, match="one of"):
        plot.lines("links[1].delay", CALL, colour="qdisc")


def test_the_page_has_a_row_for_each_cell_and_names_what_failed(found: Comparison) -> None:
    report = comparison_report(found)
    table = report.values[0]
    assert len(table.rows) == 4
    assert table.columns[:2] == ["delay (ms)", "call: round trip, 95 % (ms)"]
    assert [each.name for each in table.rows] == ["pfifo limit 200"] * 2 + ["fq_codel"] * 2
    assert any("nothing, 5 ms failed" in note for note in report.notes)
    assert report.tables["runs"].height == 12  # type: ignore[union-attr]
    assert "in place of pfifo limit 200" in report.summary


def test_labels_of_axes_and_legends_are_plain_numbers() -> None:
    """A scale that chooses the digits itself writes 20 as 2e+1, and 12.9 as 13."""
    import vl_convert

    delays, rates = Axis.of(DELAY, ["1ms", "2ms"]), Axis.of("rate", [1.5, 12.92])
    frame = pl.DataFrame(
        {
            "x": [1.0, 2.0, 1.0, 2.0],
            "y": [1.5, 1.5, 12.92, 12.92],
            "shown": [3.0, 20.0, 41.0, 62.0],
            "shown_low": [3.0, 20.0, 41.0, 62.0],
            "shown_high": [3.0, 20.0, 41.0, 62.0],
            "cell": ["a", "b", "c", "d"],
        }
    )
    heat = sweep_charts.heat_map(
        frame, x=delays, y=rates, shown=sweep_charts.Measure("round trip", is_log=False), panels=()
    )
    drawn = vl_convert.vegalite_to_svg(heat.to_dict())
    assert ">20</text>" in drawn and "e+" not in drawn
    points = frame.rename({"y": "x", "x": "y"}).with_columns(y_low="y", y_high="y")
    lines = sweep_charts.lines(
        points, x=rates, y=sweep_charts.Measure("y", is_log=False), colour=None, panels=()
    )
    drawn = vl_convert.vegalite_to_svg(lines.to_dict())
    assert ">12.92</text>" in drawn
