"""Nominal load compared with measured load.

The nominal (asked) load follows from the parameters of the sources: packets per second times mean
size. The measured load is that on the wire: it includes headers, fragments, link overhead and
pings, and excludes packets dropped by an earlier queue. Published M/M/1 laboratories confused the
two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dumbbell.metrics.flow import sending_rate_pps, time_on_s
from dumbbell.metrics.path import NS_PER_S, capacity_bits, resolved_of
from dumbbell.metrics.queue import offered_load_bps
from dumbbell.metrics.registry import metric
from dumbbell.spec import Resolved
from dumbbell.spec.resolved import Law, Source
from dumbbell.spec.source_forms import FORMS
from dumbbell.tables import Run

__all__ = [
    "LoadComparison",
    "asked_and_measured",
    "asked_load_at_queue_bps",
    "asked_load_bps",
    "asked_rate_pps",
    "asked_utilization",
    "law_mean",
    "offered_utilization",
]

_SECTION = "Asked and measured load"
NOTEWORTHY = 0.01
"""Relative difference of nominal and measured load above which a warning is printed."""


_MEANS: Mapping[str, Callable[[Callable[[str], float]], float]] = {
    "exponential": lambda of: of("mean"),
    "constant": lambda of: of("value"),
    "uniform": lambda of: (of("low") + of("high")) / 2,
    "pareto": lambda of: (
        of("shape") * of("scale") / (of("shape") - 1) if of("shape") > 1 else math.inf
    ),
    "normal": lambda of: of("mean"),
    "lognormal": lambda of: math.exp(of("mu") + of("sigma") ** 2 / 2),
    "gamma": lambda of: of("shape") * of("scale"),
    "weibull": lambda of: of("scale") * math.gamma(1 + 1 / of("shape")),
}
"""Mean of each distribution by name, from its parameters."""


@dataclass(frozen=True, slots=True)
class LoadComparison:
    """Nominal and measured load of a flow or at a queue.

    Attributes:
        what: Name of the flow or queue.
        asked: Nominal load from the parameters, in ``unit``.
        measured: Measured load of the run, in ``unit``.
        unit: ``packets/s``, ``Mbit/s`` or ``1`` (load over rate, rho).
        note: Why they differ, if the description shows it.
    """

    what: str
    asked: float
    measured: float
    unit: str
    note: str = ""

    @property
    def ratio(self) -> float:
        """Measured over nominal load; infinite if the nominal load is zero and the measured is
        not."""
        if self.asked:
            return self.measured / self.asked
        return math.inf if self.measured else 1.0

    @property
    def differs(self) -> bool:
        """Whether they differ by more than `NOTEWORTHY`."""
        return not abs(self.ratio - 1.0) <= NOTEWORTHY


@metric("datagrams/s", _SECTION)
def asked_rate_pps(run: Run, flow: str | int) -> float:
    """Nominal datagrams per second of a flow: one over the mean gap.

    For a replayed trace the datagrams due while the flow is on, over that time. Zero if the mean
    gap is infinite; NaN for sources whose rate TCP determines.
    """
    source = _source(run, flow)
    if source.kind == "replay":
        return _per_time(len(_replayed_bytes(run, flow)), time_on_s(run, flow))
    if not asks(source) or source.gap is None:
        return math.nan
    gap = law_mean(source.gap)
    return 0.0 if math.isinf(gap) else source.packets / gap


@metric("bit/s", _SECTION)
def asked_load_bps(run: Run, flow: str | int) -> float:
    """Nominal bits per second of a flow: `asked_rate_pps` times the mean size.

    Sizes as in the description: payload for UDP sources, before clipping and without headers. NaN
    for sources whose rate TCP determines.
    """
    source = _source(run, flow)
    if source.kind == "replay":
        return _per_time(8.0 * sum(_replayed_bytes(run, flow)), time_on_s(run, flow))
    if not asks(source) or source.size is None:
        return math.nan
    return 8.0 * law_mean(source.size) * asked_rate_pps(run, flow)


@metric("bit/s", _SECTION)
def asked_load_at_queue_bps(run: Run, queue: str | int) -> float:
    """Nominal bits per second of all flows through a queue.

    The mean of the sum of `asked_load_bps` over the flows routed through the queue, from the first
    start to the last stop inside the measured window. Pings, headers and upstream losses do not
    count. NaN if the rate of one of the flows is determined by TCP.
    """
    return _asked_at_queues(run)[run.queue(queue)].load_bps


@metric("1", _SECTION)
def asked_utilization(run: Run, queue: str | int) -> float:
    """`asked_load_at_queue_bps` over the mean rate of the queue's link: the nominal rho.

    Zero if the rate is not limited.
    """
    return asked_load_at_queue_bps(run, queue) / _mean_rate_bps(run, queue)


@metric("1", _SECTION)
def offered_utilization(run: Run, queue: str | int) -> float:
    """`offered_load_bps` over the mean rate of the queue's link: the measured rho of the window.

    Above 1 in overload, where `utilization` is 1. Zero if the rate is not limited.
    """
    return offered_load_bps(run, queue) / _mean_rate_bps(run, queue)


@metric("see each row", _SECTION)
def asked_and_measured(run: Run) -> list[LoadComparison]:
    """Nominal and measured load: packets/s of each flow, then Mbit/s and rho at each shaped queue.

    Both are means over the time in which flows are on (for a queue: any of the flows through it),
    so time after their stop does not reduce them. Queues without traffic are left out, and so are
    flows whose rate TCP determines, with the queues on their path.
    """
    described = resolved_of(run)
    rows = []
    for index, flow in enumerate(described.flows):
        if not asks(flow.source):
            continue
        asked, measured = asked_rate_pps(run, index), sending_rate_pps(run, index)
        note = "ITGSend's sleeps overshoot" if flow.source.oversleep else ""
        rows.append(LoadComparison(flow.name, asked, measured, "packets/s", note))
    notes = _beside_the_payload(described)
    for queue, at_queue in zip(described.queues, _asked_at_queues(run), strict=True):
        index, name, asked = queue.index, queue.name, at_queue.load_bps
        measured = offered_load_bps(run, index) * _window_s(described) / at_queue.time_on_s
        asked_for = asked or measured
        if queue.served_bps and asked_for and not math.isnan(asked):
            rate = _mean_rate_bps(run, index)
            note = notes[index]
            rows.append(LoadComparison(name, asked / 1e6, measured / 1e6, "Mbit/s", note))
            rows.append(LoadComparison(name, asked / rate, measured / rate, "1", note))
    return rows


def asks(source: Source) -> bool:
    """Whether a source's rate is independent of the network."""
    return FORMS[source.kind].sends == "packets"


