"""Output of ``dumbbell packetdrill``: one line per script, its differences, totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from dumbbell.cli.terminal.output import say, tell
from dumbbell.printable import printable

COUNTED = ("passed", "failed", "unsupported")
MALFORMED = "malformed"

Verdict = Mapping[str, Any]
"""In the form of `dumbbell._engine.check_packet_script`."""


def print_script(file: str, verdicts: Mapping[str, Verdict]) -> None:
    """Print the verdicts of one or more backends on a script.

    Args:
        file: Its path.
        verdicts: Verdicts by backend, in order.
    """
    name = printable(file)
    if len(verdicts) == 1:
        (verdict,) = verdicts.values()
        print_verdict(name, verdict)
        return
    told = ", ".join(f"{backend} {verdict['verdict']}" for backend, verdict in verdicts.items())
    say(f"{name}: {told}")
    for backend, verdict in verdicts.items():
        if verdict["verdict"] != "passed":
            print_verdict(f"  {backend}", verdict)


def print_verdict(name: str, verdict: Verdict) -> None:
    """Print one verdict: the difference or missing feature, with its line."""
    kind = verdict["verdict"]
    if kind == "passed":
        say(f"{name}: passed")
        return
    place = f"{name}:{verdict['line']}:{verdict['column']}"
    if kind == MALFORMED:
        tell(f"{place}: {printable(verdict['mistake'])}")
    elif kind == "unsupported":
        say(f"{place}: unsupported: {printable(', '.join(verdict['missing']))}")
    else:
        difference = verdict["difference"]
        say(f"{place}: failed{_of(difference)}")
        for side in ("expected", "found"):
            say(f"    {side + ':':<9} {printable(side_of(difference, side))}")


def counts_of(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """Number of scripts that passed, failed and are unsupported."""
    return {each: sum(one["verdict"] == each for one in verdicts) for each in COUNTED}


def sum_of(verdicts: Sequence[Verdict]) -> str:
    """These numbers as a line."""
    return ", ".join(f"{number} {kind}" for kind, number in counts_of(verdicts).items())


def side_of(difference: Mapping[str, Any], side: str) -> str:
    """``expected`` or ``found`` of a difference, as text."""
    value = difference[side]
    if value is None:
        return "nothing"
    if _is_fields(value):
        return ", ".join(f"{name} = {number:.15g}" for name, number in value if number is not None)
    return str(value)


def _of(difference: Mapping[str, Any]) -> str:
    if difference["kind"] == "call":
        return f": {printable(difference['name'])}"
    reason = difference.get("reason")
    return f": {printable(reason)}" if reason else ""


def _is_fields(value: object) -> TypeGuard[list[tuple[str, float]]]:
    """Values that an assertion found, by name."""
    return isinstance(value, list)
