"""TCP settings in the guest: by socket options where possible, otherwise by sysctl and routes.

| of a flow's `tcp` | in the guest |
| --- | --- |
| `congestion_control` | ``TCP_CONGESTION`` at both ends; a C file's at the sender's alone |
| ``linux:NAME`` | the kernel's own NAME |
| `sack`, `rack`, `timestamps`, `ecn` | ``net.ipv4.tcp_*`` of both hosts, for all their flows |
| `ecn_option`, `ecn_option_beacon` | the same, for those with accurate ECN |
| `min_tso_segs` | the same of the sender |
| `initial_window`, `min_rto` | ``initcwnd`` and ``rto_min`` of the sender's route |
| `delayed_ack = false` | ``quickack`` of the receiver's route |
| `hystart` | the parameter of tcp_cubic: alike for all flows |
| `rtt_independence` | the parameter `prague_rtt_scaling` of tcp_prague: alike for all flows |
| `pacing = true` | ``SO_MAX_PACING_RATE``, which switches TCP's own pacing on |
| `send_buffer`, `receive_window` | ``SO_SNDBUFFORCE``, ``TCP_WINDOW_CLAMP`` |

Sources: tcp(7), ip-route(8), ip-sysctl in the kernel's documentation, net/ipv4/tcp_input.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dumbbell.backends.kernel.capabilities import USUAL, Capabilities
from dumbbell.errors import SpecError
from dumbbell.spec import Resolved, linux
from dumbbell.spec.host_links import RouteOptions
from dumbbell.spec.keys import Key
from dumbbell.spec.native import is_c_file
from dumbbell.spec.refusal import nearest, one_of
from dumbbell.spec.resolved import Flow, TcpSettings
from dumbbell.spec.tcp import LINUX_CONTROLLERS
from dumbbell.spec.tcp_settings import SETTINGS

BUFFERS = {
    "net/ipv4/tcp_rmem": "4096 131072 6291456",
    "net/ipv4/tcp_wmem": "4096 16384 4194304",
    "net/ipv4/tcp_mem": "1000000 1500000 2000000",
}
"""Buffer limits of an ordinary machine; in a guest with little memory the kernel would choose
smaller ones.
"""

_ACCURATE_ECN = "3"
"""Of ``net.ipv4.tcp_ecn``: accurate ECN is asked for and accepted (ip-sysctl of Linux 6.18)."""
_ECN_OPTIONS = ("never", "minimum", "full", "persist")
"""Of ``net.ipv4.tcp_ecn_option``, from 0 on; kernels of the L4S team have no ``persist``."""
_ACCURATE_BY_ITSELF = frozenset({"prague"})
"""Controllers that use accurate ECN whatever `ecn` says (``TCP_CONG_NEEDS_ACCECN``)."""
_OF_ACCURATE_ECN = frozenset({"ecn_option", "ecn_option_beacon"})
_OF_CONTROLLERS = (
    ("cubic", "hystart", "/sys/module/tcp_cubic/parameters/hystart"),
    ("prague", "rtt_independence", "/sys/module/tcp_prague/parameters/prague_rtt_scaling"),
)
"""Settings that are a parameter of a controller's module: 0 switches off."""
_BY_KERNEL: Mapping[str, Sequence[Key]] = {
    kernel: [each for each in SETTINGS.values() if each.kernel == kernel]
    for kernel in ("host", "sender", "way", "fixed")
}
_GSO_MAX_SEGS: int = SETTINGS["gso_max_segs"].default
_PACKET_MEMORY_BYTES: int = SETTINGS["packet_memory"].default
_DEFAULT_WINDOW_PKTS: int = SETTINGS["initial_window"].default
_DEFAULT_MIN_RTO_NS: int = SETTINGS["min_rto"].default


