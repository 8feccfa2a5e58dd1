"""Labels beside what they name, and figures for a phone."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from report_samples import dots_figure, factor_figure, rtt_figure

from dumbbell.report import Curve, Figure, FigureDrawer, Sample, ecdf_chart, line_with_band
from dumbbell.report.direct_labels import (
    MOST,
    AxisScale,
    Distribution,
    LineEnd,
    at_line_ends,
    places_beside,
)
from dumbbell.report.figures import draw
from dumbbell.report.narrow_charts import NARROW_PX, narrow


def heights(ends: list[LineEnd], length_px: float = 360.0) -> list[float]:
    return [layer.to_dict()["encoding"]["y"]["value"] for layer in at_line_ends(ends, length_px)]


def test_labels_stand_at_their_lines_and_apart_from_one_another() -> None:
    far = [LineEnd("a", "#000000", 50.0), LineEnd("b", "#000000", 200.0)]
    assert heights(far) == [50.0, 200.0]
    near = [LineEnd(f"line {k}", "#000000", 355.0 + k) for k in range(4)]
    found = heights(near)
    assert found == sorted(found)
    assert min(np.diff(found)) >= near[0].height_px
    assert found[-1] <= 360 - near[0].height_px / 2


def test_a_long_label_goes_on_in_a_second_line() -> None:
    end = LineEnd("worst case of all packets", "#000000", 100.0)
    assert len(end.lines) == 2
    other = LineEnd("below", "#000000", 101.0)
    upper, lower = heights([end, other])
    assert lower - upper >= (end.height_px + other.height_px) / 2 - 0.1


def uniform(label: str, low: float, high: float) -> Distribution:
    return Distribution(label, "#000000", np.linspace(low, high, 200), np.linspace(0, 1, 200))


def test_a_distribution_is_named_where_there_is_room() -> None:
    scale = AxisScale(0.0, 100.0, 640.0)
    places = places_beside([uniform("left", 0, 20), uniform("right", 60, 80)], scale, 360.0)
    assert places is not None
    assert {place.label for place in places} == {"left", "right"}
    crowded = [uniform(f"distribution {k}", k, 8 * k + 10) for k in range(8)]
    assert places_beside(crowded, scale, 360.0) is None


def legends(figure: Figure) -> set[str]:
    """Channels that have a legend."""
    found = set()
    for layer in draw(figure).spec["layer"]:
        for channel, of in layer.get("encoding", {}).items():
            if channel in ("color", "shape", "strokeDash") and of.get("legend", "") is not None:
                found.add(channel)
    return found


@pytest.mark.parametrize("count", [2, MOST, MOST + 1])
def test_few_curves_have_labels_and_many_a_legend(count: int) -> None:
    curves = [Curve(f"c{k}", [1.0, 2.0], [k, 2.0 * k]) for k in range(count)]
    figure = Figure("f", *line_with_band(curves, x_title="x", y_title="y"), caption="")
    labels = [
        layer["encoding"]["text"]["value"]
        for layer in draw(figure).spec["layer"]
        if layer["mark"]["type"] == "text"
    ]
    is_direct = count <= MOST
    assert sorted(labels) == ([f"c{k}" for k in range(count)] if is_direct else [])
    assert ("color" in legends(figure)) is not is_direct


def test_published_points_stand_on_distributions_in_the_colour_of_their_type(
    drawer: FigureDrawer,
) -> None:
    samples = [Sample("SM", "", np.arange(50.0)), Sample("TDM", "", 3 * np.arange(50.0))]
    points = [Curve("TDM", [40.0, 80.0], [0.25, 0.5]), Curve("nobody", [60.0], [0.75])]
    plot = ecdf_chart(samples, x_title="x (ms)", published=points)
    assert plot.data.filter(plot.data["sender"] == "published").height == 3
    svg = drawer.picture(draw(Figure("f", *plot, caption="")), ".svg").decode()
    assert svg.count('stroke="#1b1b1b" stroke-width="1.5"') == 3
    assert svg.count(">published</text>") == 2  # the word and its halo


def width_of(svg: bytes) -> float:
    found = re.search(rb'width="([0-9.]+)"', svg)
    assert found
    return float(found[1])


@pytest.mark.parametrize("make", [rtt_figure, factor_figure, dots_figure])
def test_a_figure_for_a_phone_fits_it_and_says_the_same(
    make: type[Figure], drawer: FigureDrawer
) -> None:
    (drawn,) = drawer.files([draw(make())])  # type: ignore[call-arg]
    assert width_of(drawn.narrow) <= NARROW_PX + 1 < width_of(drawn.pictures[".svg"])
    words = [re.findall(rb"<text[^>]*>([A-Za-z][^<]*)<", of) for of in
             (drawn.narrow, drawn.pictures[".svg"])]  # fmt: skip
    assert {*words[0]} == {*words[1]}
    # Nothing of a legend or a label is cut off.
    assert "…".encode() not in drawn.narrow


def test_narrowing_leaves_the_figure_itself_alone() -> None:
    spec = draw(dots_figure()).spec
    before = json.dumps(spec)
    assert narrow(spec)["width"] == NARROW_PX
    assert json.dumps(spec) == before
