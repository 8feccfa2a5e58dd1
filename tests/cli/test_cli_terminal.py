"""Text from a stranger's file is shown without controlling the terminal."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

import dumbbell as package
from dumbbell.cli.terminal.consoles import PrintingConsole
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.progress import shown_progress
from dumbbell.printable import printable
from dumbbell.replication import Progress

PACKAGE = Path(package.__file__).parent
DOORS = {"cli/terminal/output.py", "cli/terminal/consoles.py"}
NO_STRANGERS = {
    # They print pages of the documentation from our own text.
    "claims/__main__.py",
    "compare/quantities_page.py",
    "formats/logs/reading.py",
    "metrics/__main__.py",
    "report/__main__.py",
    "spec/qdisc_docs.py",
    "spec/reference.py",
    "tables/__main__.py",
    # Lines of JSON through a pipe, for the process that started it.
    "backends/native/worker.py",
    "compare/executing/worker_process.py",
}
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
WAYS = {"write", "writelines", "buffer"}
PRINTING_MODULES = {"rich", "click", "typer"}
PRINTERS = {"Console", "Progress", "Live", "Status", "print", "echo", "secho", "track"}

HOSTILE = (
    "\x1b]0;OWNED\x1b\\\x1b]52;c;Y3VybA==\x1b\\\x1b[2A\x1b[32m\u2713 fine"
    "\x9b31m\x7f\u202e\u2066\u200b[red]x[/]"
)
"""A title, a clipboard, the line above, a colour, C1, DEL, a direction, markup of rich's."""


def printers_in(source: str) -> Iterator[tuple[int, str]]:
    """Lines that print, and by what."""
    tree = ast.parse(source)
    known = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").partition(".")[0] in PRINTING_MODULES
        for alias in node.names
    }
    for node in ast.walk(tree):
        writes = isinstance(node, ast.Attribute) and node.attr in WAYS
        if writes and _is_stream(node.value):
            yield node.lineno, ast.unparse(node)
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        first, _, last = called.rpartition(".")
        has_console = any(each.arg == "console" for each in node.keywords)
        if (
            called == "print"
            or (known.get(called) in PRINTERS and not has_console)
            or (first.partition(".")[0] in PRINTING_MODULES and last in PRINTERS)
            or (called == "os.write" and ast.unparse(node.args[0]) in ("1", "2"))
            or (any(map(_is_stream, node.args)) and not called.endswith("PrintingConsole"))
        ):
            yield node.lineno, called


def _is_stream(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in STREAMS
        and isinstance(node.value, ast.Name)
        and node.value.id == "sys"
    )


@pytest.mark.parametrize(
    "line",
    [
        "print('x')",
        "print('x', file=sys.stderr)",
        "sys.stdout.write('x')",
        "sys.stderr.buffer.write(b'x')",
        "write = sys.__stdout__.write",
        "os.write(1, b'x')",
        "from rich.console import Console\nConsole()",
        "from rich.console import Console as C\nC(stderr=True)",
        "import rich.console\nrich.console.Console()",
        "from rich import print as show\nshow('x')",
        "from rich.progress import Progress as Bars\nBars()",
        "import typer\ntyper.echo('x')",
        "import click\nclick.secho('x')",
        "json.dump({}, sys.stdout)",
        "shutil.copyfileobj(file, sys.stdout)",
    ],
)
def test_a_printer_is_found(line: str) -> None:
    assert list(printers_in(line))


@pytest.mark.slow
def test_all_that_is_printed_passes_the_door() -> None:
    past = [
        f"{name}:{line}: {called}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if (name := file.relative_to(PACKAGE).as_posix()) not in DOORS | NO_STRANGERS
        for line, called in printers_in(file.read_text())
    ]
    assert past == []


def test_those_that_may_print_past_it_do() -> None:
    for name in {"cli/terminal/output.py", *NO_STRANGERS}:
        assert list(printers_in((PACKAGE / name).read_text())), name


def test_a_console_shows_text_and_keeps_our_styles() -> None:
    out = io.StringIO()
    console = PrintingConsole(out, force_terminal=True, width=300, color_system="standard")
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(Text.assemble(("a", "bold"), (f"{HOSTILE}", "red")))
    console.print(table)
    console.print(HOSTILE, style="green")
    console.print(Text(f"{HOSTILE}\n\tnext", style="bold"))
    shown = out.getvalue()
    styles = set(re.findall(r"\x1b\[[0-9;]*m", shown))
    assert {"\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[0m"} <= styles
    rest = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert printable(rest, lines=True) == rest
    # Twice in one line, and in the table where lines are broken; with what stands in brackets.
    assert rest.count(printable(HOSTILE)) == 2
    assert rest.count("OWNED") == 5


