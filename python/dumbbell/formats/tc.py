"""Write a run's queues as ``tc -s -d qdisc show`` prints them, as text and JSON (``tc -j``).

The layout is that of iproute2 6.1 (``tc/tc_qdisc.c``), compared with the program itself if the
kernel has the discipline (``tests/formats``). A discipline's parameters are printed by its file in
the Rust crate ``dumbbell-tc``. Values that a run does not record are not invented: *overlimits* and
*requeues* are 0 as for most disciplines; lines of which only a part is known (codel's count,
fq_codel's new flows, ...) are left out, but those of cake, sfb and sfq's RED are complete
(`dumbbell.formats.tc_own`);
disciplines inside classes have a line with their kind, parameters and handle (as in the rendered
``tc`` lines) but no counters, because a run counts a queue as a whole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from dumbbell import units
from dumbbell.errors import DumbbellError
from dumbbell.formats.tc_own import OwnSample, own_samples
from dumbbell.spec import Resolved
from dumbbell.tables import Run
from dumbbell.units import ShownQdisc

_NS_PER_US = 1000


@dataclass(frozen=True, slots=True)
class _State:
    """Counters and backlog of a queue at an instant."""

    t_ns: int
    sent_bytes: int
    sent_pkts: int
    dropped: int
    backlog_bytes: int
    backlog_pkts: int
    drop_probability: float
    delay_estimate_ns: int
    own: OwnSample | None

    def own_of(self, kind: str) -> OwnSample:
        """What its discipline of this kind prints by itself."""
        return self.own if self.own is not None and self.own.kind == kind else OwnSample(kind)


def tc_text(run: Run, queue: str | int) -> str:
    """The output of ``tc -s -d qdisc show dev DEV`` at the run's last sample.

    For red, as without ``-d``.

    Args:
        run: A run with a description and samples.
        queue: Name or index.

    Raises:
        DumbbellError: The run was imported, or has no samples of this queue.
    """
    return _text(_disciplines(run, queue), _states(run, queue)[-1])


def tc_json(run: Run, queue: str | int) -> str:
    """The output of ``tc -s -j qdisc show dev DEV`` at the same instant, on one line."""
    return _json(_disciplines(run, queue), _states(run, queue)[-1])


def tc_iterate_text(run: Run, queue: str | int, *, t0_epoch_ns: int = 0) -> str:
    """The output of Flent's ``tc_iterate``: one block of text per sample.

    Each block ends with ``Time: SECONDS.NANOSECONDS`` (Unix time) and a line ``---``.

    Args:
        run: A run with a description and samples.
        queue: Name or index.
        t0_epoch_ns: Unix time of the run's start.

    Raises:
        DumbbellError: The run was imported, or has no samples of this queue.
    """
    disciplines = _disciplines(run, queue)
    blocks = []
    for state in _states(run, queue):
        at_ns = t0_epoch_ns + state.t_ns
        time = f"Time: {at_ns // 10**9}.{at_ns % 10**9:09}"
        blocks.append(f"{_text(disciplines, state)}{time}\n---\n")
    return "".join(blocks)


def _disciplines(run: Run, queue: str | int) -> list[ShownQdisc]:
    if run.spec is None:
        raise DumbbellError("an imported run does not say which discipline its queue had")
    end = Resolved(run.spec).queue(run.queue(queue))
    return units.shown_qdiscs(end.qdisc.mapping, mtu_bytes=end.mtu_bytes)


def _states(run: Run, queue: str | int) -> list[_State]:
    names = ("t_ns", "departed_bytes", "departed_pkts", "dropped_pkts", "backlog_bytes")
    more = ("backlog_pkts", "drop_probability", "delay_estimate_ns")
    columns = [run.column("queue_samples", name, queue=queue).tolist() for name in (*names, *more)]
    own = own_samples(run, run.queue(queue))
    of_times = [own.get(t_ns) for t_ns in columns[0]]
    states = [_State(*row) for row in zip(*columns, of_times, strict=True)]
    if not states:
        raise DumbbellError("the run has no samples of its queues; set sample_interval")
    return states


def _text(disciplines: list[ShownQdisc], state: _State) -> str:
    lines = []
    for each in disciplines:
        place = "root refcnt 2" if each.parent is None else f"parent {each.parent}"
        lines.append(f"qdisc {each.kind} {each.handle} {place} {each.text}")
        if not each.has_every_packet:
            continue
        own = state.own_of(each.kind)
        lines += own.option_lines
        lines.append(
            f" Sent {state.sent_bytes} bytes {state.sent_pkts} pkt"
            f" (dropped {state.dropped}, overlimits 0 requeues 0) "
        )
        backlog = units.shown_size(state.backlog_bytes)
        lines.append(f" backlog {backlog} {state.backlog_pkts}p requeues 0")
        if each.kind == "pie" and state.delay_estimate_ns >= 0:
            delay = units.shown_time(state.delay_estimate_ns)
            lines.append(f"  prob {state.drop_probability:g} delay {delay}")
        lines += own.lines
    return "\n".join(lines) + "\n"


def _json(disciplines: list[ShownQdisc], state: _State) -> str:
    objects = []
    for each in disciplines:
        found: dict[str, Any] = {"kind": each.kind, "handle": each.handle}
        root = {"root": True, "refcnt": 2}
        found |= root if each.parent is None else {"parent": each.parent}
        found["options"] = each.options
        if each.has_every_packet:
            found["options"] = each.options | state.own_of(each.kind).option_numbers
            found |= _numbers(each.kind, state)
        objects.append(found)
    return json.dumps(objects, separators=(",", ":"))


def _numbers(kind: str, state: _State) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "bytes": state.sent_bytes,
        "packets": state.sent_pkts,
        "drops": state.dropped,
        "overlimits": 0,
        "requeues": 0,
        "backlog": state.backlog_bytes,
        "qlen": state.backlog_pkts,
    }
    if kind == "pie" and state.delay_estimate_ns >= 0:
        numbers["prob"] = state.drop_probability
        numbers["delay"] = state.delay_estimate_ns // _NS_PER_US
    return numbers | state.own_of(kind).numbers
