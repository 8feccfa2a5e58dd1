"""On narrow terminals no number and no word of a table is broken.

What a command prints at 80 or 60 columns is held against what it prints into a pipe, where tables
are as wide as they want to be: the same numbers and words, in no line more than there are columns.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich import box
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

from dumbbell.cli.app import app
from dumbbell.cli.terminal.consoles import PrintingConsole
from dumbbell.cli.terminal.tables import print_table
from dumbbell.printable import printable
from dumbbell.studies.traffic_policing import published
from small_dossiers import SHORT
from small_networks import home_line, sampled_queue

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
LOGS = ROOT / "tests" / "formats" / "logs"
WIDTHS = (80, 60)
QDISC = "links[isp->router].qdisc"
HEADS = {"verdict", "claim", "difference", "experiment", "links[isp->home].qdisc", "Metric", "Unit"}
"""Of columns that stand in the first line of a block, which says no heads."""
CLAIMS = """
[[claim]]
kind = "ordering"
statement = "95 % of a call's round trips are below what anybody would hear in a conversation"
quantity = "probe[call].rtt_p95_ms"
below = "200ms"

[[claim]]
kind = "published"
statement = "The mean that was printed"
quantity = "probe[call].mean_rtt_ms"
printed = "123.5 ms"
source = "a report"
"""
RUNS = {
    "mm1": ["mm1.toml", "--set=duration=300s"],
    "two-queues": ["two-queues.toml", "--set=duration=30s"],
    "chain": ["chain.toml", "--set=duration=30s"],
    "cubic-and-bbr": ["cubic-and-bbr.toml"],
    "random-loss": ["bbr-and-random-loss.toml"],
    "home-line": ["home-line.toml"],
    "policer": ["course/policer.toml"],
    "replicated": ["home-line.toml", "--replications=3"],
    "three": ["home-line.toml", *(f"--set={QDISC}={each}" for each in ("pfifo", "codel", "pie"))],
    "four": [
        "home-line.toml",
        *(f"--set={QDISC}={each}" for each in ("pfifo limit 100", "codel", "pie", "fq_codel")),
    ],
    "sweep": ["buffer-sweep.toml", "--replications=2"],
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DUMBBELL_PAGE", "no")
    return tmp_path


def printed(columns: int | None, *words: str) -> str:
    width = None if columns is None else str(columns)
    terminal = None if columns is None else "1"
    env = {"COLUMNS": width, "TTY_COMPATIBLE": terminal}
    done = CliRunner().invoke(app, list(words), env=env)
    assert done.exit_code in (0, 1) and not isinstance(done.exception, Exception), done.output
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)


def words_of(text: str) -> set[str]:
    """Without the lines between a table's head and its rows."""
    return {word for word in text.split() if word.strip("─")}


def hold(words: list[str], *, may_be_longer: str = "") -> None:
    """The same words at any width, and no line that is too long but for such a beginning."""
    whole = printed(None, *words)
    for width in WIDTHS:
        narrow = printed(width, *words)
        assert words_of(narrow) - words_of(whole) == set(), width
        assert words_of(whole) - words_of(narrow) <= HEADS, width
        long = [
            line
            for line in map(str.rstrip, narrow.splitlines())
            if len(line) > width and not (may_be_longer and line.startswith(may_be_longer))
        ]
        assert long == []


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_run(name: str, here: Path) -> None:
    file, *words = RUNS[name]
    hold(["run", str(EXAMPLES / file), *words])


def test_check(here: Path) -> None:
    Path("line.toml").write_text(home_line("3s", warm_up="1s") + CLAIMS, encoding="utf-8")
    hold(["check", "line.toml", "--replications=3"])


