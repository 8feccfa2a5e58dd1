"""Figures: the builders' specifications, and real files from them without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from report_samples import dots_figure, factor_figure, rtt_figure

from dumbbell.report import theme
from dumbbell.report.charts import Curve, Sample, ecdf_chart, line_with_band, points_with_interval
from dumbbell.report.direct_labels import MOST
from dumbbell.report.figure_child import vega_lite_version
from dumbbell.report.figures import PICTURES, FigureDrawer, as_polars, draw, write_figure
from dumbbell.report.model import Figure

FIGURES = {"ecdf": rtt_figure, "band": factor_figure, "dots": dots_figure}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_becomes_pictures_data_and_a_specification(
    name: str, tmp_path: Path, drawer: FigureDrawer
) -> None:
    figure = FIGURES[name]()
    write_figure(*drawer.files([draw(figure)], PICTURES), tmp_path)
    suffixes = sorted(path.suffix for path in tmp_path.iterdir())
    assert suffixes == [".csv", ".json", ".pdf", ".png", ".svg"]
    assert json.loads((tmp_path / f"{figure.name}.vl.json").read_text()) == draw(figure).spec
    stem = tmp_path / figure.name
    svg = stem.with_suffix(".svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert "NaN" not in svg
    assert stem.with_suffix(".png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert stem.with_suffix(".pdf").read_bytes().startswith(b"%PDF-")
    assert pl.read_csv(stem.with_suffix(".csv")).height == as_polars(figure.data).height


@pytest.mark.slow
def test_the_same_figure_gives_the_same_bytes(tmp_path: Path, drawer: FigureDrawer) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_figure(*drawer.files([draw(rtt_figure())], PICTURES), tmp_path / folder)
    assert draw(rtt_figure()).spec == draw(rtt_figure()).spec
    for suffix in ("svg", "png", "csv"):
        one, two = ((tmp_path / f / f"rtt-cdf.{suffix}").read_bytes() for f in ("one", "two"))
        assert one == two


@pytest.mark.parametrize("has_legend", [False, True], ids=["labels", "legend"])
@pytest.mark.parametrize("builder", ["ecdf", "line"])
def test_widths_are_of_the_lines_and_of_the_legend_beside_the_colour(
    builder: str, has_legend: bool, drawer: FigureDrawer
) -> None:
    """The theme has a width of its own, which Vega-Lite lets go before that of an encoding."""
    names = ["small", "large", *(f"one more of them {k}" for k in range(MOST * has_legend))]
    if builder == "ecdf":
        samples = [Sample(name, "", [1.0, 2.0]) for name in names]
        plot = ecdf_chart(samples, x_title="x", widths=(1.25, 3.5))
    else:
        curves = [Curve(name, [1, 2], [y, 2]) for y, name in enumerate(names)]
        plot = line_with_band(curves, x_title="x", y_title="y", widths=(1.25, 3.5))
    svg = drawer.picture(draw(Figure("plot", plot.chart, plot.data, "Caption.")), ".svg").decode()
    shown = zip(("1.25",) if has_legend else ("1.25", "3.5"), theme.SERIES, strict=False)
    for width, colour in shown:
        # One line, and one symbol of a legend.
        assert svg.count(f'stroke="{colour}" stroke-width="{width}"') == 1 + has_legend


def test_a_picture_has_nothing_that_only_a_pointer_finds(drawer: FigureDrawer) -> None:
    plot = ecdf_chart([Sample("SM", "", np.arange(100.0))], x_title="x")
    drawn = draw(Figure("plot", plot.chart, plot.data, "Caption."))
    svg = drawer.picture(drawn, ".svg").decode()
    assert "line mark container" in svg and "symbol mark container" not in svg
    # The page's figure keeps its points to hover over, and its zoom.
    marks = [layer["mark"] for layer in drawn.spec["layer"]]
    assert any(mark.get("opacity") == 0 for mark in marks)
    assert any(each["bind"] == "scales" for each in drawn.spec["params"])


def test_only_what_lies_beyond_an_axis_is_cut_off_in_a_picture(drawer: FigureDrawer) -> None:
    cut = ecdf_chart([Sample("SM", "", np.arange(100.0))], x_title="x", x_max=50)
    whole = line_with_band([Curve("SM", [1, 2], [1, 2], [0, 1], [2, 3])], x_title="x", y_title="y")
    for plot, is_cut in ((cut, True), (whole, False)):
        svg = drawer.picture(
            draw(Figure("plot", plot.chart, plot.data, "Caption.")), ".svg"
        ).decode()
        assert ("clip-path" in svg) is is_cut


def scales(spec: Any) -> list[dict[str, Any]]:
    """Every scale with a domain of names, anywhere in a specification."""
    if isinstance(spec, list):
        return [scale for part in spec for scale in scales(part)]
    if not isinstance(spec, dict):
        return []
    own = (
        [spec["scale"]] if isinstance(spec.get("scale"), dict) and "range" in spec["scale"] else []
    )
    return own + [s for key, part in spec.items() if key != "datasets" for s in scales(part)]


def test_colour_is_type_line_style_is_sender_and_theory_is_thin_and_black() -> None:
    spec = draw(rtt_figure()).spec
    colour = {name: value for s in scales(spec) for name, value in zip(s["domain"], s["range"])}  # noqa: B905
    assert colour["SM"] == theme.SERIES[0]
    assert colour["TDM"] == theme.SERIES[1]
    assert colour["theory (M/G/1)"] == theme.BLACK
    assert colour["1"] != colour["2"]
    lines = [layer["mark"] for layer in spec["layer"] if layer["mark"]["type"] == "line"]
    assert [mark.get("strokeWidth") for mark in lines] == [None, 1]
    assert spec["config"]["range"]["category"] == list(theme.SERIES)


def test_single_runs_may_have_the_colour_of_their_band() -> None:
    x = [1.0, 2.0]
    chart = line_with_band(
        [Curve("band", x, x, [0.5, 1.5], [1.5, 2.5])],
        x_title="x",
        y_title="y",
        runs=[Curve("its runs", x, x), Curve("others", x, x, style="kernel")],
        colours_as={"its runs": "band"},
    ).chart
    colours = [scale for scale in scales(chart.to_dict()) if theme.SERIES[0] in scale["range"]]
    assert colours
    for scale in colours:
        assert scale["domain"] == ["band", "its runs", "others"]
        assert scale["range"] == [theme.SERIES[place] for place in (0, 0, 1)]


@pytest.mark.slow
def test_a_million_values_make_a_small_figure() -> None:
    values = np.random.default_rng(1).exponential(size=1_000_000)
    plot = ecdf_chart([Sample("SM", str(s), values) for s in range(4)], x_title="x (ms)")
    spec = json.dumps(draw(Figure("big", *plot, caption="")).spec)
    assert plot.data.height <= 4 * 501
    assert len(spec) < 400_000


def test_long_curves_are_thinned() -> None:
    x = np.linspace(0, 1, 100_000)
    plot = line_with_band([Curve("a", x, x, x - 1, x + 1)], x_title="x", y_title="y", points=False)
    assert plot.data.height == 500


def test_one_sender_has_no_line_style_legend() -> None:
    plot = ecdf_chart([Sample("SM", "", [1.0, 2.0])], x_title="x")
    assert "strokeDash" not in json.dumps(draw(Figure("f", *plot, caption="")).spec)


def test_wrong_data_is_refused() -> None:
    with pytest.raises(ValueError, match="one shape"):
        line_with_band([Curve("a", [1, 2], [1])], x_title="x", y_title="y")
    for empty in (
        lambda: ecdf_chart([], x_title="x"),
        lambda: line_with_band([], x_title="x", y_title="y"),
        lambda: points_with_interval([], x_title="x"),
    ):
        with pytest.raises(ValueError, match="at least one"):
            empty()


def test_a_chart_that_would_fetch_data_is_not_drawn(drawer: FigureDrawer) -> None:
    chart = alt.Chart("https://example.org/data.csv").mark_point().encode(x="a:Q")
    remote = Figure("remote", chart, pl.DataFrame({"a": [1]}), caption="")
    refused, drawn = drawer.files([draw(remote), draw(rtt_figure())])
    assert refused.pictures == {}
    assert "names data elsewhere" in refused.sentence
    assert not drawn.missing


def test_the_zoom_leaves_the_bare_wheel_to_the_page() -> None:
    (parameter,) = draw(rtt_figure()).spec["params"]
    assert parameter["bind"] == "scales"
    assert "shiftKey" in parameter["select"]["zoom"]


def test_the_script_has_what_the_page_calls(drawer: FigureDrawer) -> None:
    script = drawer.script()
    assert "window.vegaEmbed=" in script
    # Nothing in it ends the element that it stands in.
    assert "</script" not in script.lower()
    major = alt.SCHEMA_VERSION.removeprefix("v").partition(".")[0]
    assert vega_lite_version(f"{major}.999").partition(".")[0] == major
    with pytest.raises(RuntimeError, match=r"not 1\.0"):
        vega_lite_version("1.0")


def test_frames_of_every_kind() -> None:
    expected = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    for frame in (
        expected,
        pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}),
        {"a": np.array([1, 2]), "b": np.array(["x", "y"])},
    ):
        assert as_polars(frame).equals(expected)


def test_figure_names_are_file_names() -> None:
    for name in ("../up", "", ".hidden", "a/b", "a b"):
        with pytest.raises(ValueError, match="figure"):
            Figure(name, *line_with_band([Curve("a", [1], [1])], x_title="x", y_title="y"), "")
