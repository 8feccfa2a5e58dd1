"""The page of a league: ranks, and each controller's operating point in each scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from dumbbell import __version__
from dumbbell.judge.figures import outcome_bars
from dumbbell.judge.league import (
    BUSY_MARGIN_PERCENT,
    WAIT_MARGIN_MS,
    League,
    Scenario,
    Standing,
)
from dumbbell.judge.league_numbers import number_figures, number_tables, numbers_frame
from dumbbell.judge.tables import csv_text, latex_row
from dumbbell.judge.words import FAILS, HOLDS, OPEN
from dumbbell.report import Cell, Figure, Report, ValueRow, ValueTable
from dumbbell.report.theme import FIGURE_HEIGHT, FIGURE_WIDTH, SERIES
from dumbbell.stats import student_interval

LEAGUE = "league"
"""Name of the page's study."""
_STANDINGS = "standings"
_FREE, _DOMINATED = "dominated by none", "dominated"
_SHARE_OF_AXIS = 0.05
"""Points closer than this share of both axes get one label."""
_CHARACTER_OF_AXIS, _LINE_OF_AXIS = 0.032, 0.06
"""Width and height of a label's character in the panel of a family, as shares of its axes."""
_BESIDE_PANEL = 0.15
"""How far a label may reach beyond the panel, as a share of its axis."""
_MOST_NAMES = 3


def question(league: League) -> str:
    """Title of the page."""
    return league.suite.league_question.format(len(league.entries))


def answer(league: League) -> str:
    """Which controllers may be first, and which are not dominated in any scenario."""
    standings = league.standings()
    first = [row.entry.name for row in standings if row.first == 1]
    asked = len(league.shared)
    if len(first) == 1:
        told = f"{first[0]} is first: it keeps {standings[0].counts[HOLDS]} of {asked} expectations"
    elif len(first) == len(standings):
        told = f"None is first: {asked} expectations do not decide the order"
    else:
        told = f"{_listed(first)} may each be first: {asked} expectations do not decide it"
    free = [row.entry.name for row in standings if not row.dominated]
    if not league.scenarios:
        return f"{told}."
    nowhere = f"{_listed(free)} {'is' if len(free) == 1 else 'are'}" if free else "none is"
    return (
        f"{told}; by link utilization and queueing delay in {len(league.scenarios)} scenarios "
        f"without other controllers, {nowhere} dominated nowhere."
    )


def league_report(league: League) -> Report:
    """The page, with its tables as CSV and LaTeX files."""
    standings = league.standings()
    n = league.depth.replications
    return Report(
        study=LEAGUE,
        title=question(league),
        summary=f"{answer(league)} {_decided(standings)} {league.suite.caution}",
        hero=_STANDINGS,
        source=league.suite.source,
        source_url=league.suite.source_url,
        values=list(_tables(league, standings)),
        figures=list(_figures(league, standings)),
        notes=list(_notes(league)),
        meta={
            "controllers": [each.name for each in league.entries],
            "against": list(league.against),
            "depth": league.depth.name.lower(),
            "suite": league.suite.id,
            "replications": n,
            "dumbbell": __version__,
        },
        files={
            "league.csv": csv_text(standings_frame(league, standings)),
            "league.tex": latex_text(league, standings),
            **({"points.csv": csv_text(points_frame(league))} if league.scenarios else {}),
            "outcomes.csv": csv_text(outcomes_frame(league)),
            "numbers.csv": csv_text(numbers_frame(league)),
        },
    )


def _notes(league: League) -> Iterator[str]:
    n = league.depth.replications
    yield (
        "Each controller has a complete dossier (dumbbell judge NAME); where controllers share the "
        "link with rivals, a rival is also judged beside itself. Only expectations that apply to "
        "all controllers are counted; their thresholds are ours. One controller is ahead of "
        "another if it meets more expectations even if all undecided ones of the other were met. "
        f"A rank is a range if {n} runs of each cell and 95 % intervals do not decide it."
    )
    yield (
        "All expectations count equally: sort the table by those that matter to you. Claims about "
        "single controllers do not apply to all and do not count."
    )
    if league.scenarios:
        yield (
            "A scenario is a cell of the dossiers with an expectation on link utilization or "
            "queueing delay. A controller is dominated there if another one has a utilization "
            f"higher by more than {BUSY_MARGIN_PERCENT:g} % or a delay lower by more than "
            f"{WAIT_MARGIN_MS:g} ms, and is not worse in the other measure by that margin. The "
            "paired intervals hold at 95 % for all pairs of a scenario together. No other "
            "controller shares the link there: a controller that is dominated nowhere may still "
            "starve beside others."
        )
        yield (
            "Link utilization counts all bytes, including retransmissions. In scenarios with "
            "several flows it is their total."
        )


