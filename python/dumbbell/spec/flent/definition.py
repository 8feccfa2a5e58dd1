"""The parts of a Flent test, and its conversion to an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from dumbbell.errors import SpecError
from dumbbell.spec.experiment import Experiment
from dumbbell.spec.fields import IRTT_PAYLOAD_BYTES
from dumbbell.spec.flent.network import CLIENT, Network
from dumbbell.spec.flows import Flow, Ping
from dumbbell.spec.links import Link

ICMP_PAYLOAD_BYTES = 56  # ping(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A sender of a test.

    Attributes:
        series: Flent's name of its data, such as ``TCP upload BE``; empty for a sender that
            Flent does not measure (bursts).
        flow: Name of the flow in the experiment.
        upload: Whether it goes from the client to the host.
        host: The far end.
        start_s: Start, since the start of the test.
        length_s: Duration of sending.
        dscp: Code point in both directions.
        congestion_control: TCP congestion control, by Linux's name; empty for that of the
            experiment.
        udp: Rate in bit/s and datagram payload in bytes, for UDP instead of TCP.
    """

    series: str
    flow: str
    upload: bool
    host: str
    start_s: float
    length_s: float
    dscp: int = 0
    congestion_control: str = ""
    udp: tuple[float, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A latency measurement of a test: one request per step, answered by the host.

    Attributes:
        series: Flent's name of its data, such as ``Ping (ms) UDP EF``.
        probe: Name of the probe in the experiment.
        kind: ``ping`` (ICMP) or ``udp`` (irtt).
        host: The answering host.
        length_s: Duration, from the start of the test.
        dscp: Code point.
    """

    series: str
    probe: str
    kind: Literal["ping", "udp"]
    host: str
    length_s: float
    dscp: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """A series computed from others, row by row over the existing values.

    Attributes:
        series: Its name, such as ``TCP upload sum``.
        how: ``average``, ``sum``, or ``fairness`` (Jain's index: the square of the sum over
            n times the sum of squares).
        of: Names of the series that it is computed from.
    """

    series: str
    how: Literal["average", "sum", "fairness"]
    of: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FlentTest:
    """A test of Flent with its parameters filled in.

    Attributes:
        name: Flent's name of it, such as ``rrul``.
        title: A one-line description.
        hosts: Far ends, the first is the main one.
        client: The measuring host.
        length_s: Base length (``-l``).
        delay_s: Delay of parts of the test (``-d``).
        step_s: Time between data points (``-s``) and between latency probes.
        total_s: Length of the whole test.
        streams: Senders.
        probes: Latency measurements.
        computed: Series that follow from others.
        parameters: Test parameters as given, keys in lower case.
        without_effect: Parameters that the test does not use, with the reason.
        notes: Differences from Flent's version, in sentences.
    """

    name: str
    title: str
    hosts: tuple[str, ...]
    client: str
    length_s: int
    delay_s: int
    step_s: float
    total_s: float
    streams: tuple[Stream, ...]
    probes: tuple[Probe, ...]
    computed: tuple[Computed, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    without_effect: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def series(self) -> tuple[str, ...]:
        """Names of all series, measured ones first."""
        measured = [stream.series for stream in self.streams if stream.series]
        return (*measured, *(p.series for p in self.probes), *(c.series for c in self.computed))

    def with_controllers(self, instead: Mapping[str, str]) -> FlentTest:
        """The test with congestion controllers replaced by others.

        The simulator lacks some of Linux's controllers. Series keep their names, and `notes` have
        the replacement.

        Args:
            instead: Maps Linux's name of a controller in the test to that of its replacement.

        Raises:
            SpecError: The test does not name the first.
        """
        named = sorted({s.congestion_control for s in self.streams if s.congestion_control})
        for name in instead:
            if name not in named:
                allowed = f"a controller that {self.name} names: {', '.join(named) or 'none'}"
                raise SpecError("controller", name, allowed)
        streams = tuple(
            replace(stream, congestion_control=instead.get(stream.congestion_control)
                    or stream.congestion_control)
            for stream in self.streams
        )  # fmt: skip
        notes = tuple(f"{other} is run in place of {name}." for name, other in instead.items())
        return replace(self, streams=streams, notes=(*self.notes, *notes))

    def flows(
        self, *, tcp: Mapping[str, Any] | None = None, start_jitter: str = "10ms"
    ) -> list[Flow]:
        """The flows of the test; see `experiment`."""
        return [self._flow(stream, dict(tcp or {}), start_jitter) for stream in self.streams]

    def pings(self, *, start_jitter: str = "10ms", irtt: bool = False) -> list[Ping]:
        """The latency probes, one request per step; see `experiment`."""
        payload = {"ping": ICMP_PAYLOAD_BYTES, "udp": IRTT_PAYLOAD_BYTES}
        return [
            Ping(
                name=probe.probe,
                kind="irtt" if irtt and probe.kind == "udp" else probe.kind,
                from_=self.client,
                to=probe.host,
                interval=seconds(self.step_s),
                count=max(1, round(probe.length_s / self.step_s)),
                payload=f"{payload[probe.kind]}B",
                start_jitter=start_jitter,
                dscp=probe.dscp,
            )
            for probe in self.probes
        ]

    def experiment(
        self,
        network: Network | Sequence[Link] | None = None,
        *,
        seed: int = 1,
        tcp: Mapping[str, Any] | None = None,
        start_jitter: str = "10ms",
        more_flows: Sequence[Flow] = (),
        irtt: bool = False,
        **keys: Any,
    ) -> Experiment:
        """The experiment: this traffic in a network.

        It is sampled every `step_s` and ends with the test.

        Args:
            network: The network, or a list of links that connect the client and the hosts.
            seed: Seed of all random streams.
            tcp: Settings of every TCP flow, as a table ``tcp`` of an experiment's file;
                the controllers that the test names come before these.
            start_jitter: Maximum random delay of each start, because the programs of Flent do not
                start at the same instant. Replications differ by it.
            more_flows: Flows in addition to those of the test.
            irtt: Whether the program irtt measures the UDP latency, as in Flent; only on the
                kernel. Otherwise dumbbell's probe sends datagrams of the same size at the same
                interval.
            **keys: Further keys of the experiment, such as ``timer_hz``.

        Raises:
            SpecError: The experiment is invalid.
        """
        if network is None or isinstance(network, Network):
            if self.client != CLIENT:
                raise SpecError("client", self.client, f"{CLIENT}, in the network that is built in")
            network = (network or Network()).links(self.hosts)
        return Experiment(
            **{
                "name": f"flent-{self.name}",
                "seed": seed,
                "duration": seconds(self.total_s),
                "sample_interval": seconds(self.step_s),
                "links": list(network),
                "flows": [*self.flows(tcp=tcp, start_jitter=start_jitter), *more_flows],
                "probes": self.pings(start_jitter=start_jitter, irtt=irtt),
                **keys,
            }
        )

    def _flow(self, stream: Stream, tcp: dict[str, Any], start_jitter: str) -> Flow:
        far = (self.client, stream.host) if stream.upload else (stream.host, self.client)
        common: dict[str, Any] = {
            "name": stream.flow,
            "from_": far[0],
            "to": far[1],
            "start": seconds(stream.start_s),
            "stop": seconds(stream.start_s + stream.length_s),
            "start_jitter": start_jitter,
            "dscp": stream.dscp,
        }
        if stream.udp is not None:
            rate_bps, payload_bytes = stream.udp
            source = {
                "kind": "cbr",
                "rate": f"{rate_bps / (8 * payload_bytes):.9g}pps",
                "size": f"{payload_bytes}B",
                "size_at": "payload",
            }
            return Flow(**common, source=source)
        if stream.congestion_control:
            tcp["congestion_control"] = stream.congestion_control
        return Flow(**common, source={"kind": "greedy"}, tcp=tcp)


def seconds(value: float) -> str:
    """A time in seconds as text of a description, in whole microseconds where it needs them."""
    return f"{value:g}s" if float(f"{value:g}") == value else f"{round(value * 1e6)}us"
