"""How a TCP flow behaves: a profile, and each knob apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from dumbbell import _engine, units
from dumbbell.spec import native
from dumbbell.spec.base import SpecModel
from dumbbell.spec.fields import (
    Flag,
    Time,
    quantity,
    quantity_schema,
    size_bytes,
    time_ns,
    whole,
    word,
)
from dumbbell.spec.refusal import Refused, nearest, one_of

LINUX_CONTROLLERS = (
    "reno",
    "cubic",
    "bbr",
    "bic",
    "cdg",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
)
"""Those of Linux 6.1 (net/ipv4/tcp_*.c), by the names that TCP_CONGESTION takes; tcp(7)."""

CONGESTION_CONTROLLERS = tuple(
    dict.fromkeys((*LINUX_CONTROLLERS, *_engine.congestion_controllers()))
)
"""Linux's and those that only the simulator has. What a backend has not, it refuses itself."""

PROFILES: dict[str, dict[str, Any]] = {
    "linux-6.1": {
        "initial_window_pkts": 10,
        "sack": True,
        "rack": True,
        "timestamps": True,
        "delayed_ack": True,
        "ack_every": 2,
        "ecn": False,
        "pacing": "auto",
        "hystart": True,
        "prr": "rfc6937",
        "small_queues": True,
        "min_rto_ns": 200_000_000,
        "gso_max_segs": 65535,  # GSO_MAX_SEGS
    },
    "rfc": {
        "initial_window_pkts": 10,  # RFC 6928
        "sack": True,
        "rack": False,
        "timestamps": True,
        "delayed_ack": True,
        "ack_every": 2,  # RFC 5681 section 4.2
        "ecn": False,
        "pacing": "auto",
        "hystart": True,
        "prr": "rfc9937",
        "small_queues": False,
        "min_rto_ns": 1_000_000_000,  # RFC 6298 section 2.4
        "gso_max_segs": 1,
    },
}
"""What each profile sets where the description says nothing."""

MOST_SEGMENTS = 1000
MOST_ACK_EVERY = 64
MOST_GSO_SEGMENTS = 65535
MOST_CWND_CHANGES = 10_000
MOST_PARAMETERS = 64
LARGEST_CWND_PKTS = 100_000
LEAST_BUFFER_BYTES = 2048
LARGEST_BUFFER_BYTES = 2**30
"""RFC 7323 section 2.3: a window is scaled to at most 1 GiB."""
PACKET_MEMORY_BYTES = 4352
"""Of a full packet in a send buffer, by a distribution's kernel."""
SHORT_PACKET_MEMORY_BYTES = 2304
"""The same where the kernel's largest header is short."""
LEAST_PACKET_MEMORY_BYTES, LARGEST_PACKET_MEMORY_BYTES = 1536, 65536


def _controller(value: object) -> str:
    if isinstance(value, str) and value.startswith(native.PREFIX):
        return native.check_reference(value)
    if not isinstance(value, str) or value not in CONGESTION_CONTROLLERS:
        hint = nearest(value, CONGESTION_CONTROLLERS)
        allowed = f"{one_of(CONGESTION_CONTROLLERS)}, or file:NAME.c, one of one's own"
        raise Refused(value, allowed, hint)
    return value


def _sha256(value: object) -> str:
    if not isinstance(value, str) or re.fullmatch("[0-9a-f]{64}", value) is None:
        raise Refused(value, "SHA-256 of the C file: 64 hexadecimal digits")
    return value


def _parameters(value: object) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise Refused(value, "a table of names and whole numbers, such as { alpha = 2 }")
    if len(value) > MOST_PARAMETERS:
        raise Refused(f"{len(value)} parameters", f"at most {MOST_PARAMETERS} parameters")
    for name, number in value.items():
        if not isinstance(name, str) or re.fullmatch("[A-Za-z0-9_]{1,64}", name) is None:
            raise Refused(name, "a name of 1 to 64 letters, digits and _")
        is_whole = isinstance(number, int) and not isinstance(number, bool)
        if not is_whole or not -(2**63) <= number < 2**63:
            raise Refused(number, "a whole number of 64 bits", path=name)
    return dict(sorted(value.items()))


