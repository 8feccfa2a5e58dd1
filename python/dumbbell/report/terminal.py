"""The claims as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dumbbell.claims import ClaimView, Judged, counts_of, views_of
from dumbbell.report.badges import (
    BADGES,
    SCORE_ORDER,
    SCORES,
    count_words,
    facts_words,
    sorted_claims,
)
from dumbbell.report.model import IndexEntry, verdict_counts
from dumbbell.report.numbers import plain, unit_suffix, with_uncertainty


def claims_table(judged: Sequence[Judged], *, title: str = "") -> RenderableType:
    """Verdict, claim, published, theory and measured, with a line of counts below.

    If claims were measured on several backends, a column names the backend.

    All cells are rich :class:`~rich.text.Text`, so square brackets in a claim are not markup.

    Args:
        judged: The claims of a study.
        title: Printed above.
    """
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False, padding=(0, 1), title=(
        Text(title, style="bold") if title else None), title_justify="left")  # fmt: skip
    table.add_column("verdict")
    table.add_column("claim", ratio=1, min_width=20)
    views = views_of(judged)
    several = len({one.backend for one in views}) > 1
    if several:
        table.add_column("where", no_wrap=True)
    for name in ("published", "theory", "measured"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in sorted_claims(views):
        table.add_row(*_row(one, several=several))
    return Group(table, counts_lines(views))


def overview_table(entries: Sequence[IndexEntry]) -> RenderableType:
    """Return a table of studies with their questions, counts of verdicts and summaries.

    Args:
        entries: Studies in the order of the index page.
    """
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False, padding=(0, 1), title=(
        Text("All studies", style="bold")), title_justify="left")  # fmt: skip
    table.add_column("study", no_wrap=True)
    given = {verdict for entry in entries for verdict in verdict_counts(entry.judged)}
    shown = [verdict for verdict in SCORE_ORDER if verdict in given]
    for verdict in shown:
        badge = BADGES[verdict]
        head = Text(f"{badge.symbol} {verdict.value}", style=badge.terminal)
        table.add_column(head, justify="right")
    for entry in entries:
        counts = verdict_counts(entry.judged)
        numbers = [Text(str(counts.get(verdict, "–"))) for verdict in shown]
        table.add_row(Text(entry.study), *numbers)
    questions = [
        Text.assemble(
            (f"{entry.title} ", "bold"),
            ("Not run: ", "bold red") if entry.not_run else "",
            entry.not_run or entry.summary,
        )
        for entry in entries
    ]
    return Group(table, Text("\n\n").join(questions))


def counts_lines(claims: Sequence[ClaimView]) -> Text:
    """Count facts, one line per standing: ``Theory (8 facts):  ✓ 7 reproduced  ? 1 inconclusive``.

    A line below states the misses expected by chance.
    """
    counts = counts_of(claims)
    lines = []
    for count in counts:
        line = Text(f"{SCORES[count.standing]} ({facts_words(count)}):", style="bold")
        for verdict in SCORE_ORDER:
            if number := count.verdicts.get(verdict):
                badge = BADGES[verdict]
                words = f"{badge.symbol} {count_words(verdict, number)}"
                line.append("  ", style="not bold").append(
                    words, style=f"not bold {badge.terminal}"
                )
        if count.chance_words:
            line.append(f"\n{count.chance_words}", style="not bold dim")
        lines.append(line)
    return Text("\n").join(lines)


def _row(claim: ClaimView, *, several: bool) -> tuple[Text, ...]:
    badge = BADGES[claim.verdict]
    value, interval = with_uncertainty(claim.measured, claim.low, claim.high)
    suffix = unit_suffix(claim.unit)
    measured = Text(value + (suffix if claim.measured is not None else ""))
    if interval:
        measured.append(f"\n{interval}", style="dim")
    return (
        Text(f"{badge.symbol} {claim.verdict_text}", style=badge.terminal),
        Text(claim.statement),
        *([Text(claim.backend)] if several else []),
        Text(plain(claim.published)),
        Text(plain(claim.theory)),
        measured,
    )
