"""The tests: what each of them sends, when, with which marks and under which names.

Facts of Flent 2.1.1, as its data files and its manual show them. One function builds one family.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dumbbell.errors import SpecError
from dumbbell.spec.flent.definition import Computed, FlentTest, Probe, Stream
from dumbbell.spec.flent.network import CLIENT, check_host
from dumbbell.spec.flent.parameters import MOST_STREAMS, Parameters, dscp_of_marking
from dumbbell.spec.refusal import nearest
from dumbbell.spec.tcp import CONGESTION_CONTROLLERS

DEFAULT_HOST = "server"
LONGEST_S = 24 * 3600
SHORTEST_STEP_S = 0.001
MOST_STEPS = 1_000_000
MOST_BURST_FLOWS = 50
_CLASSES = {"BE": "CS0", "BK": "CS1", "CS5": "CS5", "EF": "EF"}
_WAYS = ("upload", "download")


@dataclass(frozen=True, slots=True)
class _Setting:
    """What a builder starts from."""

    name: str
    hosts: tuple[str, ...]
    length_s: int
    delay_s: int
    parameters: Parameters

    @property
    def total_s(self) -> int:
        """Load, and the delay before and after it."""
        return self.length_s + 2 * self.delay_s

    def tcp(
        self,
        series: str,
        way: str,
        *,
        mark: str = "CS0",
        control: str = "",
        host: str = "",
        start_s: float | None = None,
        length_s: float | None = None,
    ) -> Stream:
        """A TCP stream; it starts after the delay and sends for the length when not told else."""
        return Stream(
            series=series,
            flow=_name(series),
            upload=way == "upload",
            host=host or self.hosts[0],
            start_s=self.delay_s if start_s is None else start_s,
            length_s=self.length_s if length_s is None else length_s,
            dscp=dscp_of_marking(mark),
            congestion_control=_controller(control or self._controller_of(way)),
        )

    def probe(
        self, label: str, kind: Literal["ping", "udp"], mark: str = "CS0", host: str = ""
    ) -> Probe:
        """A latency measurement over the whole test; its length is cut by who builds it."""
        series = f"Ping (ms) {label}"
        return Probe(
            series=series,
            probe=_name(series.replace("(ms) ", "")),
            kind=kind,
            host=host or self.hosts[0],
            length_s=self.total_s,
            dscp=dscp_of_marking(mark),
        )

    def _controller_of(self, way: str) -> str:
        """``tcp_cong_control=A,B``: A where the client sends, B where the host does."""
        given = self.parameters.texts("tcp_cong_control")
        return "" if not given else given[0] if way == "upload" else given[-1]


@dataclass(frozen=True, slots=True)
class _Built:
    """What a builder made."""

    streams: tuple[Stream, ...] = ()
    probes: tuple[Probe, ...] = ()
    computed: tuple[Computed, ...] = ()
    total_s: float | None = None
    notes: tuple[str, ...] = ()


_Builder = Callable[[_Setting], _Built]


def _name(series: str) -> str:
    """``TCP upload BE`` as a name of a flow: ``tcp-upload-BE``."""
    first, *rest = series.replace("::", " ").split()
    words = [first.lower(), *(word.lower() if word in ("UDP", "ICMP") else word for word in rest)]
    return "-".join(words)


def _controller(name: str) -> str:
    if name and name not in CONGESTION_CONTROLLERS:
        allowed = f"one of {', '.join(CONGESTION_CONTROLLERS)}"
        hint = nearest(name, CONGESTION_CONTROLLERS)
        raise SpecError("congestion control", name, allowed, hint)
    return name


def _average(series: str, of: Sequence[str]) -> Computed:
    return Computed(series=series, how="average", of=tuple(of))


def _sum(series: str, of: Sequence[str]) -> Computed:
    return Computed(series=series, how="sum", of=tuple(of))


def _both_ways(
    streams: Sequence[Stream],
    probes: Sequence[Probe],
    *,
    totals: bool,
    fairness: bool = False,
) -> _Built:
    """Average and sum of each direction, average of the pings, and what else is wanted."""
    computed: list[Computed] = []
    for way in _WAYS:
        of = [stream.series for stream in streams if stream.upload == (way == "upload")]
        computed += [_average(f"TCP {way} avg", of), _sum(f"TCP {way} sum", of)]
        if fairness:
            series = f"TCP {way} fairness"
            computed.append(Computed(series=series, how="fairness", of=tuple(of)))
    if totals:
        computed.append(_sum("TCP totals", [stream.series for stream in streams]))
    computed.append(_average("Ping (ms) avg", [probe.series for probe in probes]))
    return _Built(tuple(streams), tuple(probes), tuple(computed))


def _rrul(setting: _Setting) -> _Built:
    streams = [
        setting.tcp(f"TCP {way} {label}", way, mark=mark)
        for way in _WAYS
        for label, mark in _CLASSES.items()
    ]
    probes = [setting.probe(f"UDP {label}", "udp", _CLASSES[label]) for label in ("EF", "BK", "BE")]
    return _both_ways(streams, [*probes, setting.probe("ICMP", "ping")], totals=True)


def _rrul_be(setting: _Setting) -> _Built:
    labels = ("BE", "BE2", "BE3", "BE4")
    streams = [setting.tcp(f"TCP {way} {label}", way) for way in _WAYS for label in labels]
    probes = [setting.probe(f"UDP BE{number}", "udp") for number in (1, 2, 3)]
    return _both_ways(streams, [*probes, setting.probe("ICMP", "ping")], totals=True)


def _rrul_be_nflows(setting: _Setting) -> _Built:
    streams = [
        setting.tcp(f"TCP {way} BE::{number + 1}", way)
        for way in _WAYS
        for number in range(_count(setting, f"{way}_streams"))
    ]
    probes = [setting.probe("UDP BE", "udp"), setting.probe("ICMP", "ping")]
    return _both_ways(streams, probes, totals=True)


def _count(setting: _Setting, key: str) -> int:
    return setting.parameters.whole(key, least=1, most=MOST_STREAMS)


def _one_way(way: str) -> _Builder:
    def build(setting: _Setting) -> _Built:
        given = setting.parameters
        marks = given.texts("marking", "markings")
        controls = given.texts("cc_algo", "cc_algos")
        stream = setting.tcp(
            f"TCP {way}",
            way,
            mark=marks[0] if marks and marks[0] else "CS0",
            control=controls[0] if controls else "",
        )
        return _Built((stream,), (setting.probe("ICMP", "ping"),))

    return build


def _n_one_way(way: str) -> _Builder:
    def build(setting: _Setting) -> _Built:
        given = setting.parameters
        marks, controls = given.texts("markings"), given.texts("cc_algos")
        delays = _stream_delays(setting)
        streams = []
        for place in range(_count(setting, f"{way}_streams")):
            later = delays[place] if place < len(delays) else 0
            stream = setting.tcp(
                f"TCP {way}::{place + 1}",
                way,
                mark=marks[place] if place < len(marks) and marks[place] else "CS0",
                control=controls[place] if place < len(controls) else "",
                start_s=setting.delay_s + later,
                length_s=setting.length_s - later,
            )
            streams.append(stream)
        of = [stream.series for stream in streams]
        computed = (_average(f"TCP {way} avg", of), _sum(f"TCP {way} sum", of))
        return _Built(tuple(streams), (setting.probe("ICMP", "ping"),), computed)

    return build


def _stream_delays(setting: _Setting) -> list[int]:
    delays = []
    for text in setting.parameters.texts("stream_delays"):
        if not text.isascii() or not text.isdecimal() or int(text) >= setting.length_s:
            allowed = f"whole seconds, less than the length of {setting.length_s} s"
            raise SpecError("test-parameter stream_delays", text, allowed)
        delays.append(int(text))
    return delays


def _tcp_bidirectional(setting: _Setting) -> _Built:
    streams = (setting.tcp("TCP download", "download"), setting.tcp("TCP upload", "upload"))
    return _Built(streams, (setting.probe("ICMP", "ping"),))


def _tcp_2up_delay(setting: _Setting) -> _Built:
    whole = setting.length_s + setting.delay_s
    first = setting.tcp("TCP stream 1", "upload", start_s=0, length_s=whole)
    return _Built((first, setting.tcp("TCP stream 2", "upload")), total_s=whole)


def _tcp_2up_square(setting: _Setting) -> _Built:
    pulse = setting.delay_s
    streams = [setting.tcp("TCP cubic", "upload", control="cubic", start_s=0)]
    for series, control, pulses in (
        ("TCP cubic 2", "cubic", 1),
        ("TCP reno", "reno", 3),
        ("TCP westwood", "westwood", 5),
    ):
        start_s = pulse * pulses
        streams.append(
            setting.tcp(series, "upload", control=control, start_s=start_s, length_s=pulse)
        )
    return _Built(tuple(streams), total_s=max(setting.length_s, 6 * pulse))


def _cubic_bbr(setting: _Setting) -> _Built:
    streams = [
        setting.tcp(f"TCP {way} {label} {mark}", way, mark=dscp, control=control)
        for way in _WAYS
        for mark, dscp in (("BE", "CS0"), ("CS1", "CS1"))
        for label, control in (("Cubic", "cubic"), ("BBR", "bbr"))
    ]
    marks = {"BE": "CS0", "CS1": "CS1", "CS6": "CS6"}
    probes = [setting.probe(f"UDP {label}", "udp", mark) for label, mark in marks.items()]
    return _both_ways(streams, [*probes, setting.probe("ICMP", "ping")], totals=False)


def _rtt_fair(setting: _Setting) -> _Built:
    labels = (("BE1", "CS0"), ("BE2", "CS0"), ("BK1", "CS1"), ("BK2", "CS1"))
    streams, probes = [], []
    for place, (host, (label, mark)) in enumerate(zip(setting.hosts, labels, strict=True), start=1):
        streams += [
            setting.tcp(f"TCP {way} {label} {host}", way, mark=mark, host=host) for way in _WAYS
        ]
        probes.append(setting.probe(f"ICMP{place} {host}", "ping", host=host))
    return _both_ways(streams, probes, totals=False, fairness=True)


def _bursts(setting: _Setting) -> _Built:
    given = setting.parameters
    length = given.whole("burst_length", "burst-length", least=1, most=LONGEST_S, default=5)
    payload = given.whole("burst_psize", "burst-psize", least=1, most=65_507, default=500)
    ports = given.whole("burst_ports", "burst-ports", least=1, most=65_535, default=1000)
    mark = given.text("burst_tos", "burst-tos", default="0")
    rate_bps = given.bandwidth_bps("burst_bandwidth", "800M")
    flows = min(ports, MOST_BURST_FLOWS)
    each_s, pause_s = length, setting.delay_s
    dscp = dscp_of_marking(mark)
    count = setting.length_s // (pause_s + each_s)
    streams = tuple(
        Stream(
            series="",
            flow=f"burst-{burst}-{flow + 1}",
            upload=True,
            host=setting.hosts[0],
            start_s=pause_s * (burst + 1) + each_s * burst,
            length_s=each_s,
            dscp=dscp,
            udp=(rate_bps / flows, payload),
        )
        for burst in range(count)
        for flow in range(flows)
    )
    classes = {"EF": "EF", "BK": "CS1", "BE": "CS0"}
    probes = [setting.probe(f"UDP {label}", "udp", mark) for label, mark in classes.items()]
    probes.append(setting.probe("ICMP", "ping"))
    notes = [
        f"A burst sends at {rate_bps / 1e6:g} Mbit/s of payload (burst_bandwidth); Flent's "
        "program sends as fast as its host can."
    ]
    if not count:
        notes = [
            f"No burst fits into {setting.length_s} s: one takes a pause of {pause_s} s and "
            f"{each_s} s (burst_length)."
        ]
    elif flows < ports:
        notes.append(f"The {ports} ports of a burst are {flows} flows here.")
    return _Built(
        streams,
        tuple(probes),
        (_average("Ping (ms) avg", [probe.series for probe in probes]),),
        total_s=setting.length_s,
        notes=tuple(notes),
    )


def _udp_flood(setting: _Setting) -> _Built:
    given = setting.parameters
    rate_bps = given.bandwidth_bps("udp_bandwidth", "100M")
    payload = given.whole("udp_pktsize", least=1, most=65_507, default=1470)  # iperf(1)
    stream = Stream(
        series="UDP upload",
        flow="udp-upload",
        upload=True,
        host=setting.hosts[0],
        start_s=setting.delay_s,
        length_s=setting.length_s,
        udp=(rate_bps, payload),
    )
    return _Built((stream,), (setting.probe("ICMP", "ping"),))


def _ping(setting: _Setting) -> _Built:
    probes = (setting.probe("ICMP", "ping"), setting.probe("UDP", "udp"))
    return _Built(probes=probes, total_s=setting.length_s)


@dataclass(frozen=True, slots=True)
class _Entry:
    title: str
    build: _Builder
    hosts: int = 1


_TESTS: Mapping[str, _Entry] = {
    "rrul": _Entry("Realtime response under load: four marks both ways, four latencies", _rrul),
    "rrul_be": _Entry("Realtime response under load, best effort only", _rrul_be),
    "rrul_be_nflows": _Entry("The same with any number of flows", _rrul_be_nflows),
    "tcp_1up": _Entry("One TCP upload and ping", _one_way("upload")),
    "tcp_1down": _Entry("One TCP download and ping", _one_way("download")),
    "tcp_nup": _Entry("Any number of TCP uploads and ping", _n_one_way("upload")),
    "tcp_ndown": _Entry("Any number of TCP downloads and ping", _n_one_way("download")),
    "tcp_bidirectional": _Entry("One TCP flow each way and ping", _tcp_bidirectional),
    "tcp_2up_delay": _Entry("Two TCP uploads, the second starts later", _tcp_2up_delay),
    "tcp_2up_square": _Entry("CUBIC against pulses of three controllers", _tcp_2up_square),
    "cubic_bbr": _Entry("CUBIC beside BBR with two marks both ways", _cubic_bbr),
    "rtt_fair": _Entry("One flow each way and ping to each of four hosts", _rtt_fair, hosts=4),
    "bursts": _Entry("Latency under bursts of UDP", _bursts),
    "udp_flood": _Entry("UDP at a rate and ping", _udp_flood),
    "ping": _Entry("Ping alone, over ICMP and UDP", _ping),
}

TEST_NAMES = tuple(_TESTS)
"""The tests that `flent_test` knows, by Flent's names."""


