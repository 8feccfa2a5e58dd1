"""The colours: contrast in both modes, and figures that follow the mode."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import product

import pytest
from report_samples import dots_figure, factor_figure, rtt_figure

from dumbbell.report import FigureDrawer, theme
from dumbbell.report.figure_views import figure_view
from dumbbell.report.figures import draw
from dumbbell.report.inline_svg import inline_svg
from dumbbell.report.palette import COLOURS, INK, PAPER, SERIES, WRITTEN, Colour, Role, as_variables

MODES = ("light", "dark")
LEAST = {Role.TEXT: 4.5, Role.LINE: 3.0}
"""Of WCAG 2.2: 1.4.3 for text, 1.4.11 for what is drawn."""
GROUNDS = ("paper", "wash")
"""What text and lines of every colour stand on; ink stands on all surfaces."""


def luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_as_wcag_defines_it() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("mode", MODES)
def test_lines_and_texts_can_be_seen_on_what_they_stand_on(mode: str) -> None:
    surfaces = {each.name: getattr(each, mode) for each in COLOURS if each.role is Role.SURFACE}
    faint = [
        (colour.name, name, round(contrast(getattr(colour, mode), ground), 2))
        for colour, (name, ground) in product(COLOURS, surfaces.items())
        if colour.role in LEAST and (name in GROUNDS or colour is INK)
        if contrast(getattr(colour, mode), ground) < LEAST[colour.role]
    ]
    assert faint == []


def test_every_colour_has_a_name_and_a_light_value_of_its_own() -> None:
    assert len({colour.name for colour in COLOURS}) == len(COLOURS)
    assert len({colour.light for colour in COLOURS}) == len(COLOURS)
    assert len(SERIES) == len(WRITTEN)


def test_style_sheets_name_colours_and_write_none() -> None:
    names = {colour.name for colour in COLOURS} | {"sans", "mono"}
    for sheet in ("style.css", "claims.css", "layout.css", "paper.css"):
        text = (files("dumbbell.report") / "templates" / sheet).read_text(encoding="utf-8")
        assert re.findall(r"#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(", text) == []
        assert {*re.findall(r"var\(--([a-z-]+)\)", text)} <= names


def test_only_the_palettes_colours_become_variables() -> None:
    given = f'<a fill="{PAPER.light}" stroke="#0072B2"/><b fill="white" stroke="#123456"/>'
    assert as_variables(given) == (
        '<a fill="var(--paper)" stroke="var(--blue)"/><b fill="white" stroke="#123456"/>'
    )


FIGURES = (rtt_figure, factor_figure, dots_figure)


def test_figures_in_a_page_have_no_colour_that_stays_in_dark_mode(drawer: FigureDrawer) -> None:
    for drawn in drawer.files([draw(make()) for make in FIGURES]):
        view = figure_view(drawn, is_interactive=True)
        for text in (view["drawings"], view["spec"]):
            assert "var(--" in text
            assert re.findall(r'"#[0-9a-fA-F]{3,6}"', text) == []


def test_a_drawing_is_described_and_its_names_are_its_own(drawer: FigureDrawer) -> None:
    (drawn,) = drawer.files([draw(rtt_figure())])
    view = figure_view(drawn, is_interactive=False)
    assert view["spec"] == ""
    assert view["drawings"].count("<svg") == 2  # for reading width and for a phone
    assert view["drawings"].count('role="img"') == 2
    assert view["drawings"].count(f'aria-label="{view["description"]}"') == 2
    ids = re.findall(r' id="([^"]*)"', view["drawings"])
    assert len(ids) == len({*ids})
    assert {*re.findall(r"url\(#([^)]*)\)", view["drawings"])} <= {*ids}
    assert "<script" not in view["drawings"]


def test_what_is_no_drawing_is_refused() -> None:
    with pytest.raises(ValueError, match="width"):
        inline_svg(b"picture", prefix="a", css="b", description="c")


def test_the_theme_draws_in_the_light_colours() -> None:
    light = {colour.light for colour in COLOURS}
    text = json.dumps(theme.look().to_dict())
    assert {*re.findall(r'"(#[0-9a-fA-F]{6})"', text)} <= light
    assert tuple(each.light for each in SERIES) == theme.SERIES


def test_a_colour_is_used_by_its_variable() -> None:
    assert Colour("x", "#111111", "#eeeeee", Role.TEXT).variable == "var(--x)"