def law_mean(law: Law) -> float:
    """Mean of a distribution by its parameters, in its unit (s or bytes); infinite if undefined.

    For a normal distribution the parameter itself, although negative draws are clipped.
    """
    return _MEANS[law.law](law.parameter)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Nominal load of the flows through a queue, and the time in which any of them is on."""

    load_bps: float
    time_on_s: float


def _asked_at_queues(run: Run) -> list[_Asked]:
    described = resolved_of(run)
    topology = described.topology
    bits = [0.0] * len(described.queues)
    spans: list[list[tuple[int, int]]] = [[] for _ in bits]
    for index, flow in enumerate(described.flows):
        sent = asked_load_bps(run, index) * time_on_s(run, index)
        start = max(described.warm_up_ns, flow.start_ns)
        stop = min(described.duration_ns, flow.stop_ns)
        for queue in topology.route(flow.from_, flow.to) or ():
            bits[queue] += sent
            if stop > start:
                spans[queue].append((start, stop))
    asked = []
    for amount, on in zip(bits, spans, strict=True):
        ns = max(stop for _, stop in on) - min(start for start, _ in on) if on else 0
        time_on = ns / NS_PER_S if ns else _window_s(described)
        asked.append(_Asked(amount / time_on, time_on))
    return asked


def _beside_the_payload(described: Resolved) -> list[str]:
    """For each queue, the load on the wire in addition to the payload."""
    topology = described.topology
    packets: set[int] = set()
    pinged: set[int] = set()
    acknowledged: set[int] = set()
    for flow in described.flows:
        # Queues count the drawn size of an ideal source; other sources send payload in packets.
        if flow.source.size_at == "payload":
            packets.update(topology.route(flow.from_, flow.to) or ())
        if flow.transport == "tcp":
            acknowledged.update(topology.route(flow.to, flow.from_) or ())
    for probe in described.probes:
        pinged.update(topology.route(probe.from_, probe.to) or ())
        pinged.update(topology.route(probe.to, probe.from_) or ())
    notes = []
    for queue in range(len(described.queues)):
        parts = ["headers and fragments"] if queue in packets else []
        parts += ["acknowledgements"] if queue in acknowledged else []
        parts += ["pings"] if queue in pinged else []
        notes.append(f"{' and '.join(parts)} are on the wire too" if parts else "")
    return notes


def _replayed_bytes(run: Run, flow: str | int) -> list[int]:
    """Sizes of a trace's datagrams due in the measured window."""
    described = resolved_of(run)
    of_flow = described.flow(run.flow(flow))
    first = described.warm_up_ns - of_flow.start_ns
    end = min(described.duration_ns, of_flow.stop_ns) - of_flow.start_ns
    return [size for at_ns, size in of_flow.source.trace if first <= at_ns < end]


def _source(run: Run, flow: str | int) -> Source:
    return resolved_of(run).flow(run.flow(flow)).source


def _window_s(described: Resolved) -> float:
    return float(described.duration_ns - described.warm_up_ns) / NS_PER_S


def _mean_rate_bps(run: Run, queue: str | int) -> float:
    return capacity_bits(run, queue) / _window_s(resolved_of(run))


def _per_time(amount: float, seconds: float) -> float:
    return amount / seconds if seconds else 0.0
