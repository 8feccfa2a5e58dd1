"""Runs with captures, and Wireshark's tools where installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables import Run

NAME = "capture.pcapng"
QUEUE = "router->receiver"


def captured(qdisc: str = "pfifo limit 20", *, tcp: str = "{}", more: str = "") -> Run:
    """Two long flows, transfers, datagrams in fragments and pings through a queue that drops."""
    flow = 'from = "sender"\nto = "receiver"\ntransport = "tcp"'
    text = f"""
    duration = "8s"
    [[links]]
    a = "sender"
    b = "router"
    rate = "100mbit"
    delay = "15ms"
    [[links]]
    a = "router"
    b = "receiver"
    rate = "8mbit"
    delay = "20ms"
    qdisc = "{qdisc}"
    capture = true
    capture_flows = true
    {more}
    [[flows]]
    name = "long-1"
    {flow}
    tcp = {tcp}
    source = {{ kind = "greedy" }}
    [[flows]]
    name = "long-2"
    {flow}
    tcp = {tcp}
    source = {{ kind = "greedy" }}
    [[flows]]
    name = "transfers"
    {flow}
    tcp = {tcp}
    source = {{ kind = "closed_loop", size = "exponential 40kB", think = "exponential 0.1s" }}
    [[flows]]
    name = "datagrams"
    from = "sender"
    to = "receiver"
    source = {{ kind = "poisson", size = "constant 2500B", rate = "20pps" }}
    [[probes]]
    name = "ping"
    from = "sender"
    to = "receiver"
    interval = "200ms"
    """
    return simulate(Experiment.from_toml(text))


def capture_of(run: Run) -> Path:
    return run.files[NAME].path


def tool(name: str, *arguments: str) -> str:
    """What a program says; a skip where it is missing, with CI a failure."""
    if not shutil.which(name):
        words = f"{name} is not installed (Debian: apt-get install tshark tcptrace)"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)
    done = subprocess.run([name, *arguments], check=True, capture_output=True, text=True)
    return done.stdout