def standings_frame(league: League, standings: Sequence[Standing]) -> pl.DataFrame:
    """One row per controller, the best first."""
    return pl.DataFrame(
        [
            {
                "controller": row.entry.name,
                "first_rank": row.first,
                "last_rank": row.last,
                "holds": row.counts[HOLDS],
                "does_not_hold": row.counts[FAILS],
                "not_decided": row.counts[OPEN],
                "expectations": len(league.shared),
                "dominated": len(row.dominated),
                "scenarios": len(league.scenarios),
            }
            for row in standings
        ]
    )


def outcomes_frame(league: League) -> pl.DataFrame:
    """One row per shared expectation, one column per controller."""
    rows = [
        {"expectation": name, "section": league.entries[0].numbers[name].section.title}
        | {each.name: each.outcomes[name] for each in league.entries}
        for name in league.shared
    ]
    return pl.DataFrame(rows)


def points_frame(league: League) -> pl.DataFrame:
    """One row per scenario and controller: means with intervals, and dominating controllers."""
    dominated = {row.entry.name: row.dominated for row in league.standings()}
    return pl.DataFrame(
        [
            {
                "scenario": scenario.title,
                "controller": entry.name,
                **_ends("busy_percent", entry.points[scenario].busy_percent),
                **_ends("wait_ms", entry.points[scenario].wait_ms),
                "dominated_by": ", ".join(dominated[entry.name].get(scenario, ())),
            }
            for scenario in league.scenarios
            for entry in league.entries
        ],
        schema_overrides={"dominated_by": pl.String},
    )


