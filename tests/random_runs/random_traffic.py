"""Flows over UDP and TCP from sources of every kind, and probes."""

from __future__ import annotations

import math
import random
from typing import Any

from dumbbell import _engine

_CONTROLLERS = tuple(_engine.congestion_controllers())
"""Those of the simulator."""

_DSCPS: tuple[int | str, ...] = (0, 0, 0, 63, "EF", "CS1", "AF41")


def flow(draw: random.Random, hosts: list[str], duration_us: int, place: int) -> dict[str, Any]:
    """A flow between two of the hosts, of some hundred packets."""
    start, end = draw.sample(hosts, 2)
    drawn: dict[str, Any] = {"name": f"flow-{place}", "from": start, "to": end}
    drawn |= _times(draw, duration_us)
    drawn["dscp"] = draw.choice(_DSCPS)
    spaced, over_udp, over_tcp = ("poisson", "cbr", "renewal"), ("ditg", "replay", "bursts"), (
        "greedy", "sized", "closed_loop", "arrivals",
    )  # fmt: skip
    kind = draw.choice([*spaced, *over_udp, *over_tcp, *over_tcp])
    is_tcp = kind in over_tcp or (kind in spaced and draw.random() < 0.3)
    drawn["source"] = _source(draw, kind, duration_us)
    if kind in spaced and is_tcp:
        drawn["source"].pop("size_at", None)
        drawn["transport"] = "tcp"
    if is_tcp:
        drawn["tcp"] = _tcp(draw)
    else:
        drawn["ecn"] = draw.choice(["not-ect", "ect0", "ect1"])
    return drawn


def probe(draw: random.Random, hosts: list[str], duration_us: int, place: int) -> dict[str, Any]:
    """Echo requests between two of the hosts."""
    start, end = draw.sample(hosts, 2)
    drawn: dict[str, Any] = {
        "name": f"probe-{place}",
        "kind": draw.choice(["ping", "udp"]),
        "from": start,
        "to": end,
        "interval": f"{max(1, duration_us // draw.randrange(1, 200))}us",
        "dscp": draw.choice(_DSCPS),
    }
    if draw.random() < 0.5:
        drawn["payload"] = f"{draw.choice([0, 56, 1472, 1473, draw.randrange(9000)])}B"
    if draw.random() < 0.3:
        drawn["count"] = draw.randrange(1, 50)
    times = _times(draw, duration_us)
    times.pop("stop", None)
    return drawn | times


def _times(draw: random.Random, duration_us: int) -> dict[str, str]:
    times = {}
    start_us = 0
    if draw.random() < 0.3:
        start_us = draw.randrange(duration_us)
        times["start"] = f"{start_us}us"
    if draw.random() < 0.2:
        times["stop"] = f"{start_us + draw.randrange(1, duration_us)}us"
    if draw.random() < 0.3:
        times["start_jitter"] = f"{draw.randrange(1, duration_us)}us"
    return times


# --- sources --------------------------------------------------------------------------------


def _source(draw: random.Random, kind: str, duration_us: int) -> dict[str, Any]:
    """A source that sends some hundred packets, or some transfers, in the run."""
    source: dict[str, Any] = {"kind": kind}
    packets = draw.randrange(1, 1000)
    gap_us = max(2.0, duration_us / packets)
    if kind in ("poisson", "cbr"):
        source |= _spacing(draw, gap_us)
    elif kind in ("renewal", "ditg"):
        source["gap"] = gap_law(draw, gap_us)
    elif kind == "bursts":
        source["packets"] = draw.randrange(1, 50)
        source["gap"] = gap_law(draw, gap_us * source["packets"])
    elif kind == "replay":
        return source | _trace(draw, duration_us)
    if kind == "ditg" and draw.random() < 0.5:
        source["oversleep"] = gap_law(draw, 90)
    if kind in ("closed_loop", "arrivals"):
        think = "think" if kind == "closed_loop" else "gap"
        source[think] = gap_law(draw, max(2.0, duration_us / draw.randrange(1, 40)))
        source["size"] = size_law(draw, 10 ** draw.uniform(1, 5))
    elif kind == "sized":
        source["size"] = f"{int(10 ** draw.uniform(0, 7))}B"
    elif kind == "greedy":
        if draw.random() < 0.2:
            source["first_write"] = f"{int(10 ** draw.uniform(0, 5))}B"
            source["rest_after"] = f"{draw.randrange(duration_us)}us"
        if draw.random() < 0.2:
            source["write_size"] = f"{int(10 ** draw.uniform(2, 5.4))}B"
    else:
        source["size"] = size_law(draw, 10 ** draw.uniform(1.5, 3.5))
        if kind != "ditg" and draw.random() < 0.6:
            source["size_at"] = draw.choice(["wire", "payload"])
    return source


