"""``dumbbell --help`` groups the commands by purpose, ``run`` first."""

from __future__ import annotations

from typer.testing import CliRunner

from dumbbell.cli.app import COMMANDS, GROUPS, app


def test_help_shows_each_command_once_under_its_heading_and_run_first() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80", "TERM": "dumb"})
    assert shown.exit_code == 0
    lines = [line.strip("│╭╮╰╯─ ") for line in shown.output.splitlines()]
    found: dict[str, list[str]] = {}
    heading = ""
    for line in lines:
        word = line.partition(" ")[0]
        if line in GROUPS:
            heading = line
            found[heading] = []
        elif heading and word in COMMANDS and line.startswith(f"{word}  "):
            found[heading].append(word)
    for group, commands in GROUPS.items():
        assert sorted(found[group]) == sorted(commands)
    assert list(found) == list(GROUPS)
    assert found[next(iter(GROUPS))][0] == "run"


def help_of(*words: str) -> str:
    """Of a command, each run of spaces and frames as one space."""
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80", "TERM": "dumb"})
    assert shown.exit_code == 0
    return " ".join(shown.output.replace("│", " ").split())


def test_brackets_in_a_commands_help_are_shown() -> None:
    shown = help_of("run")
    assert "A [sweep] in the file" in shown
    assert "'links[a->b].forward.qdisc=pie'" in shown
    assert "the file's [[programs]]. They run inside" in shown
    assert "An experiment with [[claim]] tables" in help_of("check")
    assert "Such as 'flow[bulk].goodput_bps'." in help_of("results", "pivot")


def test_lines_of_a_commands_help_end_where_the_terminal_does() -> None:
    shown = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "80", "TERM": "dumb"})
    assert "\n --precision make a comparison: numbers with" in shown.output


def test_the_options_of_run_have_headings() -> None:
    shown = help_of("run")
    headings = ["Where it runs", "What is written", "What it may do", "Before it runs"]
    places = [shown.index(f"─ {heading} ─") for heading in ["Options", *headings]]
    assert places == sorted(places)
