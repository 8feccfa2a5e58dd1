"""Commands that generate the traffic on a testbed: ITGRecv, ITGSend, iperf3, ping.

Greedy TCP flows and single transfers use iperf3 (iperf3(1): ``-C`` congestion
control, ``-n`` bytes, ``-t`` seconds, ``-S`` traffic class, ``-w`` socket buffers).

Options of ITGSend as in the D-ITG 2.8.1 manual, section 3.2: rates in packets/s for constant,
uniform and exponential gaps, milliseconds for the parameters of the others, bytes for sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.spec.source_forms import FORMS

DEFAULT_PORT = 8999
FIRST_IPERF3_PORT = 5201
DEFAULT_ECHO_PAYLOAD_BYTES = 56
_ECN_BITS = {"not-ect": 0b00, "ect1": 0b01, "ect0": 0b10}  # RFC 3168 section 5
_NOT_OF_ITGSEND = {
    kind: form.why_nothing for kind, form in FORMS.items() if form.program != "itgsend"
}
_OPTION = {
    "constant": "c",
    "uniform": "u",
    "exponential": "e",
    "normal": "n",
    "pareto": "v",
    "gamma": "g",
    "weibull": "w",
}


def receiver_lines(resolved: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A receiver on each destination host of a flow."""
    receivers = {flow["to"] for flow in resolved["flows"] if _options(flow)}
    ports = _iperf3_ports(resolved)
    for host in resolved["hosts"]:
        if host["name"] in receivers:
            yield host["name"], "ITGRecv"
    for flow in resolved["flows"]:
        if flow["name"] in ports:
            yield flow["to"], f"iperf3 -s -D -p {ports[flow['name']]}"
    servers = {probe["to"]: None for probe in resolved["probes"] if probe["kind"] == "irtt"}
    for host in servers:
        yield host, "irtt server -i 0 &"  # no least interval


