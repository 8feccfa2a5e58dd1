"""Latency that the program irtt measures in the guest, beside our own prober's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_samples import network, ping

from dumbbell.backends import simulate
from dumbbell.backends.kernel.programs import IRTT
from dumbbell.spec import flent
from dumbbell.stats import prediction_interval
from dumbbell.tables import NO_INSTANT, Run

pytestmark = pytest.mark.kernel

NS_PER_MS = 10**6
CLOCK_READS_NS = 10_000
"""Reading a clock takes 256 ns in the guest, and two programs that wake together wait for one
another's readings: a thousandth of the delay."""
LINK = {"rate": "10mbit", "delay": "10ms"}


@pytest.fixture(scope="module")
def irtt(kernel: Path) -> None:
    del kernel
    if shutil.which(IRTT, path="/usr/bin:/bin") is None:
        why = "irtt is not installed (Debian: apt-get install irtt)"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)


def probes(run: Run, name: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """When requests left and how long they took, of those that were answered."""
    sent, rtt = (run.column("probes", column, probe=name) for column in ("sent_ns", "rtt_ns"))
    answered = rtt != NO_INSTANT
    return sent[answered], rtt[answered]


@pytest.mark.usefixtures("irtt")
def test_on_an_idle_path_both_find_the_same_delay() -> None:
    """Two links of 10 ms each way, and the time of 60 + 28 + 14 bytes at 10 Mbit/s out."""
    both = [ping(name=name, kind=name, payload="60B", count=20) for name in ("udp", "irtt")]
    run = simulate(network(link=LINK, probes=both), backend="kernel")
    _, own = probes(run, "udp")
    sent, theirs = probes(run, "irtt")
    assert len(own) == len(theirs) == 20
    expected_ns = 10 * NS_PER_MS + 8 * 102 * 100
    assert np.all(np.abs(own - expected_ns) <= CLOCK_READS_NS)
    assert np.all(np.abs(theirs - expected_ns) <= CLOCK_READS_NS)
    # A session is opened first; then a request each interval, by a timer that corrects itself.
    assert expected_ns <= sent[0] < expected_ns + NS_PER_MS
    assert np.all(np.abs(np.diff(sent) - 200 * NS_PER_MS) < 2 * NS_PER_MS)


@pytest.mark.usefixtures("irtt")
def test_a_lost_request_has_no_round_trip_and_marks_are_as_asked() -> None:
    """Losses are the kernel's, by its seed. The capture has the byte with DSCP and ECN."""
    link = {**LINK, "loss": 0.2, "capture": True}
    probe = ping(kind="irtt", interval="50ms", dscp="EF", start="100ms", payload="100B")
    run = simulate(network(link=link, probes=[probe], duration="10s"), backend="kernel")
    sent, rtt = (run.column("probes", column) for column in ("sent_ns", "rtt_ns"))
    assert np.all(sent > 110 * NS_PER_MS)
    # The session's opening may be lost, too: irtt tries again after a second, then two.
    assert abs(len(sent) - (10_000 * NS_PER_MS - sent[0]) / (50 * NS_PER_MS)) < 3
    lost = np.mean(rtt == NO_INSTANT)
    # Binomial, four standard deviations; a way out loses, the way back does not.
    assert abs(lost - 0.2) < 4 * np.sqrt(0.16 / len(sent))
    content = run.files["capture.pcapng"].path.read_bytes()
    ip = bytes([0x45, 0xB8]) + (100 + 28).to_bytes(2, "big")
    # Before the queue and after it.
    assert content.count(ip) >= 2 * (len(sent) - 1)


def rrul(irtt: bool, replication: int) -> tuple[Run, float]:
    """RRUL through PIE, and the mean latency over UDP while it is loaded, ms."""
    test = flent.flent_test("rrul_be", length_s=6, delay_s=1)
    links = flent.Network(rate="20mbit", qdisc="pie target 20ms tupdate 15ms", rtts=("10ms",))
    run = simulate(test.experiment(links, irtt=irtt), replication=replication, backend="kernel")
    found = []
    for probe in test.probes:
        if probe.kind == "udp":
            sent, rtt = probes(run, probe.probe)
            found.append(rtt[(sent > 2e9) & (sent < 7e9)].mean() / NS_PER_MS)
    return run, float(np.mean(found))


@pytest.mark.usefixtures("irtt")
def test_under_load_irtt_is_within_our_own_prober_s_seeds_and_repeats() -> None:
    own = [rrul(False, replication)[1] for replication in range(3)]
    again, _ = rrul(True, 1)
    theirs = [rrul(True, replication) for replication in range(3)]
    band = prediction_interval(own)
    assert band.contains(float(np.mean([latency for _, latency in theirs])))
    digests = [run.meta["digest"] for run, _ in theirs]
    assert again.meta["digest"] == digests[1]
    assert len(set(digests)) == 3
    assert len(theirs[0][0].meta["versions"]["irtt_sha256"]) == 64


@pytest.mark.usefixtures("irtt")
def test_a_session_that_cannot_be_opened_is_a_failed_run_that_says_so() -> None:
    probe = ping(kind="irtt", count=3)
    link = {**LINK, "loss": 1.0}
    with pytest.raises(Exception, match=r"irtt of ping ended with exit status: 1"):
        simulate(network(link=link, probes=[probe], duration="5s"), backend="kernel")
