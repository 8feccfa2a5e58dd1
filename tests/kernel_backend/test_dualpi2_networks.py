"""Networks behind ``dualpi2``, in the simulator and on a kernel of the L4S team.

Such a kernel is one of your own (``docs/kernels.md``), called ``l4s``. Its ``dualpi2`` is that of
before Linux 6.17: ``min_qlen_step 2``. The margins are those of the networks of other disciplines.
The simulator draws marks and sends Prague in twos, as that kernel does (``docs/qdisc/dualpi2.md``
has the effect of either).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from test_queue_networks import (
    DELAY,
    DROPS,
    FEW_DROPS,
    GOODPUT,
    QUEUE,
    SMALL_DELAY_S,
    download,
    dropped,
    experiment,
    flood,
    goodputs,
    mean,
    total_bytes,
    wait_s,
)

from dumbbell.backends import simulate
from dumbbell.backends.kernel.cache import find_kernel, how_to_build
from dumbbell.backends.kernel.capabilities import Dualpi2Options, capabilities_of
from dumbbell.spec import Experiment
from dumbbell.tables import Run

# Long: continuous integration must not depend on the kernels that a cache happens to hold.
pytestmark = [pytest.mark.kernel, pytest.mark.long, pytest.mark.usefixtures("kernel")]

L4S = "l4s"
DUALPI2 = "dualpi2 min_qlen_step 2"

MARKS, FEW_MARKS = 0.05, 0.01


def paced(name: str, controller: str) -> dict[str, Any]:
    """A download in bursts of two, which Linux's Prague and CUBIC have at least."""
    made = download(name, controller)
    return {**made, "tcp": {**made["tcp"], "min_tso_segs": 2}}


PRAGUE_BESIDE_CUBIC = [paced("prague", "prague"), paced("cubic", "cubic")]
NETWORKS: Mapping[str, tuple[str, Sequence[dict[str, Any]]]] = {
    "Prague alone": ("10mbit", [download("prague", "prague")]),
    "CUBIC alone": ("10mbit", [download("cubic")]),
    "Prague beside CUBIC": ("10mbit", PRAGUE_BESIDE_CUBIC),
    "a flood that fills the link": ("10mbit", [flood("flood", "1500pps"), download("cubic")]),
}
OF_OTHER_SHARES: Mapping[str, tuple[str, Sequence[dict[str, Any]]]] = {
    "Prague beside CUBIC on a faster link": ("40mbit", PRAGUE_BESIDE_CUBIC),
    "a flood beside Prague and CUBIC": (
        "10mbit",
        [flood("flood", "500pps"), *PRAGUE_BESIDE_CUBIC],
    ),
}
"""Shares differ by three points, and by seven from one run of the kernel to another, and the time
in the queue with them: neither is compared (docs/qdisc/dualpi2.md).
"""


def datagrams(name: str, rate: str, ecn: str) -> dict[str, Any]:
    return {**flood(name, rate), "ecn": ecn}


WITHOUT_A_CONTROLLER: Mapping[str, tuple[str, Sequence[dict[str, Any]]]] = {
    "more than C can carry": (
        "10mbit",
        [datagrams("l4s", "500pps", "ect1"), datagrams("classic", "812pps", "not-ect")],
    ),
    "L alone": ("10mbit", [datagrams("l4s", "1050pps", "ect1")]),
    "less than the link can carry": (
        "10mbit",
        [datagrams("l4s", "500pps", "ect1"), datagrams("classic", "600pps", "not-ect")],
    ),
}
"""What is sent does not depend on marks: the discipline by itself."""


@pytest.fixture(autouse=True)
def l4s() -> None:
    kernel = find_kernel(name=L4S)
    if kernel is None:
        pytest.skip(how_to_build(name=L4S))
    has = capabilities_of(kernel)
    assert has.dualpi2 is Dualpi2Options.BEFORE_LINUX
    assert "prague" in has.controllers


def described(rate: str, flows: Sequence[dict[str, Any]], **keys: Any) -> Experiment:
    made = experiment(DUALPI2, flows, rate, random_marks=True)
    return made.model_copy(update={"kernel": L4S, **keys})


def test_the_same_seed_gives_the_same_bytes() -> None:
    network = described(*NETWORKS["Prague beside CUBIC"], duration="4s", warm_up="1s")
    first, again = (simulate(network, backend="kernel") for _ in range(2))
    assert first.meta["versions"]["kernel"].startswith("5.15.")
    assert first.meta["digest"] == again.meta["digest"]


@pytest.mark.parametrize("name", [*NETWORKS, *OF_OTHER_SHARES])
def test_packets_wait_as_long_and_flows_have_the_same_shares(name: str) -> None:
    """On average, as behind the other disciplines; docs/qdisc/dualpi2.md has what differs."""
    network = described(*{**NETWORKS, **OF_OTHER_SHARES}[name])
    ours = [simulate(network, replication=index) for index in range(10)]
    theirs = [simulate(network, backend="kernel", replication=index) for index in range(3)]
    compared: list[tuple[Callable[[Run], list[float]], float | None, float | None]] = [
        (total_bytes, GOODPUT, None),
        (dropped, DROPS, FEW_DROPS),
    ]
    if name in NETWORKS:
        compared += [(goodputs, None, GOODPUT), (wait_s, DELAY, SMALL_DELAY_S)]
    for of, rel, absolute in compared:
        expected = pytest.approx(mean(of, theirs), rel=rel, abs=absolute)
        assert mean(of, ours) == expected, of.__name__


def marked(run: Run) -> list[float]:
    """The share of ECN-capable packets."""
    sent = run.column("flows", "sent_datagrams", flow="l4s")[0]
    return [run.column("queues", "marked_pkts", queue=QUEUE)[0] / sent]


@pytest.mark.parametrize("name", WITHOUT_A_CONTROLLER)
def test_datagrams_are_marked_and_dropped_alike(name: str) -> None:
    network = described(*WITHOUT_A_CONTROLLER[name])
    ours = [simulate(network, replication=index) for index in range(4)]
    theirs = [simulate(network, backend="kernel", replication=index) for index in range(2)]
    for of, rel, absolute in [
        (marked, MARKS, FEW_MARKS),
        (wait_s, DELAY, SMALL_DELAY_S),
        (dropped, DROPS, FEW_DROPS),
    ]:
        expected = pytest.approx(mean(of, theirs), rel=rel, abs=absolute)
        assert mean(of, ours) == expected, of.__name__