def flent_test(
    name: str,
    *,
    length_s: int = 60,
    delay_s: int = 5,
    step_s: float = 0.2,
    hosts: Sequence[str] = (),
    client: str = CLIENT,
    parameters: Mapping[str, str] | None = None,
) -> FlentTest:
    """A test by Flent's name, with Flent's defaults.

    Args:
        name: One of `TEST_NAMES`.
        length_s: Base length in seconds (``-l``), from 1 to a day.
        delay_s: Delay in seconds (``-d``), at least 1.
        step_s: Time between data points in seconds (``-s``), at least 1 ms, whole milliseconds.
        hosts: Far ends (``-H``); ``server`` when left out, and where a test needs more than
            there are, ``server-2`` and so on come to them.
        client: Who measures.
        parameters: Flent's test parameters (``--test-parameter``).

    Raises:
        SpecError: There is no such test, or a value is not allowed.
    """
    if name not in _TESTS:
        allowed = f"one of {', '.join(TEST_NAMES)}"
        raise SpecError("test", name, allowed, nearest(name, TEST_NAMES))
    _check_times(length_s, delay_s, step_s)
    entry = _TESTS[name]
    given = Parameters(parameters or {})
    all_hosts = tuple(hosts) or (DEFAULT_HOST,)
    for host in all_hosts:
        check_host(host)
    wanted = max(1, entry.hosts)
    all_hosts += tuple(f"server-{place}" for place in range(len(all_hosts) + 1, wanted + 1))
    setting = _Setting(name, all_hosts[:wanted], length_s, delay_s, given)
    built = entry.build(setting)
    total_s = float(setting.total_s if built.total_s is None else built.total_s)
    probes = tuple(_lasting(probe, total_s) for probe in built.probes)
    unused = tuple(f"Host {host} is not used by {name}." for host in all_hosts[wanted:])
    return FlentTest(
        name=name,
        title=entry.title,
        hosts=setting.hosts,
        client=client,
        length_s=length_s,
        delay_s=delay_s,
        step_s=step_s,
        total_s=total_s,
        streams=built.streams,
        probes=probes,
        computed=built.computed,
        parameters=dict(given.given),
        without_effect=given.without_effect(name),
        notes=(*built.notes, *unused),
    )


def _lasting(probe: Probe, total_s: float) -> Probe:
    return Probe(
        series=probe.series,
        probe=probe.probe,
        kind=probe.kind,
        host=probe.host,
        length_s=total_s,
        dscp=probe.dscp,
    )


def _check_times(length_s: int, delay_s: int, step_s: float) -> None:
    for key, value in (("length", length_s), ("delay", delay_s)):
        if not isinstance(value, int) or not 1 <= value <= LONGEST_S:
            raise SpecError(key, value, f"whole seconds from 1 to {LONGEST_S}")
    fine = isinstance(step_s, int | float) and math.isfinite(step_s) and step_s >= SHORTEST_STEP_S
    if not fine or round(step_s * 1000) / 1000 != step_s or step_s > length_s:
        raise SpecError("step-size", step_s, "whole milliseconds, at most the length, such as 0.2")
    if (length_s + 2 * delay_s) / step_s > MOST_STEPS:
        raise SpecError("step-size", step_s, f"at most {MOST_STEPS} steps in the test")