def check_tcp(resolved: Mapping[str, Any], has: Capabilities = USUAL) -> None:
    """Refuse settings that the kernel lacks, or has only for a whole host.

    Args:
        resolved: The description.
        has: What its kernel has besides what all have.

    Raises:
        SpecError: The kernel cannot run it.
    """
    seen: dict[tuple[str, ...], tuple[str, Any]] = {}
    for index, flow, settings in _tcp_flows(resolved):
        # By name, since errors use the names of the file.
        tcp, path = settings.mapping, f"flows[{index}].tcp"
        for setting in _BY_KERNEL["fixed"]:
            value = tcp.get(setting.resolved, setting.default)
            if value != setting.default:
                allowed = f"{str(setting.default).lower()} on the kernel"
                raise SpecError(f"{path}.{setting.name}", str(value).lower(), allowed)
        if tcp["packet_memory_bytes"] != _PACKET_MEMORY_BYTES:
            value = f"{tcp['packet_memory_bytes']}B"
            allowed = f"{_PACKET_MEMORY_BYTES}B on the kernel, which has its own"
            raise SpecError(f"{path}.packet_memory", value, allowed)
        if tcp["ecn"] == "accurate" and not has.accurate_ecn:
            allowed = "true or false: the kernel has no accurate ECN (RFC 9768), as Linux from 6.18"
            raise SpecError(f"{path}.ecn", "accurate", allowed)
        controller = _checked_controller(path, tcp, has)
        if tcp["pacing"] is False and controller == "bbr":
            raise SpecError(f"{path}.pacing", "false", "true or auto: bbr paces on the kernel")
        shared: list[tuple[Key, tuple[str, ...]]] = [
            *((each, ("host", each.name, flow.from_)) for each in _BY_KERNEL["sender"]),
            *(
                (each, ("host", each.name, host))
                for each in _BY_KERNEL["host"]
                if _heeds(tcp, each)
                for host in (flow.from_, flow.to)
            ),
            *((each, ("way", each.name, flow.from_, flow.to)) for each in _BY_KERNEL["way"]),
        ]
        shared += [
            (SETTINGS[key], ("all", key)) for name, key, _ in _OF_CONTROLLERS if name == controller
        ]
        for setting, place in shared:
            found = tcp.get(setting.resolved, setting.default)
            other, first = seen.setdefault(place, (flow.name, found))
            if found != first:
                allowed = (
                    f"{_written(first)} as in {other}: on the kernel "
                    f"{'all flows' if place[0] == 'all' else f'flows of one {place[0]}'} share it"
                )
                raise SpecError(f"{path}.{setting.name}", _written(found), allowed)


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _heeds(tcp: Mapping[str, Any], setting: Key) -> bool:
    """Whether a flow heeds a setting that its hosts have for all their flows."""
    if setting.name == "ecn":
        return own_name(tcp["congestion_control"]) not in _ACCURATE_BY_ITSELF
    return setting.name not in _OF_ACCURATE_ECN or _uses_accurate_ecn(tcp)


def _uses_accurate_ecn(tcp: Mapping[str, Any]) -> bool:
    by_itself = own_name(tcp["congestion_control"]) in _ACCURATE_BY_ITSELF
    return by_itself or tcp["ecn"] == "accurate"


def _checked_controller(path: str, tcp: Mapping[str, Any], has: Capabilities) -> str:
    """The kernel's name of the controller; a C file by its reference."""
    named = tcp["congestion_control"]
    controller = own_name(named)
    if is_c_file(tcp):
        return controller
    if controller not in LINUX_CONTROLLERS and controller not in has.controllers:
        allowed = f"{one_of(LINUX_CONTROLLERS)}, or file:NAME.c"
        hint = nearest(controller, LINUX_CONTROLLERS)
        raise SpecError(f"{path}.congestion_control", named, allowed, hint)
    if named != controller and tcp["controller"]["parameters"]:
        names = ", ".join(tcp["controller"]["parameters"])
        allowed = "none on the kernel, whose own controller runs as it is"
        raise SpecError(f"{path}.parameters", names, allowed)
    return controller


def own_name(controller: str) -> str:
    """The kernel's name of a controller: ``linux:vegas`` is its own vegas."""
    return controller.removeprefix(linux.PREFIX)


def gso_max_segs(resolved: Mapping[str, Any], host: str) -> int:
    """Most segments per sk_buff on the devices of a host."""
    sent = (flow.tcp for flow in Resolved(resolved).flows if flow.from_ == host)
    return max((int(tcp.mapping["gso_max_segs"]) for tcp in sent if tcp), default=_GSO_MAX_SEGS)


