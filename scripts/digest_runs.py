"""The runs with recorded digests: short runs that together cover the whole simulator."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from dumbbell import _engine

ROOT = Path(__file__).resolve().parents[1]

_TYPED = {
    "pfifo": "pfifo limit 20",
    "bfifo": "bfifo limit 20000",
    "pfifo_fast": "pfifo_fast",
    "prio": "root handle 1: prio bands 3\nparent 1:2 pfifo limit 10",
    "ets": "root handle 1: ets bands 3 strict 1 quanta 3000 priomap 1 1 2 1 1 1 0\n"
    "parent 1:2 pfifo limit 12",
    "tbf": "tbf rate 2mbit burst 5kb limit 30kb",
    "htb": "root handle 1: htb default 10\n"
    "class add parent 1: classid 1:1 htb rate 3mbit\n"
    "class add parent 1:1 classid 1:10 htb rate 1mbit ceil 2mbit",
    "hfsc": "root handle 1: hfsc default 10\n"
    "class add parent 1: classid 1:1 hfsc ls m2 3mbit ul m2 3mbit\n"
    "class add parent 1:1 classid 1:10 hfsc sc m1 2mbit d 20ms m2 1mbit\n"
    "class add parent 1:1 classid 1:20 hfsc ls m2 2mbit\n"
    "filter add parent 1: protocol ip prio 1 u32 match ip protocol 6 0xff flowid 1:20",
    "drr": "root handle 1: drr\n"
    "class add parent 1: classid 1:1 drr quantum 3000\n"
    "class add parent 1: classid 1:2 drr\n"
    "filter add parent 1: protocol ip prio 1 u32 match ip protocol 6 0xff flowid 1:1\n"
    "filter add parent 1: prio 2 matchall flowid 1:2\n"
    "parent 1:1 pfifo limit 12",
    "netem": "netem delay 5ms 1ms loss 1% limit 100",
    "red": "red limit 60kb min 5kb max 15kb avpkt 1000 burst 10 probability 0.02 bandwidth 3mbit",
    "codel": "codel target 5ms interval 50ms",
    "fq": "fq maxrate 3mbit quantum 1514",
    "fq_codel": "fq_codel target 5ms interval 50ms",
    "cake": "cake bandwidth 3mbit overhead 18 mpu 64 rtt 50ms",
    "pie": "pie target 10ms",
    "dualpi2": "dualpi2 target 5ms step_thresh 500us",
    "fq_pie": "fq_pie target 10ms",
    "choke": "choke limit 100 bandwidth 3mbit min 2 max 8 burst 3",
    "sfb": "sfb target 6 increment 0.01 decrement 0.001",
    "sfq": "sfq perturb 1",
}
QUEUES: dict[str, str] = {
    each["name"]: each["short_example"] for each in json.loads(_engine.disciplines())
} | _TYPED
"""A tc line for each discipline of the table; its short example if none is given above."""

SOURCES: dict[str, str] = {each["kind"]: each["example"] for each in json.loads(_engine.sources())}
"""A source of each kind, from the example in its table."""

SET_OTHERWISE = {
    "netem reordering": "netem delay 10ms reorder 25% 50% gap 3 limit 100",
    "netem loss in runs": "netem loss 2% 25% duplicate 1% limit 100",
    "netem rate": "netem rate 2mbit 10 delay 2ms limit 50",
    "netem delay of a distribution": "netem delay 10ms 3ms 25% distribution normal limit 200",
    "netem gemodel": "netem loss gemodel 1% 20% 80% 0.1% limit 100",
    "netem damage": "netem delay 5ms corrupt 2% 25% limit 100",
    "netem slots": "netem delay 2ms slot 3ms 8ms packets 9 bytes 9000 limit 100",
    "netem slots of a distribution": "netem slot distribution pareto 5ms 1ms limit 100",
    "netem states": "netem loss state 1% 30% limit 100",
    "pie bytemode ecn": "pie target 10ms tupdate 8ms alpha 4 beta 30 bytemode ecn",
    "dualpi2 many words": "dualpi2 limit 40 memlimit 60000 target 5ms tupdate 8ms alpha 0.5 beta 5 "
    "any_ect overflow drop_enqueue step_thresh 3p min_qlen_step 1 coupling_factor 3 "
    "classic_protection 30",
    "pie limit": "pie limit 20 target 50ms",
    "codel ce_threshold": "codel ce_threshold 2ms limit 50 ecn",
    "fq_codel few flows": "fq_codel flows 2 quantum 300 limit 40 memory_limit 100kb",
    "cake many words": "cake bandwidth 2mbit diffserv4 dual-dsthost ingress wash atm "
    "overhead 44 memlimit 60kb metro",
    "cake unlimited": "cake unlimited precedence hosts memlimit 40kb",
    "fq_pie many words": "fq_pie flows 2 quantum 300 limit 40 target 5ms tupdate 8ms alpha 4 "
    "beta 30 ecn ecn_prob 50 bytemode dq_rate_estimator",
    "choke ecn": "choke limit 60 bandwidth 3mbit min 2 max 6 burst 3 probability 0.5 ecn",
    "sfb many words": "sfb rehash 700 db 300 limit 60 max 9 target 4 increment 0.05 "
    "decrement 0.002 penalty_rate 40 penalty_burst 5",
    "sfq red": "sfq redflowlimit 100000 min 3000 max 30000 probability 0.2 ecn headdrop",
    "sfq few flows": "sfq flows 2 divisor 2 depth 20 limit 30 quantum 300 headdrop",
    "red ecn harddrop": "red limit 60kb min 5kb max 15kb avpkt 1000 burst 10 probability 0.1 "
    "bandwidth 3mbit ecn harddrop",
    "red adaptive": "red limit 60kb min 5kb max 15kb avpkt 1000 burst 10 probability 0.02 "
    "bandwidth 3mbit adaptive",
    "tbf peakrate": "tbf rate 2mbit burst 20kb latency 50ms peakrate 4mbit mtu 1600",
    "tbf with fq_codel": "root handle 1: tbf rate 2mbit burst 5kb limit 30kb\n"
    "parent 1:1 fq_codel target 5ms",
    "htb prio ceil": "root handle 1: htb default 20\n"
    "class add parent 1: classid 1:10 htb rate 500kbit ceil 3mbit prio 0\n"
    "class add parent 1: classid 1:20 htb rate 2mbit ceil 2500kbit prio 1 quantum 3000\n"
    "parent 1:20 codel",
}
"""Disciplines with unusual settings."""

KNOBS = {
    "reno": (
        "sack = false",
        "rack = true",
        "timestamps = false",
        "delayed_ack = false",
        "ack_every = 8",
        "pacing = true",
        'prr = "rfc6937"',
        "initial_window = 3",
        'min_rto = "50ms"',
        'send_buffer = "40kb", receive_window = "20kb"',
    ),
    "cubic": (
        "sack = false",
        "rack = false",
        "timestamps = false",
        "delayed_ack = false",
        "ack_every = 8",
        "pacing = true",
        "hystart = false",
        'prr = "rfc9937"',
        "initial_window = 30",
        'min_rto = "50ms"',
        'send_buffer = "40kb", receive_window = "20kb"',
    ),
    "bbr": (
        "sack = false",
        "rack = false",
        "timestamps = false",
        "ack_every = 8",
        "initial_window = 3",
        'min_rto = "50ms"',
        'send_buffer = "40kb", receive_window = "20kb"',
    ),
    "bbr3": (
        "sack = false",
        "rack = false",
        "initial_window = 3",
        "ack_every = 8",
        'send_buffer = "40kb", receive_window = "20kb"',
    ),
    "manual": (
        'cwnd_changes = [{ at = "1s", cwnd = 40 }, { at = "2s", cwnd = 4 }, '
        '{ at = "3s", cwnd = 200 }]',
        'cwnd_changes = [{ at = "0s", cwnd = 25 }], pacing = true',
        "sack = false",
        "initial_window = 30",
    ),
    "scalable": (
        "sack = false",
        "delayed_ack = false",
        "initial_window = 3",
    ),
    "vegas": (
        "sack = false",
        "timestamps = false",
        "delayed_ack = false",
    ),
    "illinois": (
        "sack = false",
        "delayed_ack = false",
        'min_rto = "50ms"',
    ),
    "ledbat++": (
        "sack = false",
        "delayed_ack = false",
        "initial_window = 3",
    ),
    "prague": (
        "sack = false",
        "delayed_ack = false",
        "initial_window = 3",
    ),
    "westwood": (
        "sack = false",
        "timestamps = false",
        "delayed_ack = false",
    ),
    "htcp": (
        "sack = false",
        "delayed_ack = false",
        "pacing = true",
    ),
    "highspeed": (
        "sack = false",
        "delayed_ack = false",
        "initial_window = 3",
    ),
    "dctcp": (
        "ecn = true",
        "ecn = true, ack_every = 8",
        "sack = false",
    ),
}
"""TCP options of a flow by controller."""

LINKS = {
    "loss": 'qdisc = "pfifo limit 30", loss = 0.01',
    "every hundredth lost": 'qdisc = "pfifo limit 30", loss_every = 100',
    "changes": 'qdisc = "pfifo limit 30", changes = [{ at = "1s", rate = "1mbit" }, '
    '{ at = "2s", delay = "40ms" }, { at = "3s", loss = 0.05 }]',
    "small mtu": 'qdisc = "pfifo limit 30", mtu = "576B"',
    "overhead": 'qdisc = "pfifo limit 30", overhead = "wire"',
    "records": 'qdisc = "codel", record_packets = true',
    "policer and queue": 'police = "police rate 1mbit burst 5kb drop", qdisc = "pfifo limit 9"',
}
"""Further links."""

TRACES = {
    "on-off": 'kind = "on-off", rate = "6mbit", on = "exponential 300ms", off = "50ms"',
    "markov": 'kind = "markov", states = [{ hold = "exponential 200ms", rate = "5mbit", '
    'loss = 0.01 }, { hold = "exponential 80ms", rate = "1mbit", delay = "15ms" }]',
    "handover": 'kind = "handover", every = "1s", outage = "uniform 20ms 90ms", '
    'least_rate = "1mbit", most_rate = "8mbit", least_delay = "2ms", most_delay = "9ms"',
    "aggregation": 'kind = "aggregation", gap = "exponential 5ms", size = "3kB"',
}
"""A link that follows a trace of each kind."""

_USUAL_KNOBS = ("sack = false", "delayed_ack = false", "initial_window = 3")
"""Options of a controller that has none above."""
CONTROLLERS = (*KNOBS, *(each for each in _engine.congestion_controllers() if each not in KNOBS))
BOTTLENECK = 'qdisc = "pfifo limit 25"'
BOTTLENECKS = {
    # Differs from Reno only later than a second after a loss.
    "htcp": 'qdisc = "pfifo limit 150"',
    # Without marks it equals Reno.
    "dctcp": 'qdisc = "codel target 1s interval 1s ce_threshold 5ms limit 100 ecn"',
    "prague": 'qdisc = "dualpi2 limit 100"',
}
"""Queues in which a controller differs from others."""
PROFILES = ("linux-6.1", "rfc")

_NETWORK = """
duration = "5s"
sample_interval = "100ms"
links = [
  {{ a = "client", b = "router", forward = {{ {first} }} }},
  {{ a = "router", b = "server", delay = "10ms", forward = {{ {rate}{end} }} }},
]
[[flows]]
name = "flow"
from = "client"
to = "server"
source = {source}
{tcp}
[[flows]]
name = "beside"
from = "client"
to = "server"
source = {{ kind = "poisson", rate = "60pps", size = "exponential 700B" }}
[[probes]]
name = "ping"
from = "client"
to = "server"
interval = "100ms"
start_jitter = "100ms"
"""


def network(
    end: str = 'qdisc = "pfifo limit 30"',
    source: str = SOURCES["greedy"],
    tcp: str = "",
    first: str = "",
    rate: str = 'rate = "3mbit", ',
) -> str:
    """Return a client, a router and a server, as TOML; `first` is the client's queue."""
    return _NETWORK.format(end=end, source=source, tcp=tcp, first=first, rate=rate)


