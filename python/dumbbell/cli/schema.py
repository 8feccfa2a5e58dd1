"""``dumbbell schema``: the JSON schema of an experiment's file."""

from __future__ import annotations

from dumbbell.cli.terminal.output import say


def schema_command() -> None:
    """Print the JSON schema of an experiment's file."""
    from dumbbell.cli.terminal.json_text import json_text
    from dumbbell.spec import Experiment

    say(json_text(Experiment.json_schema()))