def test_judge(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dumbbell.judge.sections.SECTIONS", SHORT)
    hold(["judge", "bbr", "--against", "cubic", "--no-page"])


@pytest.mark.slow
def test_twin_and_advise(here: Path) -> None:
    line = ["--up", "10mbit", "--down", "50mbit", "--rtt", "20ms"]
    waits = ["--loaded-up", "300ms", "--loaded-down", "60ms"]
    hold(["twin", *line, *waits, "--out", "line", "--replace"])
    # Commands are to be copied: they stay in one line.
    hold(["advise", "line", "--for", "call-and-backup"], may_be_longer="    tc qdisc")


def test_results(here: Path) -> None:
    Path("line.toml").write_text(home_line("3s", warm_up="1s"), encoding="utf-8")
    path = "links[isp->home].qdisc"
    values = [f"--set={path}={each}" for each in ("pfifo limit 100", "pie target 20ms ecn")]
    assert printed(None, "run", "line.toml", *values, "--replications=3")
    hold(["results"])
    hold(["results", "pivot", "probe[call].mean_rtt_ms", "--by", path])


@pytest.mark.parametrize(
    "names",
    [["ping.txt"], ["iperf3-streams.txt"], ["ss-loop.txt"], ["tc-all.txt"], ["itgdec-delay.txt"]],
    ids=lambda names: names[0],
)
def test_analyze_logs(names: list[str], here: Path) -> None:
    hold(["analyze", *(str(LOGS / name) for name in names)], may_be_longer=str(LOGS))


def test_analyze_captures_and_flent_files(here: Path) -> None:
    text = sampled_queue("small", "2s", 'qdisc = "pfifo limit 20", capture = true')
    Path("small.toml").write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["run", "small.toml", "--to=pcapng,flent", "--out=out"])
    assert done.exit_code == 0, done.output
    hold(["analyze", "out/capture.pcapng"])
    hold(["analyze", "out/small.flent.gz"])


def test_ccperf(here: Path) -> None:
    words = [f"{name}={value}" for name, value in published.COMMAND.items()]
    hold(["ccperf", "traffic-policing", *(each for each in words if "--db-path" not in each)])


def test_reproduce(here: Path, only: Callable[..., None]) -> None:
    only("md1", "md1-wrong")
    hold(["reproduce", "all"], may_be_longer="wrote")


# --- any table -------------------------------------------------------------------------------

cells = st.text(st.characters(codec="ascii", exclude_categories=["C"]) | st.just("é"), max_size=14)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Table, int, list[str]]:
    n_columns = draw(st.integers(1, 9))
    table = Table(box=draw(st.sampled_from([box.SIMPLE_HEAD, None])))
    every = []
    for number in range(n_columns):
        head = draw(cells)
        every.append(head)
        table.add_column(
            Text(head), no_wrap=draw(st.booleans()), justify="right" if number else "left"
        )
    for _ in range(draw(st.integers(0, 6))):
        row = [draw(cells) for _ in range(n_columns)]
        every += row
        table.add_row(*map(Text, row))
    return table, draw(st.integers(1, n_columns)), every


@settings(max_examples=150)
@given(tables(), st.integers(40, 130))
def test_any_table(drawn: tuple[Table, int, list[str]], width: int) -> None:
    table, keys, every = drawn
    out = io.StringIO()
    # As a terminal of that width.
    console = PrintingConsole(out, width=width, force_terminal=True, color_system=None)
    print_table(table, console, keys=keys)
    assert console.width == width
    text = out.getvalue()
    if table.row_count:
        wanted = {printable(word) for cell in every for word in cell.split() if word.strip("─")}
        # Heads of columns that name rows are not repeated in blocks, nor are those without a value.
        of_cells = {word for cell in every[len(table.columns) :] for word in cell.split()}
        assert of_cells - words_of(text) <= {each for each in of_cells if not each.strip("─")}
        assert words_of(text) <= wanted
    assert all(len(line.rstrip()) <= width for line in text.splitlines())


def test_a_hostile_cell_is_measured_as_it_is_shown() -> None:
    out = io.StringIO()
    console = PrintingConsole(out, width=40, force_terminal=True, color_system=None)
    table = Table("", "a", "b", box=box.SIMPLE_HEAD)
    table.add_row("\x1b[2J" * 6, "1.5", "[red]2[/]")
    print_table(table, console)
    assert "\x1b" not in out.getvalue()
    assert out.getvalue().count("<U+001B>[2J") == 6
    assert "[red]2[/]" in out.getvalue()


def test_to_a_pipe_a_table_is_as_wide_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    out = io.StringIO()
    table = Table("", *map(str, range(40)), box=box.SIMPLE_HEAD)
    table.add_row("row", *("1.25e-05" for _ in range(40)))
    print_table(table, PrintingConsole(out, width=120))
    (row,) = (line for line in out.getvalue().splitlines() if "row" in line)
    assert row.split() == ["row", *["1.25e-05"] * 40]
