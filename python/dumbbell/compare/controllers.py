"""Compare a C congestion controller in the simulator and on Linux, event by event.

Event i of a connection in the simulator is compared with event i on the kernel: its kind, the
controller's arguments, and the window before and after it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from dumbbell.backends.kernel.controller_records import kernel_records
from dumbbell.backends.native.recording import (
    ACK,
    EVENTS,
    RTT,
    SNAPSHOT,
    Records,
    simulated_records,
)
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment
from dumbbell.spec.native import PREFIX, allow, check_reference, is_c_file
from dumbbell.spec.refusal import Refused

CLOSE_NS: Final = 100_000
"""Times that differ by less are equal: a packet of 1514 bytes takes that long at 121 Mbit/s."""
CLOSE_SHARE: Final = 0.01
"""Pacing rates that differ by at most this share are equal."""
NEVER: Final = 2**64 - 1
"""`DUMBBELL_CC_NONE`: no time."""
_CONTROLLED: Final = ("cwnd_pkts", "ssthresh_pkts", "acked_since_growth_pkts")
_OF_THE_RATE_SAMPLE: Final = (
    *("delivered_pkts", "prior_delivered_pkts", "prior_time_ns", "interval_ns"),
    *("prior_in_flight_pkts", "is_app_limited", "is_ack_delayed"),
)
"""Fields that Linux provides only to controllers with `cong_control`."""
_RATE: Final = "pacing_rate_bytes_per_s"
_NOT_HELD: Final = ("earliest_departure_ns",)

DEFAULT: Final = """
name = "one-flow"
duration = "10s"

[[links]]
a = "sender"
b = "router"
rate = "1gbit"

[[links]]
a = "router"
b = "receiver"
rate = "10mbit"
delay = "10ms"
qdisc = "pfifo limit 20"

[[flows]]
name = "bulk"
from = "sender"
to = "receiver"
source = { kind = "greedy" }
tcp = { congestion_control = "cubic" }
"""
"""Experiment compared by default: one flow over 10 Mbit/s."""

Fields = dict[str, int | bool]
Part = Literal["told", "rate", "before", "after"]
PARTS: Final[tuple[Part, ...]] = ("told", "rate", "before", "after")


@dataclass(frozen=True, slots=True)
class Event:
    """A recorded event of a controller.

    Attributes:
        event: Name of its function in `struct dumbbell_cc_ops`.
        told: Arguments of the call, by the names of dumbbell_cc.h.
        rate: Rate sample of an acknowledgement, likewise; empty for other events.
        before: Window before the event, by the names of dumbbell_cc.h.
        after: Window after the event.
    """

    event: str
    told: Fields
    rate: Fields
    before: Fields
    after: Fields

    def fields(self, part: Part) -> Fields:
        """Fields of one of the event's parts."""
        by_part = {"told": self.told, "rate": self.rate, "before": self.before, "after": self.after}
        return by_part[part]


