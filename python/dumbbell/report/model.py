"""The contents of a page and their types."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from dumbbell.claims import Accounts, Judged, Verdict, facts_of, views_of
from dumbbell.folders import Content
from dumbbell.report.advice import Advice
from dumbbell.report.cells import Cell, CellLike
from dumbbell.report.live import LiveHero
from dumbbell.report.topology import Topology

if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    import polars as pl
    from markupsafe import Markup

    Chart: TypeAlias = alt.TopLevelMixin

    class PandasFrame(Protocol):
        """The part of a pandas frame used here; pandas is an optional dependency."""

        @property
        def columns(self) -> Iterable[Any]:
            """Names of the columns."""
            ...

        def __getitem__(self, name: Any, /) -> Any:
            """A column."""
            ...

    Frame: TypeAlias = pl.DataFrame | PandasFrame | Mapping[str, np.ndarray[Any, Any]]

LOAD_TOLERANCE = 0.01
"""If configured and measured load differ by more than this (relative), the page warns."""

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_file_name(name: str, what: str) -> str:
    """Return ``name`` if it is a valid file name on all systems, without a folder.

    Raises:
        ValueError: It is empty, starts with a dot or holds another character.
    """
    if not _FILE_NAME.fullmatch(name):
        raise ValueError(f"{what} {name!r}: letters, digits, '-', '_' and '.', as in 'rtt-cdf'")
    return name


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, its data and what it shows.

    Attributes:
        name: File name without suffix: ``figures/NAME.svg`` and so on.
        chart: Altair chart; drawn with the theme of :mod:`dumbbell.report.theme`.
        data: What the chart shows, written to ``figures/NAME.csv``.
        caption: What to see in it, in a sentence or two.
        title: Heading above the figure.
        description: Text for screen readers; the caption when left empty.
        family: Heading of its family; consecutive figures of one family are shown side by side as
            small panels, each under its title.
    """

    name: str
    chart: Chart
    data: Frame
    caption: str
    title: str = ""
    description: str = ""
    family: str = ""

    def __post_init__(self) -> None:
        """Refuse an invalid file name."""
        check_file_name(self.name, "figure")


@dataclass(frozen=True, slots=True)
class LoadRow:
    """The configured load beside the load that reached the queue.

    Attributes:
        what: Flow, sender or queue, as named on the page.
        asked: Nominal load, in ``unit``.
        measured: Load measured on the wire, in ``unit``.
        unit: Such as ``Mbit/s``, ``packets/s`` or ``1`` (utilization).
        note: Why they differ, if known.
    """

    what: str
    asked: float
    measured: float
    unit: str
    note: str = ""

    @property
    def relative_difference(self) -> float:
        """Return (measured - asked) / asked; infinite if the configured load was 0 and traffic
        arrived.
        """
        if self.asked == 0:
            return 0.0 if self.measured == 0 else math.inf
        return (self.measured - self.asked) / self.asked

    @property
    def differs(self) -> bool:
        """Whether the difference exceeds :data:`LOAD_TOLERANCE` or is not a number."""
        return not abs(self.relative_difference) <= LOAD_TOLERANCE


@dataclass(frozen=True, slots=True)
class ValueRow:
    """A row of a `ValueTable`.

    Attributes:
        name: Name of the measured quantity.
        unit: Of the cells; ``1`` for a pure number.
        cells: One per column: estimates and numbers, printed to their known precision, or text.
        best: Indices of the best cells, shown bold.
        code: Its name in the source or in a file, if that differs from the printed name.
        is_code: Whether the name itself is an id or a command.
    """

    name: str
    unit: str
    cells: Sequence[CellLike]
    best: frozenset[int] = frozenset()
    code: str = ""
    is_code: bool = False

    @property
    def filled(self) -> list[Cell]:
        """Return the cells, converted to `Cell`."""
        return [Cell.of(cell) for cell in self.cells]


