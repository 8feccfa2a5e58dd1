"""A short run of a Flent test and its data file."""

from __future__ import annotations

from functools import cache

import dumbbell
from dumbbell.formats.flent import FlentFile, flent_file
from dumbbell.spec import flent
from dumbbell.tables import Run

NETWORK = flent.Network(rate="20mbit", qdisc="pie target 20ms tupdate 15ms", rtts=("10ms",))
STREAMS = {"upload_streams": "3", "download_streams": "2", "burst_bandwidth": "30M"}


@cache
def run_of(name: str, length_s: int = 4, seed: int = 1) -> tuple[Run, flent.FlentTest]:
    """A run of a test in a small network."""
    test = flent.flent_test(name, length_s=length_s, delay_s=1, parameters=STREAMS)
    return dumbbell.simulate(test.experiment(NETWORK, seed=seed)), test


@cache
def file_of(name: str = "rrul", length_s: int = 4, seed: int = 1) -> FlentFile:
    """Its data file."""
    run, test = run_of(name, length_s, seed)
    return flent_file(run, test, title="pie t20")
