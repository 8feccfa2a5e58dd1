"""The summary of a dossier on one page of A4, as SVG, from which a PDF is made."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from dumbbell import __version__
from dumbbell.claims import Judged
from dumbbell.judge.dossier import Dossier, SectionResult
from dumbbell.judge.outcome_bar import COLOURS, outcome_bar
from dumbbell.judge.suite import ReferenceKind
from dumbbell.judge.words import FAILS, HOLDS, OPEN, answer, how_measured, question, split_words
from dumbbell.printable import printable
from dumbbell.report.palette import INK, RULE, SOFT
from dumbbell.report.theme import FONT, WRITTEN

SUMMARY = "summary"
WIDTH_PT, HEIGHT_PT = 595, 842
"""A4 in points."""
_MARGIN_PT = 48
_TEXT_PT = WIDTH_PT - 2 * _MARGIN_PT
_MEAN_WIDTH = 0.5
"""Mean width of a character of Helvetica, in font sizes."""
_ROW_PT = 15.5
_TITLE_SIZE = 9.5
_MOST_SECTIONS = 24
_FOOT_PT = 62
_SMALL = 8.5


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns of the sections, in points.

    Attributes:
        title: Left edge of the titles.
        bar: Left edge of the bars.
        bar_width: Width of the bar of the section with the most expectations.
    """

    title: int
    bar: int
    bar_width: int

    def fitted(self, title: str) -> str:
        """The title, shortened to its column."""
        room = int((self.bar - self.title) / (_TITLE_SIZE * _MEAN_WIDTH))
        return textwrap.shorten(title, room, placeholder=" …")


_COLUMNS: Mapping[ReferenceKind, _Columns] = {
    ReferenceKind.NUMBER: _Columns(_MARGIN_PT + 36, 300, 115),
    ReferenceKind.NAME: _Columns(_MARGIN_PT + 66, 372, 56),
}


