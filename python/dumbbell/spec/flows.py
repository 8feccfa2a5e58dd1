"""Who sends to whom: flows and probes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from dumbbell.spec.base import SpecModel
from dumbbell.spec.fields import (
    Count,
    Dscp,
    EchoPayload,
    Ecn,
    Name,
    PositiveTime,
    Time,
    dscp_number,
    size_bytes,
    time_ns,
)
from dumbbell.spec.sources import Source

_JITTER = "The start is later by a time drawn uniformly from 0 to this, anew in each replication."


class Flow(SpecModel):
    """UDP traffic from one host to another.

    A file writes ``from``; in Python, where that is a keyword, it is ``from_``.
    """

    name: Name = Field(
        description="Unique among flows and probes; names its random numbers and its rows.",
        examples=["stream-1"],
    )
    from_: Name = Field(validation_alias="from", description="Sending host.")
    to: Name = Field(description="Receiving host.", examples=["receiver-1"])
    start: Time = Field(default="0s", description="When it starts.")
    stop: PositiveTime | None = Field(
        default=None, description="When it has stopped; at the end of the run when left out."
    )
    start_jitter: Time = Field(default="0s", description=_JITTER)
    dscp: Dscp = Field(default=0, description="Differentiated services code point.")
    ecn: Ecn = Field(default="not-ect", description="ECN field of its packets (RFC 3168).")
    source: Source = Field(description="What it sends; a table with a `kind`.")

    def resolved(self, duration_ns: int) -> dict[str, Any]:
        """The flow for the resolved description of a run that long."""
        return {
            "name": self.name,
            "from": self.from_,
            "to": self.to,
            "start_ns": time_ns(self.start),
            "stop_ns": duration_ns if self.stop is None else time_ns(self.stop),
            "start_jitter_ns": time_ns(self.start_jitter),
            "dscp": dscp_number(self.dscp),
            "ecn": self.ecn,
            "source": self.source.resolved(),
        }


class Ping(SpecModel):
    """Echo requests from one host to another, as ping sends them."""

    name: Name = Field(
        description="Unique among flows and probes; names its random numbers and its rows.",
        examples=["ping-1"],
    )
    kind: Literal["ping"] = Field(default="ping", description="ICMP echo.")
    from_: Name = Field(validation_alias="from", description="Asking host.")
    to: Name = Field(description="Answering host.", examples=["receiver-1"])
    interval: PositiveTime = Field(default="1s", description="Between requests (`ping -i`).")
    count: Count | None = Field(
        default=None,
        description="How many requests (`ping -c`); until the end of the run when left out.",
    )
    payload: EchoPayload = Field(default="56B", description="ICMP payload (`ping -s`).")
    start: Time = Field(default="0s", description="When the first request leaves.")
    start_jitter: Time = Field(default="0s", description=_JITTER)
    dscp: Dscp = Field(default=0, description="Differentiated services code point.")

    def resolved(self) -> dict[str, Any]:
        """The probe for the resolved description."""
        return {
            "name": self.name,
            "kind": self.kind,
            "from": self.from_,
            "to": self.to,
            "interval_ns": time_ns(self.interval),
            "count": self.count or 0,
            "payload_bytes": size_bytes(self.payload),
            "start_ns": time_ns(self.start),
            "start_jitter_ns": time_ns(self.start_jitter),
            "dscp": dscp_number(self.dscp),
        }