def latex_text(league: League, standings: Sequence[Standing]) -> str:
    """The standings as a ``tabular`` of LaTeX (package booktabs)."""
    dominated = ["dominated"] if league.scenarios else []
    head = ("controller", "rank", HOLDS, FAILS, OPEN, *dominated)
    return "\n".join(
        [
            r"% \usepackage{booktabs}",
            rf"\begin{{tabular}}{{ll{'r' * (len(head) - 2)}}}",
            r"\toprule",
            latex_row(head),
            r"\midrule",
            *(
                latex_row(
                    (
                        row.entry.name,
                        row.rank,
                        *(str(row.counts[word]) for word in (HOLDS, FAILS, OPEN)),
                        *(f"{len(row.dominated)} of {len(league.scenarios)}" for _ in dominated),
                    )
                )
                for row in standings
            ),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _ends(name: str, values: Any) -> Mapping[str, float]:
    found = student_interval(values)
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def _decided(standings: Sequence[Standing]) -> str:
    decided = sum(row.first == row.last for row in standings)
    return f"Of {len(standings)} ranks these runs decide {decided or 'none'}."


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMES + 1:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _tables(league: League, standings: Sequence[Standing]) -> Iterator[ValueTable]:
    of = f"Of {len(league.shared)} expectations"
    dominated = ["dominated in"] if league.scenarios else []
    yield ValueTable(
        title="The league",
        columns=["rank", HOLDS, FAILS, OPEN, *dominated],
        rows=[
            ValueRow(
                row.entry.name,
                "",
                [
                    Cell(words=row.rank, order=(row.first, row.last)),
                    *(row.counts[word] for word in (HOLDS, FAILS, OPEN)),
                    *(len(row.dominated) for _ in dominated),
                ],
            )
            for row in standings
        ],
        caption=f"{of}{f' and {len(league.scenarios)} scenarios' if dominated else ''}. A rank "
        "such as 2 to 5 is not decided further. Press a heading to sort.",
        is_sortable=True,
        is_leading=True,
    )
    yield _by_section(league, standings)
    yield from number_tables(league, standings)
    for scenario in league.scenarios:
        yield ValueTable(
            title=scenario.title,
            columns=["link busy (%)", "wait (ms)", "dominated by"],
            rows=[
                ValueRow(
                    row.entry.name,
                    "",
                    [
                        Cell.of(student_interval(row.entry.points[scenario].busy_percent)),
                        Cell.of(student_interval(row.entry.points[scenario].wait_ms)),
                        _listed(row.dominated[scenario]) if scenario in row.dominated else "–",
                    ],
                )
                for row in standings
            ],
            is_folded=True,
            is_sortable=True,
        )


def _by_section(league: League, standings: Sequence[Standing]) -> ValueTable:
    sections: dict[str, list[str]] = {}
    for name in league.shared:
        sections.setdefault(league.entries[0].numbers[name].section.title, []).append(name)
    return ValueTable(
        title="What does not hold, by section",
        columns=[row.entry.name for row in standings],
        rows=[
            ValueRow(
                f"{title} (of {len(names)})",
                "",
                [
                    sum(row.entry.outcomes[name] == FAILS for name in names) or "–"
                    for row in standings
                ],
            )
            for title, names in sections.items()
        ],
        caption="Expectations of a section that a controller does not keep.",
        is_sortable=True,
    )


def _figures(league: League, standings: Sequence[Standing]) -> Iterator[Figure]:
    yield Figure(
        _STANDINGS,
        *outcome_bars({row.entry.name: row.counts for row in standings}, "controller"),
        caption="Expectations that were asked of all: how many each controller keeps, does not "
        "keep, and how many are not decided.",
        title="What holds, by controller",
    )
    for scenario in league.scenarios:
        yield _operating_points(scenario, standings)
    if not league.scenarios:
        yield from number_figures(league, standings)


def _operating_points(scenario: Scenario, standings: Sequence[Standing]) -> Figure:
    rows: list[dict[str, Any]] = []
    for row in standings:
        point = row.entry.points[scenario]
        rows.append(
            {
                "controller": row.entry.name,
                **_ends("busy", point.busy_percent),
                **_ends("wait", point.wait_ms),
                "state": _DOMINATED if scenario in row.dominated else _FREE,
            }
        )
    labels = _labels([each for each in rows if each["state"] == _FREE], rows)
    heights = _shares([each["busy"] for each in rows], [each["busy"] for each in rows])
    frame = pl.DataFrame(
        [
            each
            | {
                "label": label.text,
                "is_left": label.is_left,
                "is_low": height < _LINE_OF_AXIS,
            }
            for each, height in zip(rows, heights, strict=True)
            for label in [labels.get(each["controller"], _NO_LABEL)]
        ]
    )
    scale = alt.Scale(zero=False, nice=True)
    x = alt.X("wait:Q", title="wait in the queue, mean (ms)", scale=scale)
    y = alt.Y("busy:Q", title="link busy (%)", scale=scale)
    colour = alt.Color(
        "state:N",
        title=None,
        scale=alt.Scale(domain=[_FREE, _DOMINATED], range=[SERIES[0], SERIES[1]]),
    )
    base = alt.Chart(frame)
    tooltip = ["controller:N", "busy:Q", "wait:Q", "state:N"]
    chart = alt.layer(
        base.mark_rule().encode(alt.X("wait_low:Q"), y, color=colour, x2="wait_high:Q"),
        base.mark_rule().encode(x, alt.Y("busy_low:Q"), color=colour, y2="busy_high:Q"),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x, y, color=colour, tooltip=tooltip
        ),
        # Above the highest points is the legend, below the lowest one the axis.
        *(
            base.transform_filter((alt.datum.is_low == is_low) & (alt.datum.is_left == is_left))
            .mark_text(align="right" if is_left else "left", dx=-7 if is_left else 7, dy=dy)
            .encode(x, y, text="label:N", size=alt.value(11))
            for is_low, dy in ((True, -7), (False, 10))
            for is_left in (False, True)
        ),
    ).properties(width=FIGURE_WIDTH, height=FIGURE_HEIGHT)
    return Figure(
        f"{scenario.section}-{scenario.id}".replace(".", "_"),
        chart,
        frame,
        caption="Better is higher and further left; bars are 95 % intervals of the means.",
        title=scenario.title,
        family="Operating points, by scenario",
    )


@dataclass(frozen=True, slots=True)
class _Label:
    """The label of close points; it stands to their right unless `is_left`."""

    text: str
    is_left: bool = False


_NO_LABEL = _Label("")


def _labels(
    free: Sequence[Mapping[str, Any]], all_: Sequence[Mapping[str, Any]]
) -> dict[str, _Label]:
    """A label for the first of several close points, with the names of all of them.

    It is shortened, or stands to the left, where it would leave the panel or lie on an earlier
    label. If neither helps it is left out: the point's tooltip has the name.
    """
    place = {
        axis: _shares([each[axis] for each in free], [each[axis] for each in all_])
        for axis in ("busy", "wait")
    }
    together: list[list[int]] = []
    for number in range(len(free)):
        for group in together:
            if all(abs(at[number] - at[group[0]]) <= _SHARE_OF_AXIS for at in place.values()):
                group.append(number)
                break
        else:
            together.append([number])
    labels: dict[str, _Label] = {}
    taken: list[tuple[float, float, float]] = []
    for group in together:
        names = [free[each]["controller"] for each in group]
        at, height = place["wait"][group[0]], place["busy"][group[0]]
        for label in _candidates(names):
            width = len(label.text) * _CHARACTER_OF_AXIS
            begin, end = (at - width, at) if label.is_left else (at, at + width)
            is_over = any(
                begin < other_end and other_begin < end and abs(height - other) < _LINE_OF_AXIS
                for other_begin, other_end, other in taken
            )
            if begin >= -_BESIDE_PANEL and end <= 1 + _BESIDE_PANEL and not is_over:
                labels[names[0]] = label
                taken.append((begin, end, height))
                break
    return labels


def _candidates(names: Sequence[str]) -> Iterator[_Label]:
    """Labels of close points, the best first."""
    texts = [_listed(names)]
    if len(names) > _MOST_NAMES - 1:
        texts.append(f"{names[0]} and {len(names) - 1} others")
    for text in texts:
        yield _Label(text)
        yield _Label(text, is_left=True)


def _shares(values: Sequence[float], all_: Sequence[float]) -> list[float]:
    """Positions between the least and the largest of all, from 0 to 1."""
    least, span = min(all_), max(all_) - min(all_)
    return [(each - least) / span if span else 0.0 for each in values]