@dataclass(frozen=True, slots=True, order=True)
class Field:
    """A field of an event.

    Attributes:
        part: The part of the event that contains it.
        name: Name in dumbbell_cc.h.
    """

    part: Part
    name: str


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first event that differs.

    Attributes:
        connection: Index of the connection, in the order of first events, from 0.
        number: Index of the event in its connection, from 0.
        sim: The simulator's event; None after its last event.
        kernel: The kernel's event; None after its last event.
        fields: Fields that differ; empty if the kind of event differs or one side has no event.
    """

    connection: int
    number: int
    sim: Event | None
    kernel: Event | None
    fields: tuple[Field, ...]

    @property
    def now_ns(self) -> int:
        """Time from the start of the run; the earlier of the two."""
        times = [int(each.told.get("now_ns", NEVER)) for each in (self.sim, self.kernel) if each]
        return min(times)


@dataclass(frozen=True, slots=True)
class ControllerComparison:
    """Result of the comparison.

    Attributes:
        events_sim: Number of events compared, in the simulator.
        events_kernel: Number of events compared, on the kernel.
        anything: First event with any difference; None if all are equal.
        window: First event after which cwnd, ssthresh, or the count of acknowledgements since cwnd
            grew differs; None if none.
    """

    events_sim: int
    events_kernel: int
    anything: FirstDifference | None
    window: FirstDifference | None


def with_controller(file: Path, experiment: Path | None) -> Experiment:
    """An experiment that uses a C file as controller, with the file allowed to run.

    Args:
        file: The controller.
        experiment: A TOML file, whose first TCP flow uses the controller if no flow names a C file;
            `DEFAULT` when None.

    Raises:
        SpecError: A file cannot be read, or the experiment has no flow over TCP, or another C file.
    """
    sha256 = allow(file)
    reference = f"{PREFIX}{file.name}"
    try:
        check_reference(reference)
    except Refused as error:
        raise SpecError("FILE", file, error.allowed) from None
    resolved = Experiment.from_toml(DEFAULT if experiment is None else experiment).resolved()
    over_tcp = [(i, flow["tcp"]) for i, flow in enumerate(resolved["flows"]) if flow["tcp"]]
    own = [(i, tcp) for i, tcp in over_tcp if is_c_file(tcp)]
    for index, tcp in own:
        if (found := tcp["controller"]["sha256"]) != sha256:
            raise SpecError(
                f"flows[{index}].tcp.congestion_control",
                tcp["congestion_control"],
                f"the C file that is compared, of SHA-256 {sha256}: not {found}",
            )
    if not over_tcp:
        raise SpecError("flows", f"{len(resolved['flows'])} without TCP", "a flow over TCP")
    if not own:
        described = {"sha256": sha256, "parameters": {}}
        over_tcp[0][1].update(congestion_control=reference, controller=described)
    return Experiment.from_resolved(resolved)


def compare_controller(experiment: Experiment, replication: int = 0) -> ControllerComparison:
    """Run an experiment with one C controller on both backends.

    Args:
        experiment: Its flows use one C file with one set of parameters.
        replication: Number of the replication (its random streams).

    Raises:
        SpecError: It has no C controller or several, or cannot be run on one of the backends.
        KernelMissingError: The kernel has not been built.
        RunError: A run failed.
    """
    resolved_json = experiment.resolved_json()
    described = {
        json.dumps(flow["tcp"]["controller"], sort_keys=True)
        for flow in json.loads(resolved_json)["flows"]
        if flow["tcp"] and is_c_file(flow["tcp"])
    }
    if len(described) != 1:
        raise SpecError(
            "flows",
            f"{len(described)} controllers in C",
            "flows with one C file and one set of parameters",
        )
    sha256 = json.loads(described.pop())["sha256"]
    on_kernel = kernel_records(resolved_json, replication)
    return compare_records(simulated_records(resolved_json, replication, sha256), on_kernel)


def compare_records(sim: Records, kernel: Records) -> ControllerComparison:
    """Compare the simulator's records with the kernel's (`RECORD`)."""
    connections = np.union1d(sim["connection"], kernel["connection"])
    anything, window = [], []
    for connection in map(int, connections):
        pair = [each[each["connection"] == connection] for each in (sim, kernel)]
        found = _first(connection, *pair, of_the_window=False)
        anything += [found] if found else []
        found = _first(connection, *pair, of_the_window=True)
        window += [found] if found else []
    return ControllerComparison(
        len(sim),
        len(kernel),
        min(anything, key=_when, default=None),
        min(window, key=_when, default=None),
    )


def _when(first_difference: FirstDifference) -> tuple[int, int]:
    return first_difference.now_ns, first_difference.connection


def _first(
    connection: int, sim: Records, kernel: Records, *, of_the_window: bool
) -> FirstDifference | None:
    for number in range(max(len(sim), len(kernel))):
        if number >= min(len(sim), len(kernel)):
            one, other = (
                _event(each[number]) if number < len(each) else None for each in (sim, kernel)
            )
            # The end of one side's events does not count as a difference of the window.
            return None if of_the_window else FirstDifference(connection, number, one, other, ())
        if sim[number].tobytes() == kernel[number].tobytes():
            continue
        one, other = _event(sim[number]), _event(kernel[number])
        if of_the_window:
            fields = [Field("after", n) for n in _CONTROLLED if one.after[n] != other.after[n]]
        else:
            fields = _different(one, other) if one.event == other.event else []
        if fields or (one.event != other.event and not of_the_window):
            return FirstDifference(connection, number, one, other, tuple(fields))
    return None


def _different(one: Event, other: Event) -> list[Field]:
    # Linux keeps a pacing rate for every connection, the simulator only where a controller or
    # discipline uses it.
    sets_rate = any(each.after[_RATE] != each.before[_RATE] for each in (one, other))
    has_no_sample = other.rate.get("delivered_pkts") == -1
    different = []
    for part in PARTS:
        theirs = other.fields(part)
        for name, ours in one.fields(part).items():
            if name in _NOT_HELD:
                continue
            if part == "rate" and has_no_sample and name in _OF_THE_RATE_SAMPLE:
                continue
            if name == _RATE and not (sets_rate and part == "after"):
                continue
            if not _is_alike(name, int(ours), int(theirs[name])):
                different.append(Field(part, name))
    return different


def _is_alike(name: str, ours: int, theirs: int) -> bool:
    if name == _RATE:
        return abs(ours - theirs) <= CLOSE_SHARE * ours
    if name.endswith("_ns") and NEVER not in (ours, theirs):
        return abs(ours - theirs) < CLOSE_NS
    return ours == theirs


def _event(record: np.void) -> Event:
    name = EVENTS[int(record["event"])] if record["event"] < len(EVENTS) else "unknown"
    before, after = _fields(record["before"]), _fields(record["after"])
    if name == "on_undo":
        return Event(name, {}, {}, before, after)
    dtype = {"on_ack": ACK, "on_rtt": RTT}.get(name, SNAPSHOT)
    told = np.frombuffer(record["told"].tobytes(), dtype, 1)[0]
    rate = _fields(told["rate"]) if name == "on_ack" else {}
    return Event(name, _fields(told), rate, before, after)


def _fields(values: Any) -> Fields:
    """The numeric values, by name."""
    dtype = values.dtype
    return {name: values[name].item() for name in dtype.names if not dtype[name].names}
