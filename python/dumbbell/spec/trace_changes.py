"""A trace of a link as changes of it, for what is set up by lines of ``tc``.

A trace whose rate, delay and loss change at given times is a list of changes. Opportunities are
none: no discipline of Linux lets a number of bytes go at a given instant and loses what is not
used. Nor is an outage: a shaper's rate is above 0 (tc-htb(8)), and one that waits at a very low
rate for the end of a packet goes on waiting when the rate is changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell import _engine, units
from dumbbell.errors import SpecError
from dumbbell.spec.resolved import Resolved
from dumbbell.spec.traces import says_rate

MOST_CHANGES = 20_000
"""Of one direction in one run: each is a program that is started."""
_NS_PER_US = 1000


def check_trace(path: str, end: Mapping[str, Any]) -> None:
    """Refuses a direction of a link whose trace is no list of changes.

    Args:
        path: Where the direction stands.
        end: As resolved.

    Raises:
        SpecError: It is none; with what would do.
    """
    trace = end.get("trace")
    if trace is None:
        return
    path, kind = f"{path}.trace", trace["kind"]
    steps = "steps of rates above 0 on the kernel; the simulator runs this one"
    if kind in ("opportunities", "aggregation"):
        raise SpecError(path, f"a trace of {kind}", steps)
    has_outage = kind in ("on-off", "handover")
    if kind == "markov":
        has_outage = any(state["rate_bps"] == 0 for state in trace["states"])
    if kind == "steps":
        has_outage = any(_says(entry, "r", "0") for entry in trace["steps"].split(" "))
    if has_outage:
        raise SpecError(path, "an outage (rate 0)", steps)
    says_any = kind == "steps" and "r" in trace["steps"]
    says_any |= kind == "markov" and any(s["rate_bps"] is not None for s in trace["states"])
    if says_any and not says_rate(trace) and not end["rate_bps"]:
        raise SpecError(path, "a rate after none", "a rate from the run's start on, on the kernel")


def _says(entry: str, letter: str, value: str) -> bool:
    """Whether an entry of steps says a value: letters stand between numbers."""
    _, found, rest = entry.partition(letter)
    digits = rest[: len(rest) - len(rest.lstrip("0123456789kmg"))]
    return bool(found) and digits == value


def has_traces(resolved: Mapping[str, Any]) -> bool:
    """Whether any direction of a link in a resolved description follows a trace."""
    links = resolved["links"]
    return any("trace" in link[way] for link in links for way in ("forward", "reverse"))


def traces_as_changes(
    resolved: Mapping[str, Any], replication: int, most: int = MOST_CHANGES
) -> dict[str, Any]:
    """A resolved description without traces: with the changes that they are in a replication.

    Args:
        resolved: Each of its traces passed `check_trace`.
        replication: Whose random streams laws draw from.
        most: Changes of a direction at most.

    Raises:
        SpecError: There are too many steps.
    """
    names = iter(queue.name for queue in Resolved(resolved).queues)
    links = []
    for index, link in enumerate(resolved["links"]):
        changed = dict(link)
        for direction in ("forward", "reverse"):
            path, name = f"links[{index}].{direction}", next(names)
            if link[direction].get("trace") is not None:
                drawn = (resolved["seed"], replication, name, resolved["duration_ns"])
                changed[direction] = _as_changes(path, link[direction], drawn, most)
        links.append(changed)
    return {**resolved, "links": links}


def _as_changes(
    path: str, end: Mapping[str, Any], drawn: tuple[int, int, str, int], most: int
) -> dict[str, Any]:
    steps = _engine.trace_steps(json.dumps(end), drawn, most + 1) or []
    if len(steps) > most:
        allowed = f"at most {most} steps in a run on the kernel; the simulator takes more"
        raise SpecError(f"{path}.trace", f"more than {most} steps", allowed)
    found = {key: value for key, value in end.items() if key != "trace"} | {"changes": []}
    found["changes"] = list(_changes(path, found, steps))
    return found


def _changes(
    path: str,
    end: dict[str, Any],
    steps: list[tuple[int, int | None, int | None, float | None]],
) -> Iterator[dict[str, Any]]:
    """What comes after the start; what the first step says at the start goes into ``end``."""
    for at_ns, rate_bps, delay_ns, loss in steps:
        if delay_ns is not None and delay_ns % _NS_PER_US:
            allowed = "delays of whole microseconds on the kernel"
            raise SpecError(f"{path}.trace", units.format_time(delay_ns), allowed)
        said = {"rate_bps": rate_bps, "delay_ns": delay_ns, "loss": loss}
        if at_ns == 0:
            end.update({key: value for key, value in said.items() if value is not None})
        else:
            yield {"at_ns": at_ns, **said}
