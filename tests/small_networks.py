"""Small networks that several folders of tests run, as TOML."""

from __future__ import annotations


def home_line(
    duration: str, *, warm_up: str = "0s", rate: str = "10mbit", downloads: int = 2
) -> str:
    """Downloads over a line that is full, and a call beside them."""
    return f"""
name = "line"
duration = "{duration}"
warm_up = "{warm_up}"
[[links]]
a = "server"
b = "isp"
delay = "10ms"
[[links]]
a = "isp"
b = "home"
rate = "{rate}"
[[flows]]
name = "bulk"
count = {downloads}
from = "server"
to = "home"
start_jitter = "200ms"
source = {{ kind = "greedy" }}
[[probes]]
name = "call"
from = "home"
to = "server"
interval = "50ms"
"""


def sampled_queue(name: str, duration: str, link: str = 'qdisc = "pfifo limit 20"') -> str:
    """One TCP flow through a queue of which there are samples, and pings."""
    return f"""
name = "{name}"
duration = "{duration}"
sample_interval = "100ms"
links = [
    {{ a = "a", b = "router" }},
    {{ a = "router", b = "b", delay = "5ms", rate = "2mbit", {link} }},
]
[[flows]]
name = "bulk"
from = "a"
to = "b"
start_jitter = "10ms"
source = {{ kind = "greedy" }}
[[probes]]
name = "ping"
from = "a"
to = "b"
interval = "100ms"
"""
