"""Flows and probes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import model_validator

from dumbbell.spec.fields import IRTT_PAYLOAD_BYTES, LONGEST_NAME, size_bytes, time_ns
from dumbbell.spec.keys import FLOW, ONE_FLOW, PROBE, key_fields, key_model, resolved_keys
from dumbbell.spec.refusal import Refused
from dumbbell.spec.resolved import Resolved
from dumbbell.spec.round_trip import RoundTrip
from dumbbell.spec.sources import Source
from dumbbell.spec.tcp import Tcp

FIRST_PORT = 10_000
"""Default port of the first flow."""
LAST_PORT: int = FLOW["port"].bounds["most"]
PROBE_PORTS = (7, 2112)
"""Ports that answer UDP probes: echo (RFC 862) and irtt."""

if TYPE_CHECKING:
    from dumbbell.spec.key_models import FlowKeys, ProbeKeys
else:
    FlowKeys = key_model(
        "FlowKeys", __name__, key_fields(FLOW, {"tcp": (Tcp, ...), "source": (Source, ...)})
    )
    ProbeKeys = key_model("ProbeKeys", __name__, key_fields(PROBE))


class Flow(FlowKeys):
    """Traffic from one host to another, over UDP or TCP.

    A file writes ``from``; in Python, where that is a keyword, it is ``from_``.
    """

    @model_validator(mode="after")
    def _check_last_name(self) -> Self:
        last = self.names[-1]
        if len(last) > LONGEST_NAME:
            allowed = f"at most {LONGEST_NAME} characters with the number behind it, as in {last}"
            raise Refused(self.name, allowed, path="name")
        return self

    @model_validator(mode="after")
    def _check_ports(self) -> Self:
        if self.ports and self.ports[-1] > LAST_PORT:
            allowed = f"a port from which {len(self.ports)} flows have ports up to {LAST_PORT}"
            raise Refused(self.port, allowed, path="port")
        for port in PROBE_PORTS:
            if port in self.ports:
                allowed = f"ports without {port}, at which probes are answered"
                raise Refused(self.port, allowed, path="port")
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
        """``udp`` or ``tcp``: the given transport, or the one implied by source and settings."""
        if self.transport is not None:
            return self.transport
        return "tcp" if self.tcp is not None or "udp" not in self.source.transports else "udp"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the flows: its own, or with ``count`` numbered names."""
        if self.count is None:
            return (self.name,)
        return tuple(f"{self.name}-{number}" for number in range(1, self.count + 1))

    @property
    def ports(self) -> tuple[int, ...]:
        """Ports of the flows, if given: its own, or with ``count`` consecutive ones."""
        return () if self.port is None else tuple(self.port + i for i in range(self.count or 1))

    def resolved(self, duration_ns: int, network: Resolved) -> list[dict[str, Any]]:
        """The flows for the resolved description, for a duration and a network."""
        alike = self._resolved(duration_ns, network)
        ports = [{}] * len(self.names) if self.port is None else [{"port": at} for at in self.ports]
        return [
            {**alike, "name": name, **port} for name, port in zip(self.names, ports, strict=True)
        ]

    def _resolved(self, duration_ns: int, network: Resolved) -> dict[str, Any]:
        def round_trip() -> RoundTrip:
            return RoundTrip.between(network, self.from_, self.to, time_ns(self.start))

        over_tcp, tcp = self.carried_by == "tcp", self.tcp or Tcp()
        source = self.source.over(round_trip, has_handshake=tcp.handshake).resolved()
        if over_tcp and "size_at" in source:
            source["size_at"] = "payload"
        return {
            **resolved_keys(self, ONE_FLOW),
            "stop_ns": duration_ns if self.stop is None else time_ns(self.stop),
            "transport": self.carried_by,
            "tcp": tcp.resolved() if over_tcp else None,
            "source": source,
        }


class Ping(ProbeKeys):
    """Echo requests from one host to another: as ping sends them, over UDP, or irtt's."""

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
        return resolved_keys(self, PROBE) | {"payload_bytes": self._payload_bytes()}