def _pacing(value: object) -> bool | str:
    if not isinstance(value, bool) and value != "auto":
        raise Refused(value, 'true, false or "auto"', nearest(value, ["auto"]))
    return value


def _buffer(value: object) -> str:
    allowed = 'a size with its unit from 2048 bytes to 1 GiB, such as "1mb"'
    bounds = (LEAST_BUFFER_BYTES, LARGEST_BUFFER_BYTES)
    return quantity(value, units.parse_size_bytes, bounds, allowed, "B")


def _packet_memory(value: object) -> str:
    bounds = (LEAST_PACKET_MEMORY_BYTES, LARGEST_PACKET_MEMORY_BYTES)
    allowed = 'a size with its unit from 1536 to 65536 bytes, such as "2304B"'
    return quantity(value, units.parse_size_bytes, bounds, allowed, "B")


def _whole_schema(most: int, example: int) -> WithJsonSchema:
    unit = {"examples": [example], "x-unit": "segments"}
    return WithJsonSchema({"type": "integer", "minimum": 1, "maximum": most, **unit})


CongestionControl = Annotated[
    str,
    BeforeValidator(_controller),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": list(CONGESTION_CONTROLLERS)},
                {"type": "string", "pattern": r"^file:.+\.c$"},
            ],
            "x-unit": "word",
        }
    ),
]
_Sha256 = Annotated[
    str,
    BeforeValidator(_sha256),
    WithJsonSchema({"type": "string", "pattern": "^[0-9a-f]{64}$", "x-unit": "64 digits"}),
]
_Parameters = Annotated[
    Mapping[str, int],
    BeforeValidator(_parameters),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {"type": "integer"},
            "examples": [{"increase": 2}],
            "x-unit": "table",
        }
    ),
]
_Profile = Annotated[
    str,
    BeforeValidator(word(*PROFILES)),
    WithJsonSchema({"type": "string", "enum": list(PROFILES), "x-unit": "word"}),
]
_Prr = Annotated[
    str,
    BeforeValidator(word("rfc6937", "rfc9937")),
    WithJsonSchema({"type": "string", "enum": ["rfc6937", "rfc9937"], "x-unit": "word"}),
]
_Pacing = Annotated[
    bool | str,
    BeforeValidator(_pacing),
    WithJsonSchema(
        {"anyOf": [{"type": "boolean"}, {"const": "auto"}], "x-unit": 'true, false, `"auto"`'}
    ),
]
_Segments = Annotated[
    int, BeforeValidator(whole(1, MOST_SEGMENTS)), _whole_schema(MOST_SEGMENTS, 10)
]
_AckEvery = Annotated[
    int, BeforeValidator(whole(1, MOST_ACK_EVERY)), _whole_schema(MOST_ACK_EVERY, 2)
]
_Buffer = Annotated[str, BeforeValidator(_buffer), quantity_schema("size", "1mb")]

_PacketMemory = Annotated[str, BeforeValidator(_packet_memory), quantity_schema("size", "2304B")]

_GsoSegments = Annotated[
    int, BeforeValidator(whole(1, MOST_GSO_SEGMENTS)), _whole_schema(MOST_GSO_SEGMENTS, 44)
]

_Cwnd = Annotated[
    int,
    BeforeValidator(whole(1, LARGEST_CWND_PKTS)),
    WithJsonSchema(
        {
            "type": "integer",
            "minimum": 1,
            "maximum": LARGEST_CWND_PKTS,
            "examples": [40],
            "x-unit": "packets",
        }
    ),
]

_BY_PROFILE = "; as the profile has it when left out"


class CwndChange(SpecModel):
    """A new congestion window from an instant on; see the controller ``manual``."""

    at: Time = Field(description="From when on, counted from the run's start.")
    cwnd: _Cwnd = Field(description="Congestion window from then on.")

    def resolved(self) -> dict[str, Any]:
        """The change for the resolved description."""
        return {"at_ns": time_ns(self.at), "cwnd_pkts": self.cwnd}


