"""The experiment that the page fills with the numbers of a measured line (``page/own_line.js``).

The network is that of `dumbbell.twin.line`: the second link is the line, forward is down.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from dumbbell.spec import Experiment

_OWN_LINE = """
name = "own-line"
duration = "30s"
warm_up = "5s"
sample_interval = "100ms"

[[links]]
a = "server"
b = "isp"
delay = "10ms"

[[links]]
a = "isp"
b = "modem"
forward = { rate = "10mbit", qdisc = "bfifo limit 125kb" }
reverse = { rate = "10mbit", qdisc = "bfifo limit 125kb" }

[[links]]
a = "router"
b = "modem"
rate = "10gbit"

[[links]]
a = "router"
b = "laptop"
rate = "10gbit"

[[flows]]
name = "upload"
count = 1
from = "laptop"
to = "server"
start = "2s"
start_jitter = "50ms"
source = { kind = "greedy" }

[[flows]]
name = "download"
count = 1
from = "server"
to = "laptop"
start = "2s"
start_jitter = "50ms"
source = { kind = "greedy" }

[[probes]]
name = "ping"
from = "laptop"
to = "server"
interval = "100ms"
"""


@cache
def own_line() -> dict[str, Any]:
    """Return the resolved description."""
    return Experiment.from_toml(_OWN_LINE).resolved()
