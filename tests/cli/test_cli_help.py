"""``dumbbell --help`` shows the commands by what one wants, ``run`` first."""

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