def test_bars_and_lines_of_progress_show_text() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream in (Terminal(), io.StringIO()):
        with shown_progress(stream) as show:
            show(Progress(HOSTILE, 0.0, 2.0, "runs", HOSTILE))
            show(Progress(f"{HOSTILE}[/]", 1.0, 2.0, "runs", HOSTILE))
        shown = stream.getvalue()
        assert "OWNED" in shown
        assert not any(each in shown for each in ("\x1b]", "\x1b[2A", "\x9b", "\u202e", "\x7f"))


def test_json_is_the_same_and_has_nothing_that_is_not_seen() -> None:
    value = {"name": f"{HOSTILE}\ud800-\udcff\U000e0001", "list": ["\u00e4\u4e2d\U0001f600", 1.5]}
    text = json_text(value)
    assert json.loads(text) == value
    assert printable(text, lines=True) == text
    assert "\u00e4\u4e2d\U0001f600" in text
    text.encode()


DESCRIBED = """
name = TEXT
duration = "1s"
links = [{ a = "a", b = "b", delay = "10ms", rate = "1mbit" }]

[[flows]]
name = "bulk"
from = "a"
to = "b"
start_jitter = "100ms"
source = { kind = "greedy" }
"""
SWEPT = """
[sweep]
replications = 2
"links[a->b].rate" = { values = ["1mbit", "2mbit"], name = TEXT, unit = TEXT }
"""
CLAIMED = """
[[claim]]
id = "c1"
kind = "ordering"
statement = TEXT
source = TEXT
note = TEXT
fact = TEXT
quantity = "flow[bulk].goodput_bps"
above = "40mbit"
[[claim]]
kind = "calibration"
statement = TEXT
parameter = TEXT
value = 3
unit = TEXT
used = TEXT
"""


def asked(folder: Path, *arguments: str) -> str:
    """All that the command line prints, on both streams, with styles as on a terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "dumbbell.cli", *arguments],
        cwd=folder,
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": "400"},
        capture_output=True,
        check=False,
    )
    return (done.stdout + done.stderr).decode()


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "swept.toml", "--no-page", "--no-store"),
        ("run", "swept.toml", "--no-page", "--no-store", "--json"),
        ("run", "swept.toml", "--dry-run"),
        ("run", "plain.toml", "--no-page", "--no-store"),
        ("run", "plain.toml", "--no-page", "--no-store", "--replications", "2"),
        ("check", "claimed.toml", "--no-page", "--replications", "3"),
        ("check", "claimed.toml", "--no-page", "--replications", "3", "--json"),
        # Errors quote it.
        ("run", "plain.toml", "--set", f"links[{HOSTILE}].rate=1mbit"),
        ("run", "plain.toml", "--set", f"links[0].qdisc={HOSTILE}"),
        ("run", f"plain.toml{HOSTILE}"),
        ("run", f"--{HOSTILE}", "plain.toml"),
        (f"{HOSTILE}",),
        ("analyze", f"{HOSTILE}.log"),
        ("figures", f"{HOSTILE}.csv"),
    ],
    ids=lambda arguments: printable(" ".join(arguments))[:50],
)
def test_a_strangers_file_commands_no_terminal(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    quoted = json.dumps(HOSTILE).replace("\x7f", "\\u007f")
    for name, tables in (("plain", ""), ("swept", SWEPT), ("claimed", CLAIMED)):
        text = (DESCRIBED + tables).replace("TEXT", quoted)
        (tmp_path / f"{name}.toml").write_text(text)
    shown = asked(tmp_path, *arguments)
    rest = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert printable(rest, lines=True) == rest
    # It is there to be read; what comes before it is ours alone.
    assert "OWNED" in shown
    assert "\x1b[32m\u2713 fine" not in shown


@pytest.mark.parametrize("where", ["raise", "thread", "warn"])
def test_a_fault_and_a_warning_are_shown_as_text(tmp_path: Path, where: str) -> None:
    text = ascii(HOSTILE)
    does = {
        "raise": f"raise ValueError({text})",
        "thread": f"import threading; threading.Thread(target=int, args=({text},)).start()",
        "warn": f"import warnings; warnings.warn({text})",
    }[where]
    code = (
        f"from dumbbell.cli.terminal.output import escape_tracebacks_and_warnings as t; t()\n{does}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    shown = done.stderr.decode()
    assert "OWNED" in shown
    assert printable(shown, lines=True) == shown
    assert done.returncode == (where == "raise")
