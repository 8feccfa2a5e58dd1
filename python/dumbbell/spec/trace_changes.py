"""Conversion of a link's trace to a list of changes, for ``tc`` commands.

A trace of steps of rate, delay and loss is a list of changes. Opportunities cannot be converted: no
Linux discipline sends a number of bytes at a given time and discards unused capacity. Nor can
outages: a shaper's rate is above 0 (tc-htb(8)), and a shaper that waits for a packet at a very low
rate keeps waiting when the rate is changed.
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
"""Maximum number of changes of one direction in a run, because each starts a program."""
_NS_PER_US = 1000


def check_trace(path: str, end: Mapping[str, Any]) -> None:
    """Refuse a trace that cannot be converted to changes.

    Args:
        path: Path of the direction in the description.
        end: The resolved direction.

    Raises:
        SpecError: The trace cannot be converted; the message has the alternatives.
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
    """Whether an entry of steps sets a value: a letter between the numbers."""
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
    """Replace the traces of a resolved description by their changes in a replication.

    Args:
        resolved: A description whose traces passed `check_trace`.
        replication: Replication whose random streams are used.
        most: Maximum number of changes of a direction.

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
    """The changes after the start; the values at the start are put into ``end``."""
    for at_ns, rate_bps, delay_ns, loss in steps:
        if delay_ns is not None and delay_ns % _NS_PER_US:
            allowed = "delays of whole microseconds on the kernel"
            raise SpecError(f"{path}.trace", units.format_time(delay_ns), allowed)
        said = {"rate_bps": rate_bps, "delay_ns": delay_ns, "loss": loss}
        if at_ns == 0:
            end.update({key: value for key, value in said.items() if value is not None})
        else:
            yield {"at_ns": at_ns, **said}