@dataclass(frozen=True, slots=True)
class ValueTable:
    """Measured values side by side: one row per metric, one column per alternative.

    Attributes:
        title: Heading.
        columns: The alternatives compared.
        rows: From top to bottom.
        caption: How the values were made, such as their sampling interval.
        is_folded: Whether the table is folded at first, as details of the table before it.
        is_sortable: Whether the reader can sort it by each column.
        is_leading: Whether it stands before the figures, as the page's first evidence.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[ValueRow]
    caption: str = ""
    is_folded: bool = False
    is_sortable: bool = False
    is_leading: bool = False

    def __post_init__(self) -> None:
        """Refuse a row with the wrong number of cells."""
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(f"{row.name}: {len(row.cells)} cells, {len(self.columns)} columns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All contents of a study's page and folder.

    Attributes:
        study: Identifier, such as ``statistical-multiplexing``.
        title: Title of the page, as a question where there is one.
        summary: Summary of the verdicts, in one paragraph of plain text.
        answer: The answer to the title's question, a clause with one number; with an answer, the
            page is laid out as an explanation: the answer, the `hero`, the method, then the
            evidence.
        measured: Definition and uncertainty of the answer's number: ranges, intervals, runs.
        so: The conclusion, one sentence without its "So:".
        done: The method, in a paragraph.
        hero: Name of the figure under the answer; the first when left empty.
        live: The interactive figure of the page, above the `hero`.
        advice: Recommended settings, as far as they were measured.
        source: Citation of the reproduced source; empty without one.
        source_url: URL of the source, or empty.
        topologies: Simulated topologies, one per arm. Anything with ``resolved()`` may be turned
            into one by :meth:`Topology.of`.
        judged: Every claim with its verdict.
        printed: Every number printed in the source, with its state according to the verdicts.
        rules_file: The file with the rules, if they were written by the author of the experiment;
            empty for the rules of our studies, which predate the runs.
        said: Heading of the count of claims, if the claims are not from a publication.
        values: Tables of measured values.
        figures: Figures in the order shown; the `hero` is also on the index page.
        loads: Configured against measured load.
        commands: Per arm, the ``(host, command)`` lines of a testbed.
        notes: Limitations and interpretations of the source, one paragraph each.
        meta: Deterministic facts (spec, seed, versions, digest): ``meta.json``.
        provenance: Facts that differ from run to run (wall time, host, date): ``provenance.json``.
        tables: Columns by table name, written to ``tables/NAME.parquet``.
        files: Further files by name, such as ``pingtimes-1-sm.csv``.
    """

    study: str
    title: str
    summary: str
    answer: str = ""
    measured: str = ""
    so: str = ""
    done: str = ""
    hero: str = ""
    live: LiveHero | None = None
    advice: Sequence[Advice] = ()
    source: str = ""
    source_url: str = ""
    topologies: Sequence[Topology] = ()
    judged: Sequence[Judged] = ()
    printed: Accounts | None = None
    rules_file: str = ""
    said: str = ""
    values: Sequence[ValueTable] = ()
    figures: Sequence[Figure] = ()
    loads: Sequence[LoadRow] = ()
    commands: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Frame] = field(default_factory=dict)
    files: Mapping[str, Content] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse invalid file names and duplicate figure names."""
        for name in self.tables:
            check_file_name(name, "table")
        for name in self.files:
            check_file_name(name, "file")
        names = [figure.name for figure in self.figures]
        if len(set(names)) != len(names):
            raise ValueError(f"figures must have different names, not {', '.join(names)}")
        if self.hero and self.hero not in names:
            raise ValueError(f"hero {self.hero!r} is none of the figures: {', '.join(names)}")
        if self.source_url and not self.source_url.startswith(("https://", "http://")):
            raise ValueError(f"source_url {self.source_url!r}: an http or https address")

    @property
    def shown_first(self) -> Figure | None:
        """Return the hero, or the first figure; None where there are none."""
        named = [figure for figure in self.figures if figure.name == self.hero]
        return next(iter([*named, *self.figures]), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """A study on the index page of ``reproduce all``.

    Attributes:
        study: Identifier; also the folder of its page, beside the index.
        title: Title of its page.
        summary: Summary of the verdicts.
        judged: Its claims with verdicts.
        figure: Name of the figure to show, or empty for none.
        caption: Caption of that figure.
        answer: Its answer in one sentence.
        advice: Recommended settings.
        not_run: Why there is no page; empty where there is one.
        topic: Topic by which the page groups studies; empty for none.
        question: The question of that topic.
        statements: What is claimed, for the search.
    """

    study: str
    title: str
    summary: str
    judged: Sequence[Judged] = ()
    figure: str = ""
    caption: str = ""
    answer: str = ""
    advice: Sequence[Advice] = ()
    not_run: str = ""
    topic: str = ""
    question: str = ""
    statements: Sequence[str] = ()

    @classmethod
    def of(cls, report: Report) -> IndexEntry:
        """The entry of a report written to the folder named after its study."""
        first = report.shown_first
        return cls(
            study=report.study,
            title=report.title,
            summary=report.summary,
            judged=report.judged,
            figure=first.name if first else "",
            caption=first.caption if first else "",
            answer=report.answer,
            advice=report.advice,
            statements=tuple(dict.fromkeys(each.claim.statement for each in report.judged)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """First entry of the index: a page to be read before all others.

    Attributes:
        address: Address of the page, relative to the index.
        title: Title of the page.
        question: The question it answers.
        answer: The answer, in a sentence.
        invitation: Text of the link.
        drawing: An SVG.
    """

    address: str
    title: str
    question: str
    answer: str
    invitation: str
    drawing: Markup


def verdict_counts(judged: Sequence[Judged]) -> dict[Verdict, int]:
    """Count the facts of each verdict; verdicts without facts are left out."""
    counts = dict.fromkeys(Verdict, 0)
    for fact in facts_of(views_of(judged)):
        counts[fact.verdict] += 1
    return {verdict: count for verdict, count in counts.items() if count}
