"""An ensemble in place of randomness, for descriptions in which nothing is random.

Without randomness all replications are identical, and an interval over them would wrongly claim
that a number is known exactly. The phase of the senders' starts and the exact round-trip time are
unknown in practice. An ensemble varies both slightly, and the spread over its members, from minimum
to maximum, replaces the interval.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.spec import Experiment, Resolved, canonical_json
from dumbbell.spec.traces import is_random_trace

RTT_SHARE = 0.01
"""Largest relative change of a link's delay."""
_GOLDEN = 0.6180339887498949
"""The fractional parts of its multiples fill the interval from 0 to 1 evenly, for any count."""
_NS_PER_US = 1000
_RANDOM_DROPS = frozenset({"pie", "fq_pie", "red", "choke", "sfb"})
_RANDOM_CONTROLLERS = frozenset({"bbr", "bbr3"})
_CHANCES = ("jitter_ns", "duplicate_ppb", "reorder_ppb", "corrupt_ppb", "loss", "red")


@dataclass(frozen=True, slots=True)
class Ensemble:
    """How members differ from their description; the same for every cell, so that pairs stay
    paired.

    Attributes:
        because: Labels of the cells in which nothing is random.
    """

    because: tuple[str, ...]

    @property
    def words(self) -> str:
        """What is varied, in words."""
        return (
            f"each sender without a start jitter starts up to one packet's time later, and the "
            f"delays of all links are up to {100 * RTT_SHARE:g} % shorter or longer"
        )

    def member(self, experiment: Experiment, number: int) -> Member:
        """A member of the ensemble.

        Args:
            experiment: The description that is varied.
            number: Number of the replication; it determines the delays and each sender's start.
        """
        described = copy.deepcopy(experiment.resolved())
        factor = 1.0 + RTT_SHARE * (2.0 * ((number + 1) * _GOLDEN % 1.0) - 1.0)
        for link in described["links"]:
            for end in (link["forward"], link["reverse"]):
                _stretch(end, factor)
                for change in end["changes"]:
                    _stretch(change, factor)
        packet_ns = packet_time_ns(Resolved(experiment.resolved()))
        for sender in (*described["flows"], *described["probes"]):
            sender["start_jitter_ns"] = sender["start_jitter_ns"] or packet_ns
        return Member(canonical_json(described))


@dataclass(frozen=True, slots=True)
class Member:
    """A description for a backend.

    Attributes:
        text: The canonical text.
    """

    text: str

    def resolved_json(self) -> str:
        """The description."""
        return self.text


def ensemble_for(experiments: Mapping[str, Experiment]) -> Ensemble | None:
    """The ensemble that a comparison needs; None if something is random in every cell.

    Args:
        experiments: Experiments by label.
    """
    settled = [label for label, each in experiments.items() if not is_random(each)]
    return Ensemble(tuple(settled)) if settled else None


def is_random(experiment: Experiment) -> bool:
    """Whether replications can differ: starts, sizes, gaps, losses or drops are drawn at random.

    Hash keys (`fq_codel`) do not count: with few flows they matter only in the rare run in which
    two flows collide.
    """
    described = experiment.resolved()
    senders = [*described["flows"], *described["probes"]]
    if any(sender["start_jitter_ns"] for sender in senders):
        return True
    if any(_draws(flow) for flow in described["flows"]):
        return True
    ends = [link[way] for link in described["links"] for way in ("forward", "reverse")]
    return any(
        _loses(end) or is_random_trace(end.get("trace")) or _drops_at_random(end["qdisc"])
        for end in ends
    )


def packet_time_ns(described: Resolved) -> int:
    """Transmission time of a full packet at the narrowest link, at least 1 us; 12 us without rates.

    (12 us is a full packet at 1 Gbit/s.)
    """
    times = [
        8e9 * (queue.mtu_bytes + queue.overhead_bytes) / queue.served_bps
        for queue in described.queues
        if queue.served_bps
    ]
    return max(round(max(times, default=12e3)), _NS_PER_US)


def _stretch(end: dict[str, Any], factor: float) -> None:
    """The delay times a factor, in whole microseconds as tc's netem takes it."""
    if end["delay_ns"]:
        end["delay_ns"] = round(end["delay_ns"] * factor / _NS_PER_US) * _NS_PER_US


def _draws(flow: Mapping[str, Any]) -> bool:
    laws = [value for value in flow["source"].values() if isinstance(value, Mapping)]
    if any(law.get("law") != "constant" for law in laws):
        return True
    tcp = flow["tcp"]
    if tcp is None:
        return False
    # A user's own controller may draw random numbers: dumbbell_cc.h.
    return "controller" in tcp or tcp["congestion_control"] in _RANDOM_CONTROLLERS


def _loses(end: Mapping[str, Any]) -> bool:
    return bool(end["loss"]) or any(change["loss"] for change in end["changes"])


def _is_drawn(slot: Mapping[str, Any]) -> bool:
    """Whether the times between slots of netem are drawn."""
    if slot["kind"] == "uniform":
        return bool(slot["min_ns"] != slot["max_ns"])
    return bool(slot["jitter_ns"])


def _drops_at_random(qdisc: object) -> bool:
    """Whether it, or a discipline inside it, drops or delays at random."""
    if isinstance(qdisc, Mapping):
        if (slot := qdisc.get("slot")) and _is_drawn(slot["delay"]):
            return True
        if qdisc.get("kind") in _RANDOM_DROPS or any(qdisc.get(key) for key in _CHANCES):
            return True
        return _drops_at_random(list(qdisc.values()))
    if isinstance(qdisc, Iterable) and not isinstance(qdisc, str):
        return any(_drops_at_random(each) for each in qdisc)
    return False
