"""netem's randomness, ours and the kernel's: the same distributions.

The two draw from different generators, so samples are compared, not packets: delays by the
Kolmogorov-Smirnov test, shares of packets by their standard error. Limits are those of one false
alarm in a thousand per comparison, fixed beforehand.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernel_samples import network
from numpy.typing import NDArray
from scipy import stats

from dumbbell.backends import simulate
from dumbbell.tables import Run

pytestmark = pytest.mark.usefixtures("kernel")

QUEUE = "router->receiver"
ENQUEUED, DEQUEUED = 0, 1
LEVEL = 1e-3
STANDARD_ERRORS = 3.3
"""Two-sided, of that level."""
PACKETS = 4000
TICK_NS = 2_000
"""The guest's clock ticks in 256 ns, and a packet costs a few readings of it."""

Reals = NDArray[np.float64]


def sample(qdisc: str, backend: str) -> Run:
    """One run of packets 1 ms apart through a link of this queue alone."""
    source = {"kind": "cbr", "rate": "1000pps", "size": "500B"}
    link = {"qdisc": qdisc, "record_packets": True}
    experiment = network(source=source, link=link, duration=f"{PACKETS // 1000 + 1}s")
    return simulate(experiment, backend=backend)


def delays_ns(run: Run, reference: Run) -> Reals:
    """From arrival, taken from a run of the simulator, to departure, of those that departed.

    Of the first `PACKETS`: none of them is under way at the end.
    """
    arrived = of_packets(reference, ENQUEUED)
    departed = of_packets(run, DEQUEUED)
    first = {number: at for number, at in departed.items() if number <= PACKETS}
    return np.array([at - arrived[number] for number, at in first.items()], dtype=np.float64)


def of_packets(run: Run, event: int) -> dict[int, int]:
    """Instants by packet number."""
    numbers = run.column("packets", "seq", queue=QUEUE, event=event).tolist()
    instants = run.column("packets", "t_ns", queue=QUEUE, event=event).tolist()
    return dict(zip(numbers, instants, strict=True))


@pytest.mark.parametrize(
    "qdisc",
    [
        "netem delay 20ms 5ms",
        "netem delay 20ms 5ms distribution normal",
        "netem delay 20ms 2ms distribution pareto",
        "netem delay 20ms 2ms distribution paretonormal",
        "netem delay 20ms 5ms 50% distribution normal",
        "netem delay 10ms 2ms reorder 25%",
        "netem delay 5ms 3ms rate 10mbit 10 48 5",
        "netem slot 2ms 8ms packets 8",
        "netem delay 1ms slot distribution normal 4ms 1ms",
    ],
)
def test_delays_have_the_kernels_distribution(qdisc: str) -> None:
    reference = sample("netem limit 100000", "sim")
    ours, theirs = (delays_ns(sample(qdisc, each), reference) for each in ("sim", "kernel"))
    assert len(ours) == len(theirs) == PACKETS
    if " rate " in qdisc:
        # In order, a packet's delay depends on those of the 6 ms before; the test wants independent
        # ones.
        ours, theirs = ours[::10], theirs[::10]
    if " slot " in qdisc:
        # Those of a slot leave together.
        ours, theirs = ours[::20], theirs[::20]
    # A tick of the kernel's clock is no difference.
    ours, theirs = np.round(ours / TICK_NS), np.round(theirs / TICK_NS)
    assert stats.ks_2samp(ours, theirs).pvalue > LEVEL


@pytest.mark.parametrize(
    ("qdisc", "correlation"),
    [
        ("netem loss 5%", 0.0),
        ("netem loss 30% 25%", 0.3),
        ("netem loss gemodel 2% 20%", 0.78),
        ("netem loss gemodel 2% 20% 70% 1%", 0.78),
        ("netem loss state 2% 20% 10% 40% 1%", 0.78),
        ("netem delay 1ms reorder 25% 50% gap 4", 0.5),
    ],
)
def test_shares_are_the_kernels(qdisc: str, correlation: float) -> None:
    """Packets that leave late or never; the standard error allows for runs of them."""
    reference = sample("netem limit 100000", "sim")

    def share(backend: str) -> float:
        prompt = delays_ns(sample(qdisc, backend), reference) < 100 * TICK_NS
        return 1 - float(np.count_nonzero(prompt)) / PACKETS

    ours, theirs = share("sim"), share("kernel")
    mean = (ours + theirs) / 2
    inflation = (1 + correlation) / (1 - correlation)
    error = math.sqrt(2 * mean * (1 - mean) / PACKETS * inflation)
    assert abs(ours - theirs) < STANDARD_ERRORS * error
    assert 0 < ours < 1


@pytest.mark.parametrize(
    ("corrupt", "correlation"), [("corrupt 10%", 0.0), ("corrupt 30% 50%", 0.5)]
)
def test_damaged_packets_leave_the_queue_and_are_thrown_away(
    corrupt: str, correlation: float
) -> None:
    """A bit of the sender's Ethernet address harms nothing: 6 bytes of 500."""
    missed = {}
    for backend in ("sim", "kernel"):
        run = sample(f"netem {corrupt}", backend)
        sent, received, dropped = (
            int(run.column(table, name, **where)[0])
            for table, name, where in (
                ("flows", "created_pkts", {"flow": "stream"}),
                ("flows", "delivered_pkts", {"flow": "stream"}),
                ("queues", "dropped_aqm_pkts", {"queue": QUEUE}),
            )
        )
        assert dropped == 0
        missed[backend] = 1 - received / sent
    share = (missed["sim"] + missed["kernel"]) / 2
    error = math.sqrt(2 * share * (1 - share) / PACKETS * (1 + correlation) / (1 - correlation))
    assert abs(missed["sim"] - missed["kernel"]) < STANDARD_ERRORS * error
    assert 0.05 < share < 0.35
