"""A test of Flent on the real kernel: the same file, filled by the same rules."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from dumbbell.backends import simulate
from dumbbell.formats.flent import FlentFile, flent_file, read_flent, write_flent
from dumbbell.spec import flent

pytestmark = pytest.mark.kernel

NETWORK = flent.Network(rate="20mbit", qdisc="pie target 20ms tupdate 15ms", rtts=("10ms",))
TEST = flent.flent_test("rrul", length_s=8, delay_s=1)


def file_of(backend: str) -> FlentFile:
    run = simulate(TEST.experiment(NETWORK), backend=backend)
    return flent_file(run, TEST, title=backend)


@pytest.fixture(scope="module")
def on_kernel(kernel: Path) -> FlentFile:
    del kernel
    return file_of("kernel")


def loaded(file: FlentFile, series: str) -> list[float]:
    values = zip(file.x_values, file.results[series], strict=True)
    return [value for x, value in values if value is not None and 3 < x <= 9]


def test_every_series_has_data(on_kernel: FlentFile, tmp_path: Path) -> None:
    assert read_flent(write_flent(on_kernel, tmp_path / "a.flent.gz")) == on_kernel
    simulated = file_of("sim")
    # The kernel says a pacing rate of every flow, the simulator of those that pace.
    more = on_kernel.results.keys() - simulated.results.keys()
    assert {name.rpartition("::")[2] for name in more} <= {"tcp_pacing_rate"}
    for series, values in simulated.results.items():
        there = sum(value is not None for value in on_kernel.results[series])
        assert there >= 0.9 * sum(value is not None for value in values), series


def test_it_fills_the_link(on_kernel: FlentFile) -> None:
    """20 Mbit/s hold 1448 of 1514 bytes, less acknowledgements of the other way."""
    for way in ("upload", "download"):
        assert 15.5 < statistics.mean(loaded(on_kernel, f"TCP {way} sum")) < 19.2
    # PIE has had eight seconds to come down to its target of 20 ms from slow start.
    assert 10 < statistics.mean(loaded(on_kernel, "qdisc_stats_router::delay")) < 70
    assert sum(loaded(on_kernel, "qdisc_stats_router::dropped")) > 0
    assert min(loaded(on_kernel, "TCP upload BE::tcp_cwnd")) >= 1


@pytest.mark.usefixtures("linux_6_1")
def test_pings_wait_as_long_as_on_linux_6_1(on_kernel: FlentFile) -> None:
    assert 25 < statistics.median(loaded(on_kernel, "Ping (ms) ICMP")) < 110