def is_simulated(path: Path) -> bool:
    """Return whether the simulator runs an example: external programs run on the kernel only."""
    return "programs" not in tomllib.loads(path.read_text(encoding="utf-8"))


def descriptions() -> dict[str, str | Path]:
    """Return every run of the set by name: its file, or its TOML."""
    runs: dict[str, str | Path] = {
        f"example {path.stem}": path
        for path in sorted((ROOT / "examples").glob("*.toml"))
        if is_simulated(path)
    }
    for kind, words in QUEUES.items():
        runs[f"queue {kind}"] = network(end=f"qdisc = '''{words}'''")
    runs["policer"] = network(end='police = "police rate 2mbit burst 20kb drop"')
    for name, words in SET_OTHERWISE.items():
        runs[f"queue {name}"] = network(end=f"qdisc = '''{words}'''")
    for name, end in LINKS.items():
        runs[f"link {name}"] = network(end)
    for kind, law in TRACES.items():
        end = f'qdisc = "pfifo limit 30", trace = {{ {law} }}'
        runs[f"trace {kind}"] = network(end, rate="")
    for kind, source in SOURCES.items():
        runs[f"source {kind}"] = network(source=source)
    for controller in CONTROLLERS:
        bottleneck = BOTTLENECKS.get(controller, BOTTLENECK)
        for profile in PROFILES:
            tcp = f'tcp = {{ congestion_control = "{controller}", profile = "{profile}" }}'
            runs[f"controller {controller} {profile}"] = network(bottleneck, tcp=tcp)
        profile = "rfc" if controller == "reno" else "linux-6.1"
        for knob in KNOBS.get(controller, _USUAL_KNOBS):
            tcp = f'congestion_control = "{controller}", profile = "{profile}", {knob}'
            end = f"{bottleneck}, loss_every = 300"
            runs[f"{controller} {knob}"] = network(end, tcp=f"tcp = {{ {tcp} }}")
    for words in ("true", "false"):
        end = 'rate = "3mbit", qdisc = "pfifo limit 100"'
        runs[f"small_queues = {words}"] = network(
            'qdisc = "pfifo limit 25"', tcp=f"tcp = {{ small_queues = {words} }}", first=end
        )
    runs["small writes"] = network(
        'qdisc = "pfifo limit 25"',
        '{ kind = "poisson", rate = "600pps", size = "500B" }',
        'transport = "tcp"',
        'rate = "3mbit", qdisc = "pfifo limit 100"',
    )
    runs["first write"] = network(
        source='{ kind = "greedy", first_write = "37B", rest_after = "60ms" }'
    )
    runs["writes of one size"] = network(
        'qdisc = "pfifo limit 25"', source='{ kind = "greedy", write_size = "700B" }'
    )
    runs["ecn"] = network(
        'qdisc = "codel target 5ms interval 50ms ecn"', tcp="tcp = { ecn = true }"
    )
    runs["ecn accurate"] = network(
        'qdisc = "codel target 5ms interval 50ms ecn"', tcp='tcp = { ecn = "accurate" }'
    )
    runs["ecn option"] = network(
        'qdisc = "codel target 5ms interval 50ms ecn"',
        tcp='tcp = { ecn = "accurate", ecn_option = "full" }',
    )
    return runs
