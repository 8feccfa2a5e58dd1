"""Observed queues: each packet is captured before it is enqueued and when the device takes it.

The guest looks at two devices with packet sockets: at the queue's own, where packets show when
they have left the queue, and at a ``dummy`` that gets a copy of whatever is about to be queued.

Sources: tc(8) on ``clsact``, tc-mirred(8), packet(7).
"""

from __future__ import annotations

from dumbbell.spec import Resolved
from dumbbell.spec.programs import model_of, programs_of, runs_commands
from dumbbell.spec.resolved import Flow, Probe, Queue, Sender

_MEAN_BYTES = 700
"""Of data and acknowledgements together."""
_FASTEST_BPS = 10_000_000_000
"""Taken where no link has a rate."""
_MORE_THAN_MEAN = 1.2
"""What a flow of random gaps sends at most, over its mean."""


def watched_queues(resolved: Resolved) -> set[int]:
    """Queues at which packets are seen: those to be captured, and where their instants there do
    not follow otherwise.

    They do (guest/src/paths.rs) where a schedule of ours sends (neither TCP nor irtt, nor any
    program), one queue of the way holds packets back, and nothing is lost or changes on it.
    """
    ways: list[tuple[list[Queue], bool]] = []
    for sender in resolved.senders:
        is_unplanned = _waits_for_answers(sender) or _is_of_irtt(sender)
        ways.append((resolved.route(sender.from_, sender.to), is_unplanned))
        if is_unplanned or isinstance(sender, Probe):
            ways.append((resolved.route(sender.to, sender.from_), is_unplanned))
    programs = programs_of(resolved.mapping)
    for program in (each for each in programs if "to" in each):
        ways.append((resolved.route(program["from"], program["to"]), True))
        ways.append((resolved.route(program["to"], program["from"]), True))
    if runs_commands(resolved.mapping):
        # What a command line sends, and where to, is not known.
        ways.append((list(resolved.queues), True))
    watched = {queue.index for queue in resolved.queues if queue.capture}
    for queues, is_unplanned in ways:
        holding = [queue.index for queue in queues if _holds(queue)]
        if is_unplanned or programs or any(map(_varies, queues)) or len(holding) > 1:
            watched.update(holding)
    return watched


def _waits_for_answers(sender: Sender) -> bool:
    return isinstance(sender, Flow) and sender.transport == "tcp"


def _is_of_irtt(sender: Sender) -> bool:
    return isinstance(sender, Probe) and sender.kind == "irtt"


def most_watched_packets(resolved: Resolved) -> int:
    """The most packets that watched queues can let pass in a run, all together.

    Of what waits for acknowledgements or answers, no queue sees more than the narrowest link lets
    through of each way that leads over it; ways with the same narrowest link share it. Of other
    flows a queue can see all that they send: what is too much is dropped behind it.
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
    """Of a flow that nothing holds back: by its mean gap, else as a fast link would carry."""
    active_s = max(0, flow.stop_ns - flow.start_ns) / 1e9
    gap = flow.source.gap.mapping if flow.source.gap else {}
    gap_s: float = gap.get("value", gap.get("mean", 0.0))
    per_s = 1.0 / gap_s if gap_s else _FASTEST_BPS / (8 * _MEAN_BYTES)
    return _MORE_THAN_MEAN * active_s * per_s


def _rate_bps(queue: Queue) -> int:
    """Of a link end or of what shapes it; the fastest it changes to; 0 for none."""
    changed = (change.rate_bps or 0 for change in queue.changes)
    return max(queue.rate_bps or queue.qdisc.rate_bps, *changed, 0)


def copies_name(device: str) -> str:
    """The device that gets a copy of what comes to another's queue."""
    return f"see-{device}"


def copies_lines(device: str) -> list[str]:
    """What follows ``ip`` to make that device."""
    copies = copies_name(device)
    return [f"link add {copies} type dummy", f"link set dev {copies} up"]


def _varies(queue: Queue) -> bool:
    """Whether what happens at a link end follows from no schedule, or changes with time."""
    return bool(queue.loss or queue.changes or queue.police)


def _holds(queue: Queue) -> bool:
    """Whether a queue may hold packets back."""
    return bool(queue.rate_bps or queue.police) or not queue.qdisc.is_plain_fifo
