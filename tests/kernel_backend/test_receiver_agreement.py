"""Acknowledgements behind a policer: the kernel's, each with its window and SACK blocks."""

from __future__ import annotations

import itertools
import os
import shutil
import statistics
import subprocess

import pytest

from dumbbell.backends import run_many
from dumbbell.spec import Experiment
from dumbbell.tables import Run

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel", "linux_6_1")]

STARTS = 8
FIELDS = ("tcp.ack", "tcp.window_size", "tcp.options.sack_le", "tcp.options.sack_re")
EXPERIMENT = Experiment.model_validate(
    {
        "seed": 1,
        "duration": "3s",
        "links": [
            {"a": "sender", "b": "router"},
            {
                "a": "router",
                "b": "receiver",
                "delay": "20ms",
                "forward": {
                    "rate": "100mbit",
                    "police": "police rate 10mbit burst 20kb drop",
                    "qdisc": "pfifo limit 1000",
                },
                "reverse": {"capture": True},
            },
        ],
        "flows": [
            {
                "name": "download",
                "from": "sender",
                "to": "receiver",
                "start_jitter": "1s",
                "source": {"kind": "greedy"},
                "tcp": {"congestion_control": "reno"},
            }
        ],
    }
)


@pytest.fixture(autouse=True)
def tshark() -> None:
    if shutil.which("tshark") is None:
        if os.environ.get("CI"):
            pytest.fail("missing: tshark. apt-get install tshark")
        pytest.skip("tshark is not installed (Debian: apt-get install tshark)")


def acknowledgements(run: Run) -> list[list[str]]:
    """Of the receiver, without its SYN: number, window, blocks."""
    words = [word for field in FIELDS for word in ("-e", field)]
    command = ["tshark", "-r", str(run.files["capture.pcapng"].path), "-Y", "tcp.flags.syn==0"]
    command += ["-T", "fields", "-e", "frame.interface_id", *words]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in printed.splitlines()]
    # The queue is seen twice, before and behind: the first time.
    return [row[1:] for row in rows if row[0] == "0"]


def test_the_first_acknowledgements_are_the_kernel_s() -> None:
    """Until an arrival and a timer come in another order: they are microseconds apart."""
    jobs = [(EXPERIMENT, start) for start in range(STARTS)]
    # They come as they end.
    ended = {backend: dict(run_many(jobs, backend=backend)) for backend in ("sim", "kernel")}
    runs = {
        backend: [acknowledgements(of[start]) for start in range(STARTS)]
        for backend, of in ended.items()
    }
    alike = [
        len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*both, strict=False))))
        for both in zip(*runs.values(), strict=True)
    ]
    assert min(alike) >= 20
    assert statistics.median(alike) >= 100
    # Windows are of many sizes by then, and blocks were told.
    told = runs["sim"][alike.index(max(alike))][: max(alike)]
    assert len({row[1] for row in told}) > 30
    assert any(row[2] for row in told)