class _Sheet:
    """Lines of text from top to bottom."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = float(_MARGIN_PT)

    def line(
        self,
        text: str,
        *,
        size: float,
        colour: str = INK.light,
        weight: str = "normal",
        x: float = _MARGIN_PT,
    ) -> None:
        """One line of text at the present height."""
        self.parts.append(
            f'<text x="{x:g}" y="{self.y:.1f}" font-size="{size:g}" font-weight="{weight}" '
            f'fill="{colour}">{escape(printable(text))}</text>'
        )

    def paragraph(
        self,
        text: str,
        *,
        size: float,
        colour: str = INK.light,
        weight: str = "normal",
        most: int = 8,
    ) -> None:
        """Text in lines as wide as the page, at most so many; a longer one ends with "…"."""
        for each in _wrapped(text, size, most):
            self.y += 1.32 * size
            self.line(each, size=size, colour=colour, weight=weight)

    def rule(self) -> None:
        """A horizontal line."""
        self.parts.append(
            f'<line x1="{_MARGIN_PT}" x2="{WIDTH_PT - _MARGIN_PT}" y1="{self.y:.1f}" '
            f'y2="{self.y:.1f}" stroke="{RULE.light}" stroke-width="0.6"/>'
        )


def summary_svg(dossier: Dossier, digest: str) -> str:
    """The summary: answer, outcomes by section, what does not hold, and how to repeat it.

    Args:
        dossier: The dossier.
        digest: The `sections_digest` of its folder.
    """
    sheet = _Sheet()
    sheet.paragraph(question(dossier), size=18, weight="bold", most=2)
    sheet.y += 6
    sheet.paragraph(answer(dossier), size=11.5)
    sheet.y += 3
    for each in split_words(dossier)[:3]:
        told = f"Simulator and kernel decide differently: {each}."
        sheet.paragraph(told, size=10, weight="bold", most=2)
    sheet.paragraph(how_measured(dossier), size=_SMALL, colour=SOFT.light)
    sheet.y += 24
    columns = _COLUMNS[dossier.suite.references]
    _legend(sheet, columns)
    for found in dossier.found[:_MOST_SECTIONS]:
        _section(sheet, columns, found, max(len(each.judged) for each in dossier.found))
    sheet.y += 4
    _listed(sheet, "Does not hold", FAILS, _statements(dossier, lambda found: found.fails))
    _listed(sheet, "Not decided", OPEN, _statements(dossier, lambda found: found.open))
    _foot(sheet, dossier, digest)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH_PT}" height="{HEIGHT_PT}" '
        f'viewBox="0 0 {WIDTH_PT} {HEIGHT_PT}" font-family="{FONT}">\n'
        f"<title>{escape(printable(question(dossier)))}</title>\n"
        f'<rect width="{WIDTH_PT}" height="{HEIGHT_PT}" fill="#ffffff"/>\n'
        + "\n".join(sheet.parts)
        + "\n</svg>\n"
    )


def _legend(sheet: _Sheet, columns: _Columns) -> None:
    sheet.line("Expectations by section", size=10, weight="bold")
    x = float(columns.bar)
    for outcome, colour in COLOURS.items():
        sheet.parts.append(
            f'<rect x="{x:.1f}" y="{sheet.y - 7:.1f}" width="8" height="8" fill="{colour}"/>'
        )
        sheet.line(outcome, size=_SMALL, x=x + 11)
        x += 20 + len(outcome) * _SMALL * _MEAN_WIDTH
    sheet.y += 4
    sheet.rule()


def _section(sheet: _Sheet, columns: _Columns, found: SectionResult, most: int) -> None:
    counts = {HOLDS: len(found.holds), FAILS: len(found.fails), OPEN: len(found.open)}
    sheet.y += _ROW_PT
    sheet.line(found.section.reference, size=_TITLE_SIZE, colour=SOFT.light)
    sheet.line(columns.fitted(found.section.title), size=_TITLE_SIZE, x=columns.title)
    width = columns.bar_width * len(found.judged) / most if most else 0.0
    sheet.parts.append(outcome_bar(counts, columns.bar, sheet.y - 7.5, width, 9))
    words = (
        ("holds", "hold", counts[HOLDS]),
        ("does not", "do not", counts[FAILS]),
        ("open", "open", counts[OPEN]),
    )
    told = ", ".join(f"{n} {one if n == 1 else many}" for one, many, n in words if n)
    sheet.line(told, size=_SMALL, x=columns.bar + width + 6)


def _statements(dossier: Dossier, which: Callable[[SectionResult], Sequence[Judged]]) -> list[str]:
    several = len(dossier.backends) > 1
    return [
        f"{found.section.reference}  {each.claim.statement}"
        + (f" ({each.backend})" if several else "")
        for found in dossier.found
        for each in which(found)
    ]


def _listed(sheet: _Sheet, title: str, outcome: str, statements: list[str]) -> None:
    """As many statements as there is room for, and the number of the others."""
    room = HEIGHT_PT - _MARGIN_PT - _FOOT_PT - sheet.y
    lines = int((room - 18) / (1.3 * _SMALL))
    if not statements or lines < 2:
        return
    sheet.y += 16
    colour = WRITTEN[1] if outcome == FAILS else SOFT.light
    sheet.line(f"{title}: {len(statements)}", size=10, weight="bold", colour=colour)
    shown = statements if len(statements) <= lines else statements[: lines - 1]
    for each in shown:
        sheet.paragraph(each, size=_SMALL, most=1)
    if len(shown) < len(statements):
        more = f"and {len(statements) - len(shown)} more, on the page"
        sheet.paragraph(more, size=_SMALL, colour=SOFT.light)


def _foot(sheet: _Sheet, dossier: Dossier, digest: str) -> None:
    request = dossier.request
    sheet.y = HEIGHT_PT - _MARGIN_PT - _FOOT_PT + 10
    sheet.rule()
    sheet.y += 2
    facts: Iterable[str] = (
        f"controller {request.controller}, against {', '.join(request.against) or 'nothing else'}; "
        f"{request.depth.name.lower()}, {request.depth.replications} runs of each cell on "
        f"{' and '.join(dossier.backends)}; dumbbell {__version__}",
        f"SHA-256 of the sections: {digest}",
        "`dumbbell check FOLDER` repeats all runs and compares files, numbers and verdicts.",
    )
    for each in facts:
        sheet.paragraph(each, size=_SMALL, colour=SOFT.light, most=2)


def _wrapped(text: str, size: float, most: int) -> list[str]:
    width = int(_TEXT_PT / (size * _MEAN_WIDTH))
    return textwrap.wrap(text, width, max_lines=most, placeholder=" …")
