"""Who sends to whom: flows and probes."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from dumbbell.spec.base import SpecModel
from dumbbell.spec.conversions import resolved
from dumbbell.spec.fields import (
    IRTT_PAYLOAD_BYTES,
    LONGEST_NAME,
    Count,
    Dscp,
    EchoPayload,
    Ecn,
    FlowCount,
    Name,
    PositiveTime,
    ProbeKind,
    Time,
    Transport,
    size_bytes,
    time_ns,
)
from dumbbell.spec.refusal import Refused
from dumbbell.spec.resolved import Resolved
from dumbbell.spec.round_trip import RoundTrip
from dumbbell.spec.sources import Source
from dumbbell.spec.tcp import Tcp

_JITTER = "The start is later by a time drawn uniformly from 0 to this, anew in each replication."


class Flow(SpecModel):
    """Traffic from one host to another, over UDP or TCP.

    A file writes ``from``; in Python, where that is a keyword, it is ``from_``.
    """

    name: Name = Field(
        description="Unique among flows and probes; names its random numbers and its rows.",
        examples=["stream-1"],
    )
    count: FlowCount | None = Field(
        default=None,
        description="Number of equal flows, `NAME-1`, `NAME-2` and so on, each with random numbers "
        "of its own; one flow, `NAME`, when left out.",
    )
    from_: Name = Field(validation_alias="from", description="Sending host.")
    to: Name = Field(description="Receiving host.", examples=["receiver-1"])
    start: Time = Field(default="0s", description="When it starts.")
    stop: PositiveTime | None = Field(
        default=None, description="When it has stopped; at the end of the run when left out."
    )
    start_jitter: Time = Field(default="0s", description=_JITTER)
    dscp: Dscp = Field(default=0, description="Differentiated services code point.")
    ecn: Ecn = Field(
        default="not-ect",
        description="ECN field of its datagrams (RFC 3168); for TCP see `tcp`.",
    )
    transport: Transport | None = Field(
        default=None,
        description="What carries it. When left out: `tcp` where its source or a table `tcp` "
        "says so, else `udp`.",
    )
    tcp: Tcp | None = Field(default=None, description="Settings of TCP; a table.")
    source: Source = Field(description="What it sends; a table with a `kind`.")

    @model_validator(mode="after")
    def _check_last_name(self) -> Self:
        last = self.names[-1]
        if len(last) > LONGEST_NAME:
            allowed = f"at most {LONGEST_NAME} characters with the number behind it, as in {last}"
            raise Refused(self.name, allowed, path="name")
        return self

    @model_validator(mode="after")
    def _check_transport(self) -> Self:
        over, kind = self.source.transports, self.source.kind
        if self.transport is not None and self.transport not in over:
            allowed = f"{over[0]}, the only transport of the source {kind}"
            raise Refused(self.transport, allowed, over[0], path="transport")
        if self.carried_by == "udp":
            if self.tcp is not None:
                raise Refused("a table", "no such table over udp", path="tcp")
            return self
        if "tcp" not in over:
            allowed = f"no such table: the source {kind} goes over udp only"
            raise Refused("a table", allowed, path="tcp")
        if self.ecn != "not-ect":
            allowed = "not-ect over tcp, which negotiates it: tcp = { ecn = true }"
            raise Refused(self.ecn, allowed, path="ecn")
        if "size_at" in self.source.model_fields_set and self.source.resolved()["size_at"] != (
            "payload"
        ):
            raise Refused("wire", "payload over tcp", "payload", path="source.size_at")
        return self

    @property
    def carried_by(self) -> str:
        """``udp`` or ``tcp``: the transport, or what follows from source and settings."""
        if self.transport is not None:
            return self.transport
        return "tcp" if self.tcp is not None or "udp" not in self.source.transports else "udp"

    @property
    def names(self) -> tuple[str, ...]:
        """Of the flows that run: its own, or with ``count`` one with a number for each."""
        if self.count is None:
            return (self.name,)
        return tuple(f"{self.name}-{number}" for number in range(1, self.count + 1))

    def resolved(self, duration_ns: int, network: Resolved) -> list[dict[str, Any]]:
        """The flows for the resolved description of a run that long over this network."""
        alike = self._resolved(duration_ns, network)
        return [{**alike, "name": name} for name in self.names]

    def _resolved(self, duration_ns: int, network: Resolved) -> dict[str, Any]:
        def round_trip() -> RoundTrip:
            return RoundTrip.between(network, self.from_, self.to, time_ns(self.start))

        over_tcp, tcp = self.carried_by == "tcp", self.tcp or Tcp()
        source = self.source.over(round_trip, has_handshake=tcp.handshake).resolved()
        if over_tcp and "size_at" in source:
            source["size_at"] = "payload"
        said = resolved(self, "count")
        stop_ns = duration_ns if self.stop is None else said["stop_ns"]
        tcp_resolved = tcp.resolved() if over_tcp else None
        found = {"stop_ns": stop_ns, "transport": self.carried_by, "tcp": tcp_resolved}
        return said | found | {"source": source}


class Ping(SpecModel):
    """Echo requests from one host to another: as ping sends them, over UDP, or irtt's."""

    name: Name = Field(
        description="Unique among flows and probes; names its random numbers and its rows.",
        examples=["ping-1"],
    )
    kind: ProbeKind = Field(
        default="ping",
        description="`ping`: ICMP echo (RFC 792). `udp`: UDP echo (RFC 862). `irtt`: round trips "
        "over UDP that the program irtt(1) of this machine measures, on the kernel only.",
    )
    from_: Name = Field(validation_alias="from", description="Asking host.")
    to: Name = Field(description="Answering host.", examples=["receiver-1"])
    interval: PositiveTime = Field(default="1s", description="Between requests (`ping -i`).")
    count: Count | None = Field(
        default=None,
        description="How many requests (`ping -c`); until the end of the run when left out.",
    )
    payload: EchoPayload = Field(
        default="56B",
        description="Payload of a request (`ping -s`); of irtt (`-l`) 60 bytes when left out, and "
        "no less.",
    )
    start: Time = Field(default="0s", description="When the first request leaves.")
    start_jitter: Time = Field(default="0s", description=_JITTER)
    dscp: Dscp = Field(default=0, description="Differentiated services code point.")

    @model_validator(mode="after")
    def _check_payload(self) -> Self:
        if self.kind == "irtt" and self._payload_bytes() < IRTT_PAYLOAD_BYTES:
            least = f"{IRTT_PAYLOAD_BYTES}B"
            raise Refused(self.payload, f"at least {least}, irtt's header", least, path="payload")
        return self

    def _payload_bytes(self) -> int:
        if self.kind == "irtt" and "payload" not in self.model_fields_set:
            return IRTT_PAYLOAD_BYTES
        return size_bytes(self.payload)

    def resolved(self) -> dict[str, Any]:
        """The probe for the resolved description."""
        found = {"count": self.count or 0, "payload_bytes": self._payload_bytes()}
        return resolved(self) | found
