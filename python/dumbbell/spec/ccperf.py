"""Conversion of the command line of CCPerf's traffic policing experiment.

Its options are those that its pages print (ccperf.net, "Traffic Policing Experiment"), values as
ns-3 writes them: ``4Mbps``, ``20p``, ``15ms``, lists with commas. Parameters that the pages do not
give are chosen so that ns-3 3.37 gives the published 120 drops and one timeout. These two numbers
are therefore not evidence; the study `traffic_policing` also runs all other combinations:

| open | taken |
| --- | --- |
| access links | 10 Gbit/s, no delay |
| propagation | all of it behind the bottleneck, half each way |
| burst of the token bucket | 125000 B, ns-3's default |
| queue | in the token bucket, packets (`--qlen`) |
| retransmission timeout | at least 1 s, as a whole |
| acknowledgements | of every segment |
| send buffer | 4 MB, full |
| link overhead | 2 bytes (PPP) |
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from dumbbell.errors import SpecError
from dumbbell.spec.experiment import Experiment
from dumbbell.spec.refusal import nearest, one_of

CONTROLLERS: Mapping[str, str] = MappingProxyType(
    {"TcpNewReno": "reno", "TcpLinuxReno": "reno", "TcpCubic": "cubic", "TcpBbr": "bbr"}
)
"""ns-3's name to Linux's. TcpLinuxReno differs from TcpNewReno in the window's arithmetic only."""
BOTTLENECK = "router_1->router_2"
BURST_BYTES = 125_000
FRAME_BYTES = 1514
"""The largest on an Ethernet: with less a second bucket would drop every full frame."""
NO_EFFECT: Mapping[str, str] = MappingProxyType(
    {
        "--bw": "the policed bottleneck has a policing rate and a peak rate; nothing runs at this",
        "--aut": "a label: --algs says what each flow runs",
        "--parameters": "a label: the options of these names say the same",
    }
)
"""Options without effect, with the reason."""

SOURCE_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "profile": "rfc",
        "prr": "rfc6937",
        "delayed_ack": False,
        "min_rto": "1s",
        "send_buffer": "4000000B",
    }
)
"""TCP as the source's tables come out; PRR as before ns-3 3.43."""

