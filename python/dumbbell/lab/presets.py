"""The experiments on every page of the laboratory."""

from __future__ import annotations

from functools import cache

from dumbbell.lab.experiments import LabExperiment
from dumbbell.spec import Experiment

_BUFFERBLOAT = """
name = "bufferbloat"
duration = "30s"
warm_up = "2s"
sample_interval = "100ms"

[[links]]
a = "server"
b = "router"

[[links]]
a = "router"
b = "home"
delay = "15ms"
rate = "20mbit"
qdisc = "pfifo limit 1000"

[[flows]]
name = "download"
count = 2
from = "server"
to = "home"
start_jitter = "1s"
source = { kind = "greedy" }

[[flows]]
name = "mice"
from = "server"
to = "home"
source = { kind = "arrivals", gap = "exponential 10pps", size = "exponential 30kB" }

[[flows]]
name = "on-off"
from = "server"
to = "home"
start_jitter = "1s"
source = { kind = "closed_loop", size = "exponential 500kB", think = "exponential 2s" }

[[flows]]
name = "stream"
from = "server"
to = "home"
source = { kind = "poisson", rate = "600pps", size = "exponential 1000B" }

[[probes]]
name = "call"
from = "home"
to = "server"
interval = "100ms"
"""

_BY_HAND = """
name = "by-hand"
duration = "8s"
warm_up = "1s"
sample_interval = "20ms"

[[links]]
a = "server"
b = "router"

[[links]]
a = "router"
b = "home"
delay = "30ms"
[links.forward]
rate = "5mbit"
qdisc = "pfifo limit 40"
changes = [{ at = "3s", rate = "2.5mbit" }, { at = "5.5s", rate = "5mbit" }]

[[flows]]
name = "download"
from = "server"
to = "home"
source = { kind = "greedy" }
"""

_UNFAIR = """
name = "rtt-unfairness"
duration = "60s"
warm_up = "10s"
sample_interval = "200ms"

[[links]]
a = "near"
b = "router"
delay = "2ms"

[[links]]
a = "far"
b = "router"
delay = "60ms"

[[links]]
a = "router"
b = "receiver"
delay = "5ms"
[links.forward]
rate = "20mbit"
qdisc = "pfifo limit 60"

[[flows]]
name = "near"
from = "near"
to = "receiver"
start_jitter = "100ms"
source = { kind = "greedy" }
tcp = { congestion_control = "reno" }

[[flows]]
name = "far"
from = "far"
to = "receiver"
start_jitter = "100ms"
source = { kind = "greedy" }
tcp = { congestion_control = "reno" }
"""

_SATELLITE = """
name = "satellite"
duration = "60s"
warm_up = "2s"
sample_interval = "200ms"

[[links]]
a = "server"
b = "gateway"
delay = "5ms"

[[links]]
a = "gateway"
b = "dish"
delay = "25ms"
[links.forward]
qdisc = "pfifo limit 400"

[links.forward.trace]
kind = "handover"
outage = "uniform 20ms 100ms"
least_rate = "5mbit"
most_rate = "30mbit"
least_delay = "20ms"
most_delay = "40ms"

[[flows]]
name = "download"
count = 2
from = "server"
to = "dish"
start_jitter = "1s"
source = { kind = "greedy" }

[[probes]]
name = "call"
from = "dish"
to = "server"
interval = "100ms"
"""

_BBR = """
name = "bbr-against-cubic"
duration = "30s"
warm_up = "5s"
sample_interval = "100ms"

[[links]]
a = "sender"
b = "router"

[[links]]
a = "router"
b = "receiver"
delay = "20ms"
[links.forward]
rate = "10mbit"
qdisc = "pfifo limit 34"

[[flows]]
name = "cubic"
from = "sender"
to = "receiver"
start_jitter = "100ms"
source = { kind = "greedy" }
tcp = { congestion_control = "cubic" }

[[flows]]
name = "bbr"
from = "sender"
to = "receiver"
start_jitter = "100ms"
source = { kind = "greedy" }
tcp = { congestion_control = "bbr" }

[[flows]]
name = "reno"
from = "sender"
to = "receiver"
start_jitter = "100ms"
source = { kind = "greedy" }
tcp = { congestion_control = "reno" }

[[probes]]
name = "ping"
from = "sender"
to = "receiver"
interval = "200ms"
"""

_INCAST = """
name = "incast"
duration = "2s"
sample_interval = "5ms"

[[links]]
a = "workers"
b = "switch"

[[links]]
a = "switch"
b = "client"
delay = "50us"
[links.forward]
rate = "1gbit"
qdisc = "pfifo limit 64"

[[flows]]
name = "answer"
count = 24
from = "workers"
to = "client"
start = "100ms"
start_jitter = "50us"
source = { kind = "sized", size = "256kb" }
"""

