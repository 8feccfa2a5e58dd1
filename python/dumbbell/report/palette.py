"""The colours of pages and figures, by name, in light and in dark mode.

Hues of measured series are those of Okabe and Ito, which people with any common colour vision
deficiency can distinguish (Okabe and Ito, "Color Universal Design", 2008). They are darkened where
the contrast on white is too low: in both modes, every line has a contrast of at least 3:1 and every
text of 4.5:1 with every background it is used on (WCAG 2.2, 1.4.3 and 1.4.11).

A figure is drawn in the light colours. A page replaces each of them by a CSS variable, so that the
figure follows the mode like the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto


class Role(Enum):
    """What a colour is used for; determines the required contrast."""

    TEXT = auto()
    LINE = auto()
    SURFACE = auto()
    BAND = auto()
    """Areas that only shade what is also shown by a line or mark."""


@dataclass(frozen=True, slots=True)
class Colour:
    """A colour in both modes.

    Attributes:
        name: Name of its CSS variable.
        light: Light mode, as ``#rrggbb``; unique.
        dark: Dark mode.
        role: What it is used for.
    """

    name: str
    light: str
    dark: str
    role: Role

    @property
    def variable(self) -> str:
        """Return the reference for a style sheet."""
        return f"var(--{self.name})"


INK = Colour("ink", "#1b1b1b", "#e8eaed", Role.TEXT)
SOFT = Colour("soft", "#565656", "#b4bcc5", Role.TEXT)
PAPER = Colour("paper", "#ffffff", "#15181c", Role.SURFACE)
AXIS = Colour("axis", "#595959", "#aab2bb", Role.LINE)
RULE = Colour("rule", "#8a8a8a", "#7f8891", Role.LINE)
"""Colour of lines of tables, boxes and grids."""
INTERVAL = Colour("interval", "#5e8fb0", "#5587a8", Role.LINE)
MAGENTA = Colour("magenta", "#d6009a", "#ff6fce", Role.LINE)

SERIES = (
    Colour("blue", "#0072b2", "#5eb1ea", Role.LINE),
    Colour("vermillion", "#d55e00", "#ff8f52", Role.LINE),
    Colour("green", "#009e73", "#35c79a", Role.LINE),
    Colour("purple", "#c4709e", "#e79cc8", Role.LINE),
    Colour("orange", "#b87a00", "#f0b429", Role.LINE),
    Colour("sky", "#2c8dc4", "#9ad4f7", Role.LINE),
)
"""Colours of series, ordered so that neighbours also differ in lightness."""
WRITTEN = (
    Colour("blue-text", "#0068a3", "#6bb8ee", Role.TEXT),
    Colour("vermillion-text", "#b34e00", "#ff9860", Role.TEXT),
    Colour("green-text", "#007a58", "#3fcda1", Role.TEXT),
    Colour("purple-text", "#a04a7c", "#eaa6ce", Role.TEXT),
    Colour("orange-text", "#8a5c00", "#f2bb3d", Role.TEXT),
    Colour("sky-text", "#1b76a8", "#a3d8f8", Role.TEXT),
)
"""The same hues for labels beside lines, in the same order."""

COLOURS: tuple[Colour, ...] = (
    INK,
    SOFT,
    PAPER,
    AXIS,
    RULE,
    INTERVAL,
    MAGENTA,
    *SERIES,
    *WRITTEN,
    Colour("wash", "#f6f6f4", "#1e2329", Role.SURFACE),
    Colour("good", "#e3f4ee", "#12302a", Role.SURFACE),
    Colour("bad", "#fbe9dd", "#3a2318", Role.SURFACE),
    Colour("mixed", "#f6e9f1", "#35222f", Role.SURFACE),
    Colour("unsure", "#fdf3dc", "#332a12", Role.SURFACE),
    Colour("untold", "#e6f1f8", "#142b3b", Role.SURFACE),
    Colour("found", "#fffbe6", "#2e2a14", Role.SURFACE),
    Colour("failed", "#a30000", "#ff8080", Role.LINE),
    Colour("amended", "#864900", "#f3b566", Role.TEXT),
    Colour("shaped", "#a34700", "#ffa36b", Role.TEXT),
    Colour("margin", "#e4e4de", "#343b43", Role.BAND),
)

_BY_LIGHT = {colour.light: colour for colour in COLOURS}
_COLOUR = re.compile(r'(?<=")(#[0-9a-fA-F]{6})(?=")')


def style_sheet() -> str:
    """Return the variables for both modes; print uses light mode."""
    light, dark = (
        "".join(f"--{colour.name}:{getattr(colour, mode)};" for colour in COLOURS)
        for mode in ("light", "dark")
    )
    return (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    )


def as_variables(text: str) -> str:
    """Return an SVG, or a specification as JSON, with colours replaced by the page's variables.

    Other colours are unchanged, and so are named colours: a ``white`` number on a dark cell of a
    heat map is white in both modes.
    """
    return _COLOUR.sub(_variable, text)


def _variable(found: re.Match[str]) -> str:
    colour = _BY_LIGHT.get(found[0].lower())
    return colour.variable if colour else found[0]
