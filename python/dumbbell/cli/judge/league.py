"""``dumbbell judge --all``: run, print and write the league of congestion controllers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dumbbell.cli.common.pages import has_page, page_folder, result_place
from dumbbell.cli.judge.running import (
    GOES_ON,
    JudgeOptions,
    PlannedDossier,
    dossiers,
    has_failed,
    planned,
)
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say, tell
from dumbbell.cli.terminal.tables import print_table
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, EXIT_DONE, SpecError
from dumbbell.judge.league import Entry, League, entries_of, native_controllers
from dumbbell.judge.request import ALL_OF_LINUX, Depth
from dumbbell.judge.suites import DEFAULT_SUITE, suite_of
from dumbbell.judge.words import FAILS, HOLDS, OPEN
from dumbbell.replication import Interrupted
from dumbbell.spec.linux import PREFIX, linux_controllers


def run_league(named: Sequence[str], asked: JudgeOptions, console: Console) -> int:
    """Judge all controllers of the simulator, and the named ones.

    Runs are stored, so an interrupted command can be resumed, and ``dumbbell judge NAME`` gets each
    dossier without repeating runs.

    Args:
        named: Names, or files in C or Python.
        asked: The options.
        console: Console for the sentences.

    Returns:
        The exit status.

    Raises:
        SpecError: A controller is not known, its file may not be used, or two have one name.
    """
    with tempfile.TemporaryDirectory(prefix="dumbbell-league-") as folder:
        plans = list(league_plans(named, asked, Path(folder)))
        if not has_page(asked.page, asked.out, as_json=asked.as_json):
            return _run(plans, asked, console)
        kind = "judged" if asked.suite == DEFAULT_SUITE else asked.suite
        kind += "-full" if asked.depth is Depth.FULL else ""
        with result_place(
            asked.out or page_folder("league", kind),
            subject="league judged",
            source=None,
            replace=asked.replace,
            has_page=True,
            is_asked_for=asked.page is True or asked.out is not None,
        ) as place:
            return _run(plans, asked, console, place)


def league_plans(
    named: Sequence[str], asked: JudgeOptions, folder: Path
) -> Iterator[PlannedDossier]:
    """Plan the dossiers of all controllers of the simulator and of the named ones."""
    names = set()
    for number, each in enumerate(dict.fromkeys((*native_controllers(), *_expanded(named)))):
        place = folder / str(number)
        place.mkdir()
        plan = planned(each, asked, place, is_its_own_rival=True)
        if plan.about.name in names:
            raise SpecError("NAME|FILE", each, "a file with another name than the others")
        names.add(plan.about.name)
        yield plan


def _expanded(named: Sequence[str]) -> Iterator[str]:
    """The names, with all built controllers of Linux in place of `ALL_OF_LINUX`."""
    for each in named:
        if each != ALL_OF_LINUX:
            yield each
            continue
        built = linux_controllers()
        if not built:
            allowed = "controllers of Linux that `dumbbell controller build linux` has built"
            raise SpecError("NAME|FILE", each, allowed)
        yield from (f"{PREFIX}{name}" for name in built)


def _run(
    plans: Sequence[PlannedDossier], asked: JudgeOptions, console: Console, place: Any = None
) -> int:
    entries: list[Entry] = []
    any_failed = False
    for number, dossier in enumerate(dossiers(plans, asked), start=1):
        if dossier.interrupted:
            console.print(Text(GOES_ON))
            return Interrupted.exit_code
        tell(f"{number} of {len(plans)}: {dossier.request.name} is judged.")
        entries += entries_of(dossier)
        any_failed = any_failed or has_failed(dossier)
    league = League(entries, asked.depth, asked.against, suite_of(asked.suite))
    if asked.as_json:
        say(json_text(league_json(league)))
    else:
        print_league(league, console)
    if place is not None:
        from dumbbell.judge.league_page import league_report

        place.write(league_report(league), {}, console)
    return EXIT_CONTRADICTED_OR_FAILED if any_failed else EXIT_DONE


def print_league(league: League, console: Console) -> None:
    """Print the answer, and one line per controller."""
    from dumbbell.judge.league_page import answer, question

    console.print(Text(question(league), style="bold"))
    console.print(Text(answer(league)))
    console.print(Text(league.suite.caution, style="dim"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("rank", no_wrap=True)
    table.add_column("controller")
    for head, style in (("✓ holds", "green"), ("✗ not", "bold red"), ("? open", "yellow")):
        table.add_column(Text(head, style=style), justify="right", no_wrap=True)
    if league.scenarios:
        table.add_column(f"dominated in, of {len(league.scenarios)}", justify="right")
    for row in league.standings():
        counts = [str(row.counts[word]) for word in (HOLDS, FAILS, OPEN)]
        counts += [str(len(row.dominated))] if league.scenarios else []
        table.add_row(row.rank, row.entry.name, *counts)
    print_table(table, console, keys=2)


def league_json(league: League) -> dict[str, Any]:
    """The league as a JSON document."""
    from dumbbell.judge.league_page import answer, question

    return {
        "question": question(league),
        "answer": answer(league),
        "against": list(league.against),
        "depth": league.depth.name.lower(),
        "expectations": league.shared,
        "standings": [
            {
                "controller": row.entry.name,
                "rank": [row.first, row.last],
                "holds": row.counts[HOLDS],
                "does_not_hold": row.counts[FAILS],
                "not_decided": row.counts[OPEN],
                "dominated": {
                    scenario.title: list(names) for scenario, names in row.dominated.items()
                },
            }
            for row in league.standings()
        ],
        "scenarios": [
            {
                "title": scenario.title,
                "points": {
                    entry.name: {
                        "busy_percent": entry.points[scenario].busy_percent.tolist(),
                        "wait_ms": entry.points[scenario].wait_ms.tolist(),
                    }
                    for entry in league.entries
                },
            }
            for scenario in league.scenarios
        ],
    }
