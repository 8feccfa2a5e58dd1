"""What stands in for randomness where a description has none.

Replications of a description in which nothing is random are the same run again and again, and an
interval over them would say that a number is known exactly. What is not known there is in what
phase the senders start and how long exactly the round trip takes; an ensemble varies these a
little, and the spread over its members, from the least to the greatest, is given in place of an
interval.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.spec import Experiment, Resolved, canonical_json

RTT_SHARE = 0.01
"""Most that a delay of a link is changed by, relative to it."""
_GOLDEN = 0.6180339887498949
"""Multiples of it, less their whole part, fill the interval from 0 to 1 evenly, however many."""
_NS_PER_US = 1000
_RANDOM_DROPS = frozenset({"pie", "fq_pie", "red", "choke"})
_RANDOM_CONTROLLERS = frozenset({"bbr"})
_CHANCES = ("jitter_ns", "duplicate_ppb", "reorder_ppb", "loss")


@dataclass(frozen=True, slots=True)
class Ensemble:
    """How members differ from their description; the same for every cell, so that pairs stay pairs.

    Attributes:
        because: Labels of the cells in which nothing is random.
    """

    because: tuple[str, ...]

    @property
    def words(self) -> str:
        """What is varied, for a reader."""
        return (
            f"each sender without a start jitter starts up to one packet's time later, and the "
            f"delays of all links are up to {100 * RTT_SHARE:g} % shorter or longer"
        )

    def member(self, experiment: Experiment, number: int) -> Member:
        """A description of the ensemble.

        Args:
            experiment: What is varied.
            number: Of the replication; it chooses the delays, and where in its jitter each sender
                starts.
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
    """A description that a backend runs.

    Attributes:
        text: Canonical.
    """

    text: str

    def resolved_json(self) -> str:
        """The description."""
        return self.text


def ensemble_for(experiments: Mapping[str, Experiment]) -> Ensemble | None:
    """The ensemble that a comparison needs; None where something is random in every cell.

    Args:
        experiments: By label.
    """
    settled = [label for label, each in experiments.items() if not is_random(each)]
    return Ensemble(tuple(settled)) if settled else None


def is_random(experiment: Experiment) -> bool:
    """Whether replications can differ: a draw decides a start, a size, a gap, a loss or a drop.

    The keys of a hash (`fq_codel`) are no such draw: with few flows they change nothing but in the
    rare run in which two of them collide.
    """
    described = experiment.resolved()
    senders = [*described["flows"], *described["probes"]]
    if any(sender["start_jitter_ns"] for sender in senders):
        return True
    if any(_draws(flow) for flow in described["flows"]):
        return True
    ends = [link[way] for link in described["links"] for way in ("forward", "reverse")]
    return any(_loses(end) or _drops_at_random(end["qdisc"]) for end in ends)


def packet_time_ns(described: Resolved) -> int:
    """Time of a full packet at the narrowest link, at least 1 us; of 12 us where none has a rate.

    (12 us is a full packet at 1 Gbit/s.)
    """
    times = [
        8e9 * (queue.mtu_bytes + queue.overhead_bytes) / queue.served_bps
        for queue in described.queues
        if queue.served_bps
    ]
    return max(round(max(times, default=12e3)), _NS_PER_US)


def _stretch(end: dict[str, Any], factor: float) -> None:
    """Whole microseconds, which is what tc's netem is given."""
    if end["delay_ns"]:
        end["delay_ns"] = round(end["delay_ns"] * factor / _NS_PER_US) * _NS_PER_US


def _draws(flow: Mapping[str, Any]) -> bool:
    laws = [value for value in flow["source"].values() if isinstance(value, Mapping)]
    if any(law.get("law") != "constant" for law in laws):
        return True
    tcp = flow["tcp"]
    if tcp is None:
        return False
    # One of somebody's own may draw: dumbbell_cc.h.
    return "controller" in tcp or tcp["congestion_control"] in _RANDOM_CONTROLLERS


def _loses(end: Mapping[str, Any]) -> bool:
    return bool(end["loss"]) or any(change["loss"] for change in end["changes"])


def _drops_at_random(qdisc: object) -> bool:
    """Also of a discipline inside another."""
    if isinstance(qdisc, Mapping):
        if qdisc.get("kind") in _RANDOM_DROPS or any(qdisc.get(key) for key in _CHANCES):
            return True
        return _drops_at_random(list(qdisc.values()))
    if isinstance(qdisc, Iterable) and not isinstance(qdisc, str):
        return any(_drops_at_random(each) for each in qdisc)
    return False
