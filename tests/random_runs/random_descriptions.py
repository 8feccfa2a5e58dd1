"""Valid descriptions of short runs, each from a number: all that a file can hold is drawn.

The same number gives the same description wherever it is drawn. What would be too long for a test,
by the engine's own estimate, is drawn again from the same number.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from random_disciplines import discipline, policer
from random_traffic import flow, probe

from dumbbell.backends.sim import BACKEND
from dumbbell.spec import Experiment

Description = dict[str, Any]
"""As a TOML file holds it."""

MOST_EVENTS = 30_000
MOST_MEMORY_BYTES = 30_000_000
"""Foreseen, of one replication: what many runs in a test may take."""
_DRAWS = 100


def description(number: int, *, most_events: int = MOST_EVENTS) -> Description:
    """The description of that number.

    Args:
        number: Chooses it.
        most_events: One that is foreseen to take more is drawn again.

    Raises:
        SpecError: What was drawn is not valid: a fault of what draws or of what reads.
    """
    for again in range(_DRAWS):
        drawn = _drawn(random.Random(f"{number} {again}"), number)
        cost = BACKEND.check(Experiment.read(drawn).resolved_json())
        if cost.events <= most_events and cost.memory_bytes <= MOST_MEMORY_BYTES:
            return drawn
    raise AssertionError(f"description {number}: none of {_DRAWS} draws was short enough")


def _drawn(draw: random.Random, number: int) -> Description:
    duration_us = int(10 ** draw.uniform(4, 7))
    # So fast that some hundred full packets pass in the run.
    rate_bps = int(draw.uniform(50, 2000) * 12_000 / (duration_us * 1e-6))
    network, hosts = _network(draw, rate_bps, duration_us)
    flows = [flow(draw, hosts, duration_us, place) for place in range(draw.randrange(4))]
    probes = [probe(draw, hosts, duration_us, place) for place in range(draw.choice([0, 0, 1, 2]))]
    drawn: Description = {
        "name": f"random-{number}",
        "seed": draw.choice([1, draw.randrange(2**32)]),
        "duration": f"{duration_us}us",
        "timer_hz": draw.choice([100, 250, 1000]),
        **network,
        "flows": flows,
        "probes": probes,
    }
    if draw.random() < 0.3:
        drawn["warm_up"] = f"{draw.randrange(duration_us)}us"
    if draw.random() < 0.5:
        drawn["sample_interval"] = f"{max(1, duration_us // draw.randrange(1, 50))}us"
    return drawn


# --- networks -------------------------------------------------------------------------------


def _network(
    draw: random.Random, rate_bps: int, duration_us: int
) -> tuple[Mapping[str, Any], list[str]]:
    """Keys of the description, and hosts that links join."""
    if draw.random() < 0.2:
        return _shape(draw, rate_bps, duration_us)
    hosts = [f"host-{place}" for place in range(draw.randrange(2, 6))]
    # A tree, and sometimes another way or a second link between the same hosts.
    pairs = [(hosts[draw.randrange(place)], hosts[place]) for place in range(1, len(hosts))]
    if draw.random() < 0.2:
        a, b = draw.sample(hosts, 2)
        pairs.append((a, b))
    links = [
        {"a": a, "b": b, **_link(draw, rate_bps, duration_us)}
        if draw.random() < 0.5
        else {"a": b, "b": a, **_link(draw, rate_bps, duration_us)}
        for a, b in pairs
    ]
    network: dict[str, Any] = {"links": links}
    if draw.random() < 0.2:
        network["hosts"] = draw.sample(hosts, len(hosts))
    return network, hosts


def _shape(
    draw: random.Random, rate_bps: int, duration_us: int
) -> tuple[Mapping[str, Any], list[str]]:
    if draw.random() < 0.5:
        hops = draw.randrange(1, 4)
        shape = {"kind": "chain", "hops": hops, "link": _link(draw, rate_bps, duration_us)}
        return {"shape": shape}, ["sender", "receiver"]
    pairs = draw.randrange(1, 4)
    shape = {
        "kind": "dumbbell",
        "pairs": pairs,
        "bottleneck": _link(draw, rate_bps, duration_us),
        "access": _link(draw, 10 * rate_bps, duration_us),
    }
    ends = [f"{end}-{place}" for place in range(1, pairs + 1) for end in ("sender", "receiver")]
    return {"shape": shape}, ends


def _link(draw: random.Random, rate_bps: int, duration_us: int) -> dict[str, Any]:
    """A link on which time passes, whatever its ends say otherwise."""
    # TCP without any delay or rate on its way is refused, and so is not drawn.
    link = _end(draw, rate_bps, duration_us)
    link["delay"] = _delay(draw, duration_us)
    for direction in ("forward", "reverse"):
        if draw.random() < 0.4:
            link[direction] = _end(draw, rate_bps, duration_us)
    return link


def _end(draw: random.Random, rate_bps: int, duration_us: int) -> dict[str, Any]:
    rate = draw.choice(["inf", f"{rate_bps}bit", f"{int(rate_bps * draw.uniform(0.2, 4))}bit"])
    drawn = {
        "rate": rate,
        "delay": _delay(draw, duration_us),
        "mtu": f"{draw.choice([1500, 9000, 576, draw.randrange(300, 3000)])}B",
        "overhead": draw.choice(["ethernet", "wire", "ppp", "none", f"{draw.randrange(100)}B"]),
        "police": policer(draw, rate_bps),
        "qdisc": discipline(draw, rate_bps),
        "record_packets": draw.random() < 0.5,
        "capture": draw.random() < 0.2,
        "capture_flows": draw.random() < 0.5,
        "changes": _changes(draw, rate_bps, duration_us),
        "tso": draw.choice([True, True, False]),
        "gro": draw.choice(["0s", "0s", _delay(draw, duration_us)]),
        draw.choice(["loss", "loss_every"]): 0,
    }
    if "loss" in drawn:
        drawn["loss"] = round(draw.uniform(0, 0.2), 3)
    else:
        drawn["loss_every"] = draw.randrange(2, 200)
    shares = {"qdisc": 0.8, "rate": 0.8, "police": 0.1, "loss": 0.3, "loss_every": 0.3}
    shares |= {"tso": 0.1, "gro": 0.1}
    return {key: value for key, value in drawn.items() if draw.random() < shares.get(key, 0.25)}


def _delay(draw: random.Random, duration_us: int) -> str:
    return f"{int(10 ** draw.uniform(1, 4.7))}us"


def _changes(draw: random.Random, rate_bps: int, duration_us: int) -> list[dict[str, Any]]:
    instants = sorted(draw.sample(range(duration_us), draw.randrange(1, 4)))
    changes = []
    for at_us in instants:
        change = {
            "rate": f"{max(1000, int(rate_bps * draw.uniform(0.1, 3)))}bit",
            "delay": _delay(draw, duration_us),
            "loss": round(draw.uniform(0, 0.3), 3),
        }
        key = draw.choice(list(change))
        kept = {each: value for each, value in change.items() if each == key or draw.random() < 0.4}
        changes.append({"at": f"{at_us}us", **kept})
    return changes