def traffic_lines(resolved: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Commands that send: flows, then pings."""
    ports: dict[tuple[str, str], int] = {}
    iperf3_ports = _iperf3_ports(resolved)
    for flow in resolved["flows"]:
        pair = (flow["from"], flow["to"])
        options = _options(flow)
        for note in _notes(flow):
            yield flow["from"], f"# {flow['name']}: {note}"
        if options:
            # Flows between the same two hosts need different ports.
            ports[pair] = ports.get(pair, DEFAULT_PORT - 1) + 1
            yield flow["from"], _itgsend(flow, options, ports[pair], resolved["duration_ns"])
        elif flow["name"] in iperf3_ports:
            port = iperf3_ports[flow["name"]]
            yield flow["from"], _iperf3(flow, port, resolved["duration_ns"])
    for probe in resolved["probes"]:
        if probe["start_jitter_ns"]:
            yield probe["from"], f"# {probe['name']}: {_jitter(probe)}"
        if probe["kind"] == "udp":
            note = "echoes of UDP datagrams; irtt or netperf's UDP_RR measure them"
            yield probe["from"], f"# {probe['name']}: {note}"
        elif probe["kind"] == "irtt":
            yield probe["from"], _irtt(probe, resolved["duration_ns"])
        else:
            yield probe["from"], _ping(probe, resolved["duration_ns"])


def _iperf3_ports(resolved: Mapping[str, Any]) -> dict[str, int]:
    """Names of the flows sent by iperf3, each with its own port: a server accepts one client at a
    time."""
    flows = [flow for flow in resolved["flows"] if _is_iperf3(flow)]
    return {flow["name"]: FIRST_IPERF3_PORT + index for index, flow in enumerate(flows)}


def _is_iperf3(flow: Mapping[str, Any]) -> bool:
    return FORMS[flow["source"]["kind"]].program == "iperf3"


def _iperf3(flow: Mapping[str, Any], port: int, duration_ns: int) -> str:
    source, tcp = flow["source"], flow["tcp"]
    parts = [f"iperf3 -c {flow['to']} -p {port} -C {tcp['congestion_control']}"]
    if source["kind"] == "sized":
        parts.append(f"-n {source['bytes']}")
    else:
        active_ns = min(flow["stop_ns"], duration_ns) - flow["start_ns"]
        parts.append(f"-t {_number(active_ns / 1e9)}")
    if tcp["send_buffer_bytes"]:
        parts.append(f"-w {tcp['send_buffer_bytes']}")
    if write_bytes := flow["source"].get("write_size_bytes"):
        parts.append(f"-l {write_bytes}")
    byte = _traffic_class(flow)
    if byte:
        parts.append(f"-S {byte}")
    wait = f"sleep {_number(flow['start_ns'] / 1e9)}; " if flow["start_ns"] else ""
    return wait + " ".join(parts)


def _itgsend(flow: Mapping[str, Any], options: str, port: int, duration_ns: int) -> str:
    active_ns = min(flow["stop_ns"], duration_ns) - flow["start_ns"]
    transport = flow["transport"].upper()
    parts = [f"ITGSend -a {flow['to']} {options} -T {transport} -t {_number(active_ns / 1e6)}"]
    if flow["start_ns"]:
        parts.append(f"-d {_number(flow['start_ns'] / 1e6)}")
    if port != DEFAULT_PORT:
        parts.append(f"-rp {port}")
    byte = _traffic_class(flow)
    if byte:
        parts.append(f"-b {byte}")
    return " ".join(parts)


def _options(flow: Mapping[str, Any]) -> str:
    """Gap and size as options of ITGSend; empty if ITGSend does not support them."""
    source = flow["source"]
    if source["kind"] in _NOT_OF_ITGSEND:
        return ""
    gap, size = _gap_option(source["gap"]), _size_option(source["size"])
    return f"{gap} {size}" if gap and size else ""


def _gap_option(law: Mapping[str, Any]) -> str:
    letter = _OPTION.get(law["law"], "").upper()
    match law["law"]:
        case "exponential" | "constant":
            mean_s = law.get("mean", law.get("value", 0.0))
            return f"-{letter} {_number(1.0 / mean_s)}"
        case "uniform":
            # A uniform gap is given by two rates; with a shortest gap of zero there is no highest
            # rate.
            if law["low"] == 0:
                return ""
            return f"-{letter} {_number(1.0 / law['high'])} {_number(1.0 / law['low'])}"
        case "normal":
            return f"-{letter} {_number(1e3 * law['mean'])} {_number(1e3 * law['sd'])}"
        case "lognormal":
            return ""
        case _:
            return f"-{letter} {_number(law['shape'])} {_number(1e3 * law['scale'])}"


def _size_option(law: Mapping[str, Any]) -> str:
    letter = _OPTION.get(law["law"])
    if letter is None:
        return ""
    return " ".join([f"-{letter}", *(_number(law[key]) for key in law if key != "law")])


def _notes(flow: Mapping[str, Any]) -> Iterator[str]:
    """Differences between the command and the flow, or why there is no command."""
    source = flow["source"]
    if source["kind"] in _NOT_OF_ITGSEND:
        if note := _NOT_OF_ITGSEND[source["kind"]]:
            yield note
        elif flow["start_jitter_ns"]:
            yield _jitter(flow)
        return
    if not _options(flow):
        laws = f"gap {source['gap']['law']}, size {source['size']['law']}"
        yield f"ITGSend has no option for these laws ({laws})"
        return
    if source.get("size_at") == "wire":
        yield (
            "sizes are those on the wire; ITGSend takes them for payload and adds 28 bytes of "
            "UDP and IP headers, and the link its overhead"
        )
    if flow["start_jitter_ns"]:
        yield _jitter(flow)


def _jitter(sender: Mapping[str, Any]) -> str:
    return f"starts up to {_number(sender['start_jitter_ns'] / 1e6)} ms later, at random"


def _ping(probe: Mapping[str, Any], duration_ns: int) -> str:
    parts = [f"ping -i {_number(probe['interval_ns'] / 1e9)}"]
    if probe["count"]:
        parts.append(f"-c {probe['count']}")
    else:
        left_ns = duration_ns - probe["start_ns"]
        parts.append(f"-w {-(-left_ns // 10**9)}")
    if probe["payload_bytes"] != DEFAULT_ECHO_PAYLOAD_BYTES:
        parts.append(f"-s {probe['payload_bytes']}")
    byte = _traffic_class(probe)
    if byte:
        parts.append(f"-Q {byte}")
    parts.append(f"{probe['to']} | tee pingtimes-{probe['name']}.txt")
    wait = f"sleep {_number(probe['start_ns'] / 1e9)}; " if probe["start_ns"] else ""
    return wait + " ".join(parts)


def _irtt(probe: Mapping[str, Any], duration_ns: int) -> str:
    left_ns = duration_ns - probe["start_ns"]
    length_ns = min(left_ns, probe["count"] * probe["interval_ns"] or left_ns)
    parts = [
        f"irtt client -Q -i {_number(probe['interval_ns'] / 1e6)}ms",
        f"-d {_number(length_ns / 1e9)}s -l {probe['payload_bytes']}",
    ]
    byte = _traffic_class(probe)
    if byte:
        parts.append(f"--dscp={byte:#04x}")  # irtt takes the whole byte
    parts.append(f"-o irtt-{probe['name']}.json {probe['to']}")
    wait = f"sleep {_number(probe['start_ns'] / 1e9)}; " if probe["start_ns"] else ""
    return wait + " ".join(parts)


def _traffic_class(sender: Mapping[str, Any]) -> int:
    """The byte of the IP header with DSCP and ECN."""
    return int(sender["dscp"]) << 2 | _ECN_BITS[sender.get("ecn", "not-ect")]


def _number(value: float) -> str:
    """Ten digits, without an exponent, which ITGSend does not accept, and without trailing
    zeros."""
    text = f"{value:.10g}"
    if "e" in text:
        text = f"{value:.12f}".rstrip("0").rstrip(".")
    return text
