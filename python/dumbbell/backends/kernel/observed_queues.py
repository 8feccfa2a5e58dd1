"""Observed queues: each packet is captured before it is enqueued and when it leaves the queue.

The guest captures on two devices, by its kernel module or with packet sockets: on the queue's own,
where packets appear after dequeue, and on a ``dummy`` that gets a copy of every packet before
enqueue.

Sources: tc(8) on ``clsact``, tc-mirred(8), packet(7).
"""

from __future__ import annotations

from dumbbell.spec import Resolved
from dumbbell.spec.host_links import DeviceUp, HostLink, NewDevice
from dumbbell.spec.programs import model_of, programs_of, runs_commands
from dumbbell.spec.resolved import Flow, Probe, Queue, Sender

_MEAN_BYTES = 700
"""Mean size of data packets and acknowledgements together."""
_FASTEST_BPS = 10_000_000_000
"""Rate assumed if no link has a rate."""
_MORE_THAN_MEAN = 1.2
"""Upper bound of a random flow's packet count, relative to its mean."""

_NOT_ECT = "not-ect"


def watched_queues(resolved: Resolved) -> set[int]:
    """Queues at which packets are observed.

    These are the queues to be captured, those where packet times do not follow from a schedule, and
    those of ECN-capable datagrams: a discipline's own counter also counts marks of packets that
    have one already (``dualpi2``: by p' and then by the step; net/sched/sch_dualpi2.c).
    Times do follow (guest/src/paths.rs) if a schedule of ours sends (neither TCP nor irtt nor a
    program), only one queue on the path delays packets, and nothing is lost or changes on the path.
    """
    ways: list[tuple[list[Queue], bool]] = []
    for sender in resolved.senders:
        is_unplanned = _waits_for_answers(sender) or _is_of_irtt(sender)
        way = resolved.route(sender.from_, sender.to)
        ways.append((way, is_unplanned or _may_be_marked(sender)))
        if is_unplanned or isinstance(sender, Probe):
            ways.append((resolved.route(sender.to, sender.from_), is_unplanned))
    programs = programs_of(resolved.mapping)
    for program in (each for each in programs if "to" in each):
        ways.append((resolved.route(program["from"], program["to"]), True))
        ways.append((resolved.route(program["to"], program["from"]), True))
    if runs_commands(resolved.mapping):
        # The traffic of a command line is unknown.
        ways.append((list(resolved.queues), True))
    watched = {queue.index for queue in resolved.queues if queue.capture}
    for queues, is_unplanned in ways:
        holding = [queue.index for queue in queues if _holds(queue)]
        if is_unplanned or programs or any(map(_varies, queues)) or len(holding) > 1:
            watched.update(holding)
    return watched


def _waits_for_answers(sender: Sender) -> bool:
    return isinstance(sender, Flow) and sender.transport == "tcp"


def _may_be_marked(sender: Sender) -> bool:
    return isinstance(sender, Flow) and sender.mapping.get("ecn", _NOT_ECT) != _NOT_ECT


def _is_of_irtt(sender: Sender) -> bool:
    return isinstance(sender, Probe) and sender.kind == "irtt"


def most_watched_packets(resolved: Resolved) -> int:
    """Upper bound of the number of packets that observed queues can pass in a run.

    Flows with feedback (acknowledgements or answers) send through a queue at most what the
    narrowest link of their path carries; paths with the same narrowest link share it. For other
    flows a queue may see every packet sent, since the excess is dropped after it.
    """
    watched = watched_queues(resolved)
    rates_bps = [_rate_bps(queue) for queue in resolved.queues]
    through: dict[int, set[int]] = {queue: set() for queue in watched}
    sent = 0.0
    for sender in resolved.senders:
        there = [queue.index for queue in resolved.route(sender.from_, sender.to)]
        back = [queue.index for queue in resolved.route(sender.to, sender.from_)]
        is_pressed = isinstance(sender, Flow) and sender.transport != "tcp"
        if isinstance(sender, Flow) and is_pressed:
            sent += len(watched.intersection(there)) * _most_sent_packets(sender)
        for way in (back,) if is_pressed else (there, back):
            narrow = min((queue for queue in way if rates_bps[queue]), default=None,
                         key=lambda queue: rates_bps[queue])  # fmt: skip
            for queue in watched.intersection(way):
                through[queue].add(queue if narrow is None else narrow)
    for program in programs_of(resolved.mapping):
        narrowest_bps = min((rate for rate in rates_bps if rate), default=_FASTEST_BPS)
        packets = model_of(program).packets(program, narrowest_bps, resolved.duration_ns)
        sent += _MORE_THAN_MEAN * len(watched) * packets
    if runs_commands(resolved.mapping):
        through = {queue: {queue} for queue in watched}
    per_s = sum(
        min(rates_bps[queue] or _FASTEST_BPS, sum(rates_bps[n] or _FASTEST_BPS for n in narrow))
        for queue, narrow in through.items()
    ) / (8 * _MEAN_BYTES)  # fmt: skip
    return int(per_s * resolved.duration_ns / 1e9 + sent)


def _most_sent_packets(flow: Flow) -> float:
    """Packets of a flow without feedback: by its mean gap, or else at the rate of a fast link."""
    active_s = max(0, flow.stop_ns - flow.start_ns) / 1e9
    gap = flow.source.gap.mapping if flow.source.gap else {}
    gap_s: float = gap.get("value", gap.get("mean", 0.0))
    per_s = 1.0 / gap_s if gap_s else _FASTEST_BPS / (8 * _MEAN_BYTES)
    return _MORE_THAN_MEAN * active_s * per_s


def _rate_bps(queue: Queue) -> int:
    """Largest rate of a link end or its shaper over time; 0 without a rate."""
    changed = (change.rate_bps or 0 for change in queue.changes)
    return max(queue.rate_bps or queue.qdisc.rate_bps, *changed, 0)


def copies_name(device: str) -> str:
    """Name of the device that gets copies of the packets for another device's queue."""
    return f"see-{device}"


def copies_links(device: str) -> list[HostLink]:
    """What creates this device."""
    copies = copies_name(device)
    return [NewDevice(copies, "dummy"), DeviceUp(copies)]


def _varies(queue: Queue) -> bool:
    """Whether packet times at a link end do not follow from a schedule, or its settings change."""
    return bool(queue.loss or queue.changes or queue.police)


def _holds(queue: Queue) -> bool:
    """Whether a queue may delay packets."""
    return bool(queue.rate_bps or queue.police) or not queue.qdisc.is_plain_fifo