def host_settings(resolved: Mapping[str, Any], host: str) -> dict[str, str]:
    """Values of one host's files under /proc/sys."""
    sent = [tcp for _, flow, tcp in _tcp_flows(resolved) if host == flow.from_]
    flows = [tcp for _, flow, tcp in _tcp_flows(resolved) if host in (flow.from_, flow.to)]
    if not flows:
        return {}
    tcp = flows[0]
    ecn = next((each.ecn for each in flows if _heeds(each.mapping, SETTINGS["ecn"])), tcp.ecn)
    counted = next((each.mapping for each in flows if _uses_accurate_ecn(each.mapping)), None)
    return {
        "net/ipv4/tcp_sack": _bit(tcp.sack),
        "net/ipv4/tcp_timestamps": _bit(tcp.timestamps),
        "net/ipv4/tcp_ecn": _ACCURATE_ECN if ecn == "accurate" else _bit(ecn is True),
        "net/ipv4/tcp_recovery": _bit(tcp.rack),
        # Tail loss probes, which are part of RACK-TLP (RFC 8985).
        "net/ipv4/tcp_early_retrans": "3" if tcp.rack else "0",
        **({} if counted is None else _ecn_option(counted)),
        **_least_burst(sent),
    }


def _least_burst(sent: Sequence[TcpSettings]) -> dict[str, str]:
    """Of a host that sends these flows, which all ask for the same."""
    least = sent[0].mapping.get("min_tso_segs", 0) if sent else 0
    return {"net/ipv4/tcp_min_tso_segs": str(least)} if least else {}


def _ecn_option(tcp: Mapping[str, Any]) -> dict[str, str]:
    option, beacon = (
        tcp.get(each.resolved, each.default)
        for each in (SETTINGS["ecn_option"], SETTINGS["ecn_option_beacon"])
    )
    settings = {"net/ipv4/tcp_ecn_option": str(_ECN_OPTIONS.index(option))}
    # Only this one heeds it; kernels of the L4S team know 0 and 1 alone.
    if option == "minimum":
        settings["net/ipv4/tcp_ecn_option_beacon"] = str(beacon)
    return settings


def common_settings(resolved: Mapping[str, Any]) -> dict[str, str]:
    """Values of the kernel-wide files, with the buffers of an ordinary machine."""
    off = {
        file: "0"
        for _, _, tcp in _tcp_flows(resolved)
        for controller, key, file in _OF_CONTROLLERS
        if own_name(tcp.congestion_control) == controller
        and not tcp.mapping.get(SETTINGS[key].resolved, True)
    }
    return BUFFERS | off


def route_options(
    resolved: Mapping[str, Any], start: str, end: str, mtu_bytes: int | None
) -> RouteOptions:
    """Options of the route from one host to another.

    Args:
        resolved: The description.
        start: Sending host.
        end: Destination.
        mtu_bytes: MTU of the path if the first link's is larger, so that TCP needs no path MTU
            discovery.
    """
    options = RouteOptions(mtu_bytes=mtu_bytes)
    for _, flow, tcp in _tcp_flows(resolved):
        if (flow.from_, flow.to) == (start, end):
            if tcp.initial_window_pkts != _DEFAULT_WINDOW_PKTS:
                options = replace(options, initial_window_pkts=tcp.initial_window_pkts)
            if tcp.min_rto_ns != _DEFAULT_MIN_RTO_NS:
                options = replace(options, min_rto_ms=max(1, round(tcp.min_rto_ns / 1e6)))
            break
        if (flow.from_, flow.to) == (end, start) and not tcp.delayed_ack:
            options = replace(options, quick_ack=True)
            break
    return options


def _tcp_flows(resolved: Mapping[str, Any]) -> Iterator[tuple[int, Flow, TcpSettings]]:
    for index, flow in enumerate(Resolved(resolved).flows):
        if flow.tcp is not None:
            yield index, flow, flow.tcp


def _bit(value: bool) -> str:
    return "1" if value else "0"
