"""Flows in queues of their own, in the simulator and on the kernel: the same fates.

Of 65536 queues the three have one each but once in twenty thousand times, whatever the hash and its
key; the kernel's key follows from the seed, so it is not a matter of luck twice.
"""

from __future__ import annotations

from bisect import bisect
from typing import Any

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables import Run

pytestmark = pytest.mark.usefixtures("kernel")

QUEUE = "router->receiver"
LATE_NS = 2_000
TIE_US = 12
"""As in ``test_qdisc_agreement``."""
DEQUEUED, DROPPED = 1, 2
FLOWS = 3

Packet = tuple[int, int]
"""Flow and number."""


def experiment(times_us: np.ndarray[Any, Any], qdisc: str) -> Experiment:
    """Three flows of one trace: of two packets in seven the first's, of four the second's."""
    random = np.random.default_rng(8290)
    owner = random.choice(FLOWS, len(times_us), p=(2 / 7, 4 / 7, 1 / 7))
    sizes = random.integers(60, 1400, len(times_us))
    flows = [
        {
            "name": f"flow-{flow}",
            "from": "sender",
            "to": "receiver",
            "source": {
                "kind": "replay",
                "times": [f"{at}us" for at in times_us[owner == flow]],
                "sizes": [f"{size}B" for size in sizes[owner == flow]],
                "size_at": "payload",
            },
        }
        for flow in range(FLOWS)
    ]
    link = {"rate": "1mbit", "record_packets": True, "qdisc": qdisc}
    links = [
        {"a": "sender", "b": "router"},
        {"a": "router", "b": "receiver", "forward": link},
    ]
    return Experiment.model_validate({"duration": "12s", "links": links, "flows": flows})


def fates(run: Run) -> tuple[dict[Packet, int], set[Packet]]:
    """Departure in ns of each packet, and those dropped."""

    def rows(column: str, event: int) -> list[int]:
        found: list[int] = run.column("packets", column, queue=QUEUE, event=event).tolist()
        return found

    def packets(event: int) -> list[Packet]:
        return list(zip(rows("flow", event), rows("seq", event), strict=True))

    departures = dict(zip(packets(DEQUEUED), rows("t_ns", DEQUEUED), strict=True))
    return departures, set(packets(DROPPED))


def without_ties(qdisc: str) -> Experiment:
    """Arrivals at 1.5 times the rate, none within a few microseconds of a departure."""
    random = np.random.default_rng(42)
    times_us = np.cumsum(random.exponential(780 * 8 / 1.5, 1900)).astype(np.int64)
    for _ in range(100):
        described = experiment(times_us, qdisc)
        departures, _ = fates(simulate(described))
        left = sorted(departures.values())

        def is_tied(at_us: int, left: list[int] = left) -> bool:
            at, tie = at_us * 1000, TIE_US * 1000
            return bisect(left, at - tie) != bisect(left, at + tie)

        # What comes to an idle link leaves at once; at this load that is rare, and no harm.
        at_once = {at // 1000 for at in left}
        tied = [is_tied(at) and at not in at_once for at in times_us.tolist()]
        if not any(tied):
            return described
        apart = TIE_US * (2 + np.arange(len(times_us)) % 7)
        times_us = np.sort(times_us + np.array(tied) * apart)
    raise AssertionError("ties remain")


@pytest.mark.parametrize(
    "qdisc",
    [
        "fq_codel flows 65536",
        "fq_codel flows 65536 limit 40 drop_batch 6 quantum 500",
        "fq_codel flows 65536 target 2ms interval 20ms memory_limit 60kb",
        "sfq divisor 65536 quantum 1000",
        "sfq divisor 65536 limit 40 quantum 600",
        "sfq divisor 65536 limit 40 depth 20 headdrop quantum 1400",
        "sfq divisor 65536 depth 15 flows 2 quantum 256",
    ],
)
def test_the_same_packets_leave_at_the_same_instants(qdisc: str) -> None:
    described = without_ties(qdisc)
    expected, expected_lost = fates(simulate(described))
    found, found_lost = fates(simulate(described, backend="kernel"))
    assert len(expected_lost) > 50
    assert found_lost == expected_lost
    late = np.array([found[packet] - at for packet, at in expected.items()])
    assert -LATE_NS <= late.min() <= late.max() <= LATE_NS
