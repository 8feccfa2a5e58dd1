"""A flow of L4S and a classic one that share a link behind ``dualpi2``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.backends import simulate
from dumbbell.metrics.flow import goodput_bps
from dumbbell.spec import Experiment
from dumbbell.tables import Run

QUEUE = "router->home"
WARM_UP_S = 15
DURATION_S = 55
COUPLING = 2.0
"""Linux's and RFC 9332's k."""

_SPEC = """
duration = "{duration}s"
warm_up = "{warm_up}s"
sample_interval = "16ms"
seed = {seed}

[[links]]
a = "server"
b = "router"
rate = "10gbit"

[[links]]
a = "router"
b = "home"
rate = "{rate_mbps}mbit"
delay = "{delay_us}us"
qdisc = "{qdisc}"
record_packets = true

[[flows]]
name = "l4s"
from = "server"
to = "home"
start_jitter = "1s"
source = {{ kind = "greedy" }}
tcp = {{ congestion_control = "{l4s}", ect1 = true, rtt_independence = {rtt_independence} }}

[[flows]]
name = "classic"
from = "server"
to = "home"
start_jitter = "1s"
source = {{ kind = "greedy" }}
tcp = {{ congestion_control = "{classic}", ecn = {classic_ecn} }}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What became of the two flows after the warm-up.

    Attributes:
        l4s_bps: Goodput of the one, bit/s.
        classic_bps: Of the other.
        coupled_share: Share of the packets of L4S that the base probability marked, 0 to 1.
        marked_share: The same with those that the threshold marked.
        dropped_share: Share of the classic packets that were dropped.
        base_mean: Mean of the base probability p'.
        base_square_mean: Mean of its square.
        l4s_delays_ms: Of each packet of L4S, arrival to end of transmission.
        classic_delays_ms: Of each classic packet.
    """

    l4s_bps: float
    classic_bps: float
    coupled_share: float
    marked_share: float
    dropped_share: float
    base_mean: float
    base_square_mean: float
    l4s_delays_ms: np.ndarray[tuple[int], np.dtype[np.float64]]
    classic_delays_ms: np.ndarray[tuple[int], np.dtype[np.float64]]

    @property
    def share_of_classic(self) -> float:
        """Of what both carry, 0 to 1."""
        return self.classic_bps / (self.classic_bps + self.l4s_bps)

    @property
    def coupling(self) -> float:
        """k as marks and drops show it: p_CL over the root of p_C."""
        return float(self.coupled_share / np.sqrt(self.dropped_share))


def shared(
    rate_mbps: float,
    rtt_ms: float,
    *,
    l4s: str = "prague",
    classic: str = "reno",
    qdisc: str = "dualpi2",
    seed: int = 1,
    rtt_independence: bool = True,
    classic_ecn: bool = False,
) -> Shared:
    """A run of both over a link of this rate and round trip."""
    text = _SPEC.format(
        duration=DURATION_S,
        warm_up=WARM_UP_S,
        seed=seed,
        rate_mbps=rate_mbps,
        delay_us=round(rtt_ms * 500),
        qdisc=qdisc,
        l4s=l4s,
        classic=classic,
        rtt_independence=str(rtt_independence).lower(),
        classic_ecn=str(classic_ecn).lower(),
    )
    return _summary(simulate(Experiment.from_toml(text)))


def _summary(run: Run) -> Shared:
    since_ns = WARM_UP_S * 10**9
    columns = {name: run.column("packets", name, queue=QUEUE) for name in _COLUMNS}
    later = columns["t_ns"] >= since_ns
    of_flow = [columns["flow"] == index for index in (0, 1)]
    left, dropped, marked = (columns["event"] == code for code in (1, 2, 3))
    by_base = columns["reason"] == 15
    count = lambda *masks: int(np.logical_and.reduce((later, *masks)).sum())  # noqa: E731
    delays = [
        columns["sojourn_ns"][later & left & each & (columns["sojourn_ns"] >= 0)] * 1e-6
        for each in of_flow
    ]
    base = run.column("queue_samples", "drop_probability", queue=QUEUE)
    base = base[run.column("queue_samples", "t_ns", queue=QUEUE) >= since_ns]
    l4s, classic = (count(left, each) for each in of_flow)
    drops = count(dropped, of_flow[1])
    return Shared(
        l4s_bps=goodput_bps(run, "l4s"),
        classic_bps=goodput_bps(run, "classic"),
        coupled_share=count(marked, of_flow[0], by_base) / l4s,
        marked_share=count(marked, of_flow[0]) / l4s,
        dropped_share=drops / (classic + drops),
        base_mean=float(base.mean()),
        base_square_mean=float((base**2).mean()),
        l4s_delays_ms=delays[0],
        classic_delays_ms=delays[1],
    )


_COLUMNS = ("t_ns", "event", "reason", "flow", "sojourn_ns")
