"""Random drops: the simulator's distribution against that of the kernel's own seeds.

The same arrivals pass each discipline in several replications, in the simulator and on the kernel,
whose random numbers follow from the seed. The rule, fixed before the first run: for the number of
packets dropped and the mean delay of the others, Welch's two-sample t-test does not reject equal
means at 0.1 % (two tests a discipline, so a right one fails once in 500), and the means
differ by less than a tenth, so that a test without power cannot pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from kernel_samples import network
from scipy import stats

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables import Run

pytestmark = pytest.mark.usefixtures("kernel")

QUEUE = "router->receiver"
REPLICATIONS = 8
LEVEL = 0.001
MARGIN = 0.1

RANDOM = {
    "pie": "pie",
    "pie dq_rate_estimator": "pie dq_rate_estimator",
    "pie bytemode": "pie bytemode target 20ms tupdate 30ms",
    "pie ecn": "pie ecn",
    "tbf over pie": "root handle 1: tbf rate 1mbit burst 2kb limit 1; parent 1:1 pie limit 20",
    "tbf over red": (
        "root handle 1: tbf rate 1mbit burst 2kb limit 1; parent 1:1 red limit 60kb min 5kb "
        "max 15kb avpkt 600 burst 15 probability 0.1 bandwidth 1mbit"
    ),
    "red": "red limit 60kb min 5kb max 15kb avpkt 600 burst 15 probability 0.1 bandwidth 1mbit",
    "cake, whose BLUE comes in": "cake bandwidth 1mbit besteffort flowblind memlimit 40kb",
    "red, the whole range": "red limit 30kb min 2kb max 20kb avpkt 600 burst 6 probability 0.9",
}


def experiment(qdisc: str) -> Experiment:
    """A fixed trace of 20 s: 1.2 times 1 Mbit/s, with pauses; half of it in bursts."""
    random = np.random.default_rng(8033)
    gaps_us = random.exponential(550 * 8 / 1.2, 5500)
    gaps_us[::500] += 200_000
    times_us = np.cumsum(gaps_us).astype(int)
    sizes = random.integers(60, 1000, len(times_us))
    source = {
        "kind": "replay",
        "times": [f"{at}us" for at in times_us],
        "sizes": [f"{size}B" for size in sizes],
        # As sizes on the wire the kernel's devices would have an MTU of 65535 bytes.
        "size_at": "payload",
    }
    ends = {"from": "sender", "to": "receiver"}
    ecn = "ect0" if " ecn" in qdisc else "not-ect"
    flow = {"name": "stream", "source": source, "ecn": ecn, **ends}
    # A tbf is a shaper of its own, and so is cake.
    rate = {} if "tbf" in qdisc or "cake" in qdisc else {"rate": "1mbit"}
    return network(link={**rate, "qdisc": qdisc}, flows=[flow], duration="24s")


def measures(runs: Iterable[Run]) -> dict[str, list[float]]:
    """Of each replication."""
    found: dict[str, list[float]] = {"dropped": [], "delay": []}
    for run in runs:
        arrived, departed, delay = (
            float(run.column("queues", column, queue=QUEUE)[0])
            for column in ("arrived_pkts", "departed_pkts", "sojourn_mean_s")
        )
        # At the end the queue is empty.
        found["dropped"].append(arrived - departed)
        found["delay"].append(delay)
    return found


@pytest.mark.parametrize("name", RANDOM)
def test_drops_and_delay_are_the_kernels(name: str, request: pytest.FixtureRequest) -> None:
    if "memlimit" in RANDOM[name]:  # packets take another memory in later ones
        request.getfixturevalue("linux_6_1")
    described = experiment(RANDOM[name])

    def replications(backend: Any) -> dict[str, list[float]]:
        runs = (
            simulate(described, replication=replication, backend=backend)
            for replication in range(REPLICATIONS)
        )
        return measures(runs)

    ours, kernels = replications("sim"), replications("kernel")
    for measure, sample in ours.items():
        other = kernels[measure]
        summary = f"{measure}: {np.mean(sample):.5g} against {np.mean(other):.5g}"
        assert abs(np.mean(sample) / np.mean(other) - 1) < MARGIN, summary
        assert stats.ttest_ind(sample, other, equal_var=False).pvalue > LEVEL, summary
