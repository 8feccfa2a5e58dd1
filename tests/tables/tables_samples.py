"""A run with every table filled: overload, fragments, loss, pings, records."""

from __future__ import annotations

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables import Run

TOML = """
name = "every-table"
duration = "5s"
warm_up = "1s"
sample_interval = "500ms"
record_writes = true
[[links]]
a = "sender"
b = "router"
forward.qdisc = "cake unlimited"
reverse.qdisc = "sfb"
[[links]]
a = "router"
b = "receiver"
forward.rate = "1mbit"
forward.qdisc = "pfifo limit 20"
forward.loss = 0.05
forward.record_packets = true
forward.capture_flows = true
reverse.qdisc = "sfq redflowlimit 100000"
[[flows]]
name = "stream"
from = "sender"
to = "receiver"
source = { kind = "ditg", gap = "exponential 300pps", size = "exponential 700B" }
[[flows]]
name = "silent"
from = "receiver"
to = "sender"
start = "4s"
source = { kind = "cbr", rate = "1pps", size = "100B" }
[[probes]]
name = "ping"
from = "sender"
to = "receiver"
interval = "100ms"
"""


def experiment() -> Experiment:
    return Experiment.from_toml(TOML)


def every_table() -> Run:
    return simulate(experiment())
