"""The badge of a dossier: how many expectations hold, as a small SVG for a project's page."""

from __future__ import annotations

from html import escape

from dumbbell import __version__
from dumbbell.judge.dossier import Dossier
from dumbbell.judge.outcome_bar import outcome_bar
from dumbbell.judge.words import FAILS, HOLDS, OPEN, outcome_counts
from dumbbell.printable import printable
from dumbbell.report.palette import INK, PAPER, SOFT
from dumbbell.report.theme import FONT

BADGE = "badge.svg"
_LABEL = "dumbbell judge"
_HEIGHT = 22
_BAR_HEIGHT = 4
_FONT_SIZE = 11
_CHARACTER_WIDTH_PX = 5.6
"""Mean width of a character; ``textLength`` makes every font fill what is estimated by it."""
_MARGIN = 7
_LONGEST_NAME = 40


def badge_svg(dossier: Dossier, digest: str) -> str:
    """The badge: ``bbr: 75 of 87 expectations hold``, above a bar of all outcomes.

    It states counts, never that a controller complies with RFC 9743.

    Args:
        dossier: The dossier.
        digest: The `sections_digest` of its folder, by which others find that the badge is of it.
    """
    counts = outcome_counts(dossier)
    asked = sum(counts.values())
    name = printable(dossier.request.name)
    name = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    told = f"{name}: {counts[HOLDS]} of {asked} expectations hold"
    title = (
        f"{name}, {dossier.suite.name}, {dossier.request.depth.name.lower()}: of {asked} "
        f"expectations of dumbbell {__version__}, {counts[HOLDS]} hold, {counts[FAILS]} do not, "
        f"{counts[OPEN]} are not decided. {dossier.suite.no_verdict}. Sections' digest {digest}."
    )
    left, right = (len(each) * _CHARACTER_WIDTH_PX for each in (_LABEL, told))
    split = left + 2 * _MARGIN
    width = split + right + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{_HEIGHT}" '
        f'viewBox="0 0 {width:.0f} {_HEIGHT}" role="img" font-family="{FONT}" '
        f'font-size="{_FONT_SIZE}">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{width:.0f}" height="{_HEIGHT}" fill="{PAPER.light}"/>\n'
        f'<rect width="{split:.0f}" height="{_HEIGHT}" fill="{SOFT.light}"/>\n'
        f"{_text(_LABEL, _MARGIN, left, PAPER.light)}\n"
        f"{_text(told, split + _MARGIN, right, INK.light)}\n"
        f"{outcome_bar(counts, split, _HEIGHT - _BAR_HEIGHT, width - split, _BAR_HEIGHT)}\n"
        "</svg>\n"
    )


def _text(text: str, x: float, length: float, colour: str) -> str:
    return (
        f'<text x="{x:.0f}" y="14" fill="{colour}" textLength="{length:.0f}">{escape(text)}</text>'
    )