_RATE = re.compile(r"(\d+(?:\.\d+)?)([kKMG]?)(?:bps|b/s|bit/s)")
_RATE_FACTOR = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
_TIME = re.compile(r"(\d+(?:\.\d+)?)(s|ms|us|ns)")
_PER_S = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_PACKETS = re.compile(r"([1-9]\d*)p")
_GREEDY = re.compile(r"Greedy\(bytes=(\d+)\)")
_AT_A_RATE = re.compile(r"(CBR|Poisson)\(bytes=0,\s*rate=([^)]+)\)")
_COMMA = re.compile(r",(?![^(]*\))")
"""Between the values of a list, not between the arguments of one."""
SEGMENT_BYTES = 1448
"""Payload that is written at once by a source with a rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicedFlow:
    """A flow through the policed bottleneck.

    Attributes:
        source: Host that sends.
        destination: Host that receives.
        rtt_ns: Propagation there and back.
        start_ns: When it starts.
        stop_ns: When it stops.
        size_bytes: Payload; 0 for as much as goes.
        rate_bps: Payload written a second; 0 for as much as goes.
        gaps: Between segments written at that rate: ``cbr`` (constant) or ``poisson``.
        tcp: Its settings, as a table ``tcp`` of an experiment's file.
        start_jitter_ns: Latest random delay of the start.
    """

    source: str = "src_0"
    destination: str = "dst_0"
    rtt_ns: int = 15_000_000
    start_ns: int = 0
    stop_ns: int = 15_000_000_000
    size_bytes: int = 0
    rate_bps: int = 0
    gaps: str = "cbr"
    tcp: Mapping[str, Any]
    start_jitter_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Policing:
    """The experiment: flows from hosts of their own through one policed bottleneck.

    Attributes:
        name: Of the experiment.
        flows: One for each pair of hosts.
        policing_rate_bps: Of the token bucket.
        peak_rate_bps: Of its second bucket.
        burst_bytes: What the first holds.
        access_rate: Of each sender's own link, as typed to tc.
        queue_pkts: Packets that may wait for tokens.
        loss: Probability of loss behind the bottleneck.
        stop_ns: Length of the run.
        seed: All randomness follows from it.
        overhead: Of every link: ``ppp`` as in the source, ``ethernet`` for Linux.
        sample_interval: Between samples; several rows of the tables depend on it.
        record_packets: Whether to keep every packet at the senders' links and the bottleneck.
        bottleneck: What the bottleneck has in place of the token bucket; keys of a link end.
    """

    name: str = "traffic_policing"
    flows: tuple[PolicedFlow, ...]
    policing_rate_bps: int = 4_000_000
    peak_rate_bps: int = 1_000_000_000
    burst_bytes: int = BURST_BYTES
    access_rate: str = "10gbit"
    queue_pkts: int = 20
    loss: float = 0.0
    stop_ns: int = 15_000_000_000
    seed: int = 42
    overhead: str = "ppp"
    sample_interval: str = "100ms"
    record_packets: bool = True
    bottleneck: Mapping[str, Any] | None = None

    def qdisc(self) -> str:
        """The token bucket and its queue, as typed to tc."""
        limit = self.queue_pkts * FRAME_BYTES
        return (
            f"root handle 1: tbf rate {self.policing_rate_bps}bit burst {self.burst_bytes}b "
            f"peakrate {self.peak_rate_bps}bit mtu {FRAME_BYTES}b limit {limit}b ; "
            f"parent 1:1 handle 10: pfifo limit {self.queue_pkts}"
        )

    def experiment(self) -> Experiment:
        """Convert to an experiment.

        Raises:
            SpecError: A value is out of its range, or the rates are in the wrong order.
        """
        end = dict(self.bottleneck or {"qdisc": self.qdisc()})
        recorded = {"record_packets": self.record_packets}
        forward = {**recorded, "loss": self.loss, **end}
        links: list[dict[str, Any]] = [{"a": "router_1", "b": "router_2", "forward": forward}]
        for flow in self.flows:
            access = {"rate": self.access_rate, "forward": recorded, "reverse": recorded}
            links.append({"a": flow.source, "b": "router_1", **access})
            delay = f"{flow.rtt_ns // 2}ns"
            links.append({"a": "router_2", "b": flow.destination, "delay": delay})
        for link in links:
            link["overhead"] = self.overhead
        return Experiment.read(
            {
                "name": self.name,
                "duration": f"{self.stop_ns}ns",
                "sample_interval": self.sample_interval,
                "seed": self.seed,
                "links": links,
                "flows": [_flow(number, flow) for number, flow in enumerate(self.flows, start=1)],
            }
        )


def _flow(number: int, flow: PolicedFlow) -> dict[str, Any]:
    return {
        "name": f"flow_{number}",
        "from": flow.source,
        "to": flow.destination,
        "start": f"{flow.start_ns}ns",
        "stop": f"{flow.stop_ns}ns",
        "start_jitter": f"{flow.start_jitter_ns}ns",
        "tcp": dict(flow.tcp),
        "source": _source(flow),
    }


def _source(flow: PolicedFlow) -> dict[str, Any]:
    if flow.size_bytes:
        return {"kind": "sized", "size": f"{flow.size_bytes}B"}
    if not flow.rate_bps:
        return {"kind": "greedy"}
    size = f"{SEGMENT_BYTES}B" if flow.gaps == "cbr" else f"constant {SEGMENT_BYTES}B"
    return {"kind": flow.gaps, "rate": f"{flow.rate_bps / (8 * SEGMENT_BYTES)!r}pps", "size": size}


def read_command(options: Mapping[str, str]) -> tuple[Policing, dict[str, str]]:
    """Parse a command line of CCPerf.

    Args:
        options: ``--name`` to its value as typed; all that `OPTIONS` names and has no default.

    Returns:
        The experiment, and the options that have no effect, each with the reason.

    Raises:
        SpecError: An option is not known, is missing, or has a value that is not allowed.
    """
    for name in options:
        if name not in OPTIONS:
            raise SpecError(
                name, options[name], one_of(tuple(OPTIONS)), nearest(name, tuple(OPTIONS))
            )
    given = {**{key: value for key, value in OPTIONS.items() if value is not None}, **options}
    for name in OPTIONS:
        if name not in given:
            raise SpecError(name, "nothing", "a value: it has no default")
    policing = Policing(
        name=given["--experiment-name"],
        flows=_flows(given),
        policing_rate_bps=_rate(given, "--policing-rate"),
        peak_rate_bps=_rate(given, "--peak-rate"),
        queue_pkts=_packets(given, "--qlen"),
        loss=_probability(given, "--loss"),
        stop_ns=_time_ns("--stop-time", given["--stop-time"]),
        seed=_whole(given, "--seed"),
    )
    _only(given, "--qdisc", ("FifoQueueDisc",))
    return policing, {name: why for name, why in NO_EFFECT.items() if name in options}


OPTIONS: Mapping[str, str | None] = MappingProxyType(
    {
        "--experiment-name": "traffic_policing",
        "--db-path": "",
        "--parameters": "",
        "--aut": "",
        "--stop-time": "15s",
        "--seed": "42",
        "--policing-rate": None,
        "--peak-rate": None,
        "--bw": "16Mbps",
        "--loss": "0.0",
        "--qlen": "20p",
        "--qdisc": "FifoQueueDisc",
        "--rtts": "15ms",
        "--sources": "src_0",
        "--destinations": "dst_0",
        "--protocols": "TCP",
        "--algs": None,
        "--recoveries": "TcpPrrRecovery",
        "--start-times": "0s",
        "--stop-times": "15s",
        "--traffic-models": "Greedy(bytes=0)",
    }
)
"""Every option to what it is when left out; None for one that must be given."""

_LISTS = (
    "--sources",
    "--destinations",
    "--protocols",
    "--algs",
    "--recoveries",
    "--rtts",
    "--start-times",
    "--stop-times",
    "--traffic-models",
)


def _flows(given: Mapping[str, str]) -> tuple[PolicedFlow, ...]:
    lists = {name: [each.strip() for each in _COMMA.split(given[name])] for name in _LISTS}
    count = len(lists["--sources"])
    for name, values in lists.items():
        if len(values) == 1:
            # One value stands for all flows, hosts apart.
            lists[name] = values * (1 if name in ("--sources", "--destinations") else count)
        if len(lists[name]) != count:
            raise SpecError(name, given[name], f"{count} values, one for each of --sources")
    flows = []
    for place in range(count):
        at = {name: values[place] for name, values in lists.items()}
        _only(at, "--protocols", ("TCP",))
        _only(at, "--recoveries", ("TcpPrrRecovery",))
        _only(at, "--algs", tuple(CONTROLLERS))
        flows.append(
            PolicedFlow(
                source=at["--sources"],
                destination=at["--destinations"],
                rtt_ns=_time_ns("--rtts", at["--rtts"]),
                start_ns=_time_ns("--start-times", at["--start-times"]),
                stop_ns=_time_ns("--stop-times", at["--stop-times"]),
                **_traffic(at["--traffic-models"]),
                tcp={**SOURCE_SETTINGS, "congestion_control": CONTROLLERS[at["--algs"]]},
            )
        )
    return tuple(flows)


def _traffic(text: str) -> dict[str, Any]:
    if found := _GREEDY.fullmatch(text):
        return {"size_bytes": int(found[1])}
    if found := _AT_A_RATE.fullmatch(text):
        rate = _rate({"--traffic-models": found[2]}, "--traffic-models")
        return {"rate_bps": rate, "gaps": found[1].lower()}
    allowed = "Greedy(bytes=N), CBR(bytes=0,rate=1Mbps) or Poisson(bytes=0,rate=1Mbps)"
    raise SpecError("--traffic-models", text, allowed)


def _only(given: Mapping[str, str], name: str, allowed: Sequence[str]) -> None:
    if given[name] not in allowed:
        raise SpecError(name, given[name], one_of(allowed), nearest(given[name], allowed))


def _rate(given: Mapping[str, str], name: str) -> int:
    found = _RATE.fullmatch(given[name])
    if not found:
        raise SpecError(name, given[name], "a rate such as 4Mbps")
    return int(Fraction(found[1]) * _RATE_FACTOR[found[2]])


def _time_ns(name: str, text: str) -> int:
    found = _TIME.fullmatch(text)
    if not found:
        raise SpecError(name, text, "a time such as 15ms")
    return int(Fraction(found[1]) * 10**9 / _PER_S[found[2]])


def _packets(given: Mapping[str, str], name: str) -> int:
    found = _PACKETS.fullmatch(given[name])
    if not found:
        raise SpecError(name, given[name], "packets, such as 20p")
    return int(found[1])


def _probability(given: Mapping[str, str], name: str) -> float:
    try:
        value = float(given[name])
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise SpecError(name, given[name], "a probability from 0 to 1")
    return value


def _whole(given: Mapping[str, str], name: str) -> int:
    if not given[name].isascii() or not given[name].isdecimal():
        raise SpecError(name, given[name], "a whole number, 0 or more")
    return int(given[name])