_POLICING = """
name = "policing"
duration = "20s"
warm_up = "4s"
sample_interval = "50ms"

[[links]]
a = "sender"
b = "router"

[[links]]
a = "router"
b = "receiver"
delay = "20ms"
[links.forward]
rate = "100mbit"
police = "police rate 10mbit burst 20kb drop"
qdisc = "pfifo limit 1000"

[[flows]]
name = "upload"
from = "sender"
to = "receiver"
source = { kind = "greedy" }
"""

_CAKE = """
name = "game-call-backup"
duration = "20s"
warm_up = "2s"
sample_interval = "100ms"

[[links]]
a = "nas"
b = "router"

[[links]]
a = "pc"
b = "router"

[[links]]
a = "phone"
b = "router"

[[links]]
a = "router"
b = "internet"
delay = "15ms"
forward = { rate = "10mbit", qdisc = "cake bandwidth 9500kbit diffserv4 dual-srchost" }

[[flows]]
name = "backup"
count = 8
from = "nas"
to = "internet"
start_jitter = "500ms"
source = { kind = "greedy" }

[[flows]]
name = "upload"
from = "pc"
to = "internet"
start_jitter = "500ms"
source = { kind = "greedy" }

[[probes]]
name = "game"
from = "pc"
to = "internet"
interval = "33ms"
payload = "60B"

[[probes]]
name = "call"
from = "phone"
to = "internet"
interval = "20ms"
payload = "172B"
dscp = 46
"""

_MM1 = """
name = "mm1"
duration = "300s"
warm_up = "20s"
sample_interval = "1s"

[[links]]
a = "sender"
b = "receiver"
[links.forward]
rate = "1mbit"
qdisc = "pfifo limit 1000000"

[[flows]]
name = "stream"
from = "sender"
to = "receiver"
source = { kind = "poisson", rate = "195pps", size = "exponential 512B" }
"""

_ABSENT = {
    "bufferbloat": ("mice", "on-off", "stream"),
    "bbr-against-cubic": ("reno",),
}
"""Flow groups with a count of zero until a user adds flows."""

_GROUP = "Experiments"
_CHOICE = (
    (
        "Bufferbloat",
        "A download fills the buffer and a call waits behind it. Make the buffer smaller, then "
        "choose fq_codel in its place: what happens to the call, and what to the download?",
        _BUFFERBLOAT,
    ),
    (
        "Be the controller",
        "You set the window of one download, and the link does not stay as fast as it is. Press "
        "Begin: keep the link full and the queue short, then see how CUBIC, BBR and Reno did.",
        _BY_HAND,
    ),
    (
        "Round-trip times that differ",
        "Two Reno flows share a link, one near and one far. Who gets more, and does it depend on "
        "the buffer? Try CUBIC for both.",
        _UNFAIR,
    ),
    (
        "A satellite link",
        "Every 15 s another satellite takes over: the link pauses, then has another rate (grey) "
        "and another delay. What happens to the call when the rate becomes less? Try BBR for the "
        "downloads, then fq_codel as the discipline.",
        _SATELLITE,
    ),
    (
        "BBR against CUBIC",
        "Who wins depends on the buffer. Move it from 5 packets to 500 and find where it flips.",
        _BBR,
    ),
    (
        "Incast",
        "Many workers answer at the same moment. How many fit into the switch's buffer before "
        "retransmission timeouts set in?",
        _INCAST,
    ),
    (
        "Policing",
        "A policer holds no packets: it drops. Change its burst from 5kb to 500kb and watch the "
        "window; then write none and put tbf rate 10mbit burst 20kb latency 50ms into the queue.",
        _POLICING,
    ),
    (
        "A game, a call and a backup behind cake",
        "A backup of eight connections shares an uplink with one upload of the player's computer, "
        "a game and a call with DSCP EF. Write flows for dual-srchost: what is left of the upload? "
        "Then choose fq_codel, and pfifo: who waits?",
        _CAKE,
    ),
    (
        "The M/M/1 queue",
        "Poisson arrivals at load 0.8. Push how often packets come until the load is 0.95: the "
        "mean time goes as 1 / (1 - load).",
        _MM1,
    ),
)


@cache
def presets() -> tuple[LabExperiment, ...]:
    """Return the presets; the first one is opened."""
    found = []
    for title, question, toml in _CHOICE:
        experiment = Experiment.from_toml(toml)
        changes = {f"flows[{flow}].count": 0 for flow in _ABSENT.get(experiment.name, ())}
        found.append(
            LabExperiment(
                experiment.name, title, question, experiment, changes=changes, group=_GROUP
            )
        )
    return tuple(found)