def _in_order(changes: Sequence[CwndChange]) -> tuple[CwndChange, ...]:
    """Refuses too many changes, and such as go back in time or stand still."""
    if len(changes) > MOST_CWND_CHANGES:
        raise Refused(f"{len(changes)} changes", f"at most {MOST_CWND_CHANGES} changes")
    for index, change in enumerate(changes[1:], start=1):
        before = changes[index - 1].at
        if time_ns(change.at) <= time_ns(before):
            allowed = f"a time after {before}, that of the change before it"
            raise Refused(change.at, allowed, path=f"[{index}].at")
    return tuple(changes)


_CwndChanges = Annotated[Sequence[CwndChange], AfterValidator(_in_order)]


class Tcp(SpecModel):
    """Settings of a TCP flow; both its ends have them."""

    profile: _Profile = Field(
        default="linux-6.1",
        description="`linux-6.1`: what that kernel does. `rfc`: what the RFCs say.",
    )
    congestion_control: CongestionControl = Field(
        default="cubic",
        description="Congestion controller, by its name in Linux; or in the simulator `manual`, a "
        "window by hand, or `file:NAME.c`, [one of your own](controllers.md).",
    )
    parameters: _Parameters = Field(
        default={},
        description="Of a controller `file:NAME.c`: values of its parameters by their names. "
        "Others pay no heed to them, so that one file compares them.",
    )
    controller_sha256: _Sha256 | None = Field(
        default=None,
        description="Of a controller `file:NAME.c`: the SHA-256 that its file has to have. With it "
        "the file need not be there, where its content was allowed before.",
    )
    initial_window: _Segments | None = Field(
        default=None, description=f"Initial window (RFC 6928){_BY_PROFILE}: 10 in both."
    )
    sack: Flag | None = Field(
        default=None, description=f"Selective acknowledgements (RFC 2018){_BY_PROFILE}: true."
    )
    rack: Flag | None = Field(
        default=None,
        description=f"Loss detection by time and tail loss probes (RFC 8985){_BY_PROFILE}: true "
        "in `linux-6.1`, false in `rfc`.",
    )
    timestamps: Flag | None = Field(
        default=None, description=f"Timestamps (RFC 7323){_BY_PROFILE}: true."
    )
    delayed_ack: Flag | None = Field(
        default=None, description=f"Delayed acknowledgements (RFC 5681){_BY_PROFILE}: true."
    )
    ack_every: _AckEvery | None = Field(
        default=None,
        description=f"Full segments for each of them{_BY_PROFILE}: 2.",
    )
    ecn: Flag | None = Field(
        default=None,
        description=f"Explicit congestion notification (RFC 3168){_BY_PROFILE}: false.",
    )
    pacing: _Pacing | None = Field(
        default=None,
        description="Whether segments are spaced out; `auto`: when the congestion controller "
        f"asks for it{_BY_PROFILE}: `auto`.",
    )
    hystart: Flag | None = Field(
        default=None,
        description="Leaving slow start before losses: HyStart in `linux-6.1`, HyStart++ "
        f"(RFC 9406) in `rfc`{_BY_PROFILE}: true.",
    )
    prr: _Prr | None = Field(
        default=None,
        description=f"Proportional rate reduction{_BY_PROFILE}: `rfc6937` in `linux-6.1`, "
        "`rfc9937` in `rfc`.",
    )
    small_queues: Flag | None = Field(
        default=None,
        description="TCP small queues: a sender leaves about a millisecond, two packets at least, "
        f"in the queue of its own host{_BY_PROFILE}: true in `linux-6.1`, false in `rfc`.",
    )
    min_rto: Time | None = Field(
        default=None,
        description="Lower bound of the retransmission timeout: of its variance term in "
        f"`linux-6.1`, of the whole in `rfc`{_BY_PROFILE}: 200 ms and 1 s (RFC 6298).",
    )
    send_buffer: _Buffer | None = Field(
        default=None, description="Send buffer; one that grows as Linux's when left out."
    )
    receive_window: _Buffer | None = Field(
        default=None, description="Receive window; one that grows as Linux's when left out."
    )
    packet_memory: _PacketMemory = Field(
        default=f"{PACKET_MEMORY_BYTES}B",
        description="Memory that a kernel reckons a full packet takes of a send buffer that grows, "
        "which has room for two windows (`tcp_sndbuf_expand`): 4352 bytes in a distribution's, or "
        "2304 where the largest header is short. On the kernel as it is there.",
    )
    gso_max_segs: _GsoSegments | None = Field(
        default=None,
        description="Segments that the sender's TCP hands down at once, as one sk_buff, at most "
        "(`gso_max_segs` of its host's devices, ip-link(8)): bursts of up to this number leave "
        f"back to back. With 1 each goes by itself{_BY_PROFILE}: 65535, the kernel's own, in "
        "`linux-6.1`, 1 in `rfc`.",
    )
    handshake: Flag = Field(
        default=True,
        description="A connection begins with a SYN and its answer (RFC 9293). Without, both ends "
        "know of each other and data go out at once, as from ns-2's one-way agents (`Agent/TCP`). "
        "The kernel always has one.",
    )
    cwnd_changes: _CwndChanges = Field(
        default=(),
        description="Windows of the controller `manual`, which others pay no heed to: the initial "
        "window holds until the first of them.",
    )

    @model_validator(mode="after")
    def _check_bursts(self) -> Self:
        if self.profile == "rfc" and self.gso_max_segs not in (None, 1):
            allowed = "1 in the profile rfc, which sends segments one by one"
            raise Refused(self.gso_max_segs, allowed, "1", path="gso_max_segs")
        return self

    _folder: Path | None = PrivateAttr(default=None)
    _found_sha256: str | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _find_controller(self, info: ValidationInfo) -> Self:
        """Which content the file has; nothing is compiled here."""
        if not self.congestion_control.startswith(native.PREFIX):
            return self
        if isinstance(info.context, Mapping) and "folder" in info.context:
            self._folder = Path(info.context["folder"] or ".").resolve()
        is_of_a_file = self._folder is not None
        wanted = self.controller_sha256
        if wanted is not None and (not is_of_a_file or native.source_of(wanted) is not None):
            self._found_sha256 = wanted
            return self
        try:
            self._found_sha256 = native.found_source(
                self.congestion_control,
                self._folder or Path(),
                is_of_a_file=is_of_a_file,
                wanted=wanted,
            )
        except Refused as error:
            raise Refused(error.value, error.allowed, path="congestion_control") from None
        return self

    def with_(self, **changes: Any) -> Self:
        """A copy with some keys changed; a file is looked for in the same folder again."""
        if self._folder is None:
            return super().with_(**changes)
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self).read(given | changes, {"folder": self._folder})

    def resolved(self) -> dict[str, Any]:
        """The settings for the resolved description."""
        given = {
            "initial_window_pkts": self.initial_window,
            "sack": self.sack,
            "rack": self.rack,
            "timestamps": self.timestamps,
            "delayed_ack": self.delayed_ack,
            "ack_every": self.ack_every,
            "ecn": self.ecn,
            "pacing": self.pacing,
            "hystart": self.hystart,
            "prr": self.prr,
            "small_queues": self.small_queues,
            "min_rto_ns": None if self.min_rto is None else time_ns(self.min_rto),
            "gso_max_segs": self.gso_max_segs,
        }
        chosen = {key: value for key, value in given.items() if value is not None}
        return {
            "profile": self.profile,
            "congestion_control": self.congestion_control,
            **PROFILES[self.profile],
            **chosen,
            "send_buffer_bytes": _bytes_or_0(self.send_buffer),
            "receive_window_bytes": _bytes_or_0(self.receive_window),
            "packet_memory_bytes": size_bytes(self.packet_memory),
            **({} if self.handshake else {"handshake": False}),
            **self._changes(),
            **self._controller(),
        }

    def _controller(self) -> dict[str, Any]:
        if self._found_sha256 is None:
            return {}
        parameters = dict(self.parameters)
        return {"controller": {"sha256": self._found_sha256, "parameters": parameters}}

    def _changes(self) -> dict[str, Any]:
        """Only where there are some: a description without them stays what it was."""
        changes = [change.resolved() for change in self.cwnd_changes]
        return {"cwnd_changes": changes} if changes else {}


def _bytes_or_0(text: str | None) -> int:
    return 0 if text is None else size_bytes(text)