def _spacing(draw: random.Random, gap_us: float) -> dict[str, str]:
    if draw.random() < 0.5:
        return {"gap": f"{gap_us:.3f}us"}
    return {"rate": f"{1e6 / gap_us:.3f}pps"}


def _trace(draw: random.Random, duration_us: int) -> dict[str, Any]:
    instants = sorted(draw.randrange(duration_us) for _ in range(draw.randrange(1, 60)))
    return {
        "times": [f"{instant}us" for instant in instants],
        "sizes": [f"{draw.randrange(20, 4000)}B" for _ in instants],
        "size_at": draw.choice(["wire", "payload"]),
    }


def gap_law(draw: random.Random, mean_us: float) -> str:
    """A law of times with about that mean, where it has one."""
    return _law(draw, mean_us, "us", mean_us * 1e-6)


def size_law(draw: random.Random, mean_bytes: float) -> str:
    """A law of sizes with about that mean, where it has one."""
    return _law(draw, max(1.0, mean_bytes), "B", mean_bytes)


def _law(draw: random.Random, mean: float, unit: str, mean_without_unit: float) -> str:
    def value(times: float) -> str:
        scaled = times * mean
        return f"{max(1, round(scaled))}{unit}" if unit == "B" else f"{scaled:.3f}{unit}"

    shape = round(draw.uniform(0.6, 4), 2)
    sigma = round(draw.uniform(0, 1.5), 2)
    return draw.choice(
        [
            f"exponential {value(1)}",
            f"constant {value(1)}",
            f"uniform {value(0.3)} {_above(value(1.7), value(0.3), unit)}",
            f"pareto {shape} {value(0.5)}",
            f"normal {value(1)} {value(draw.uniform(0.05, 1))}",
            f"lognormal {_logarithm(mean_without_unit, sigma)} {sigma}",
            f"gamma {shape} {value(1 / shape)}",
            f"weibull {shape} {value(1)}",
        ]
    )


def _above(value: str, least: str, unit: str) -> str:
    """A value above another: small whole sizes may be equal."""
    return value if value != least else f"{int(least.removesuffix(unit)) + 1}{unit}"


def _logarithm(mean: float, sigma: float) -> float:
    return round(math.log(mean) - sigma**2 / 2, 3)


# --- TCP ------------------------------------------------------------------------------------


def _tcp(draw: random.Random) -> dict[str, Any]:
    """A profile, a controller, and some knobs turned."""
    flag = (True, False)
    knobs: dict[str, Any] = {
        "initial_window": draw.choice([1, 2, 3, 4, 10, 40]),
        "sack": draw.choice(flag),
        "rack": draw.choice(flag),
        "timestamps": draw.choice(flag),
        "delayed_ack": draw.choice(flag),
        "ack_every": draw.choice([1, 2, 4, 64]),
        "ecn": draw.choice(flag),
        "pacing": draw.choice([True, False, "auto"]),
        "hystart": draw.choice(flag),
        "prr": draw.choice(["rfc6937", "rfc9937"]),
        "small_queues": draw.choice(flag),
        "gso_max_segs": draw.choice([1, 2, 5, 44, 65_535]),
        "min_rto": f"{draw.randrange(1, 2000)}ms",
        "send_buffer": f"{draw.randrange(2048, 500_000)}B",
        "receive_window": f"{draw.randrange(2048, 500_000)}B",
        "cwnd_changes": [
            {"at": f"{at}ms", "cwnd": round(10 ** draw.uniform(0, 3))}
            for at in sorted(draw.sample(range(1000), draw.randrange(1, 6)))
        ],
    }
    share = draw.choice([0.0, 0.1, 0.5])
    profile = draw.choice(["linux-6.1", "rfc"])
    if profile == "rfc":
        # It sends segments one by one.
        knobs["gso_max_segs"] = 1
    return {
        "profile": profile,
        "congestion_control": draw.choice(_CONTROLLERS),
        **{key: value for key, value in knobs.items() if draw.random() < share},
    }
