"""Networks behind ``dualpi2``, in the simulator and on a kernel of the L4S team.

Such a kernel is one of your own (``docs/kernels.md``), called ``l4s``. Its ``dualpi2`` is that of
before Linux 6.17: ``min_qlen_step 2``. The margins are those of the networks of other disciplines.
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

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel")]

L4S = "l4s"
DUALPI2 = "dualpi2 min_qlen_step 2"

PRAGUE_BESIDE_CUBIC = [download("prague", "prague"), download("cubic")]
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
"""Shares differ by two to three points, and are not compared (docs/qdisc/dualpi2.md)."""


@pytest.fixture(autouse=True)
def l4s() -> None:
    kernel = find_kernel(name=L4S)
    if kernel is None:
        pytest.skip(how_to_build(name=L4S))
    has = capabilities_of(kernel)
    assert has.dualpi2 is Dualpi2Options.BEFORE_LINUX
    assert "prague" in has.controllers


def described(rate: str, flows: Sequence[dict[str, Any]], **keys: Any) -> Experiment:
    made = experiment(DUALPI2, flows, rate)
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
        (wait_s, DELAY, SMALL_DELAY_S),
        (dropped, DROPS, FEW_DROPS),
    ]
    if name in NETWORKS:
        compared.append((goodputs, None, GOODPUT))
    for of, rel, absolute in compared:
        expected = pytest.approx(mean(of, theirs), rel=rel, abs=absolute)
        assert mean(of, ours) == expected, of.__name__
