"""Traffic sources of flows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Union

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    create_model,
    model_validator,
)

from dumbbell import units
from dumbbell.spec.base import Kind
from dumbbell.spec.conversions import conversion_of
from dumbbell.spec.fields import (
    BurstPackets,
    PacketRate,
    PacketSize,
    PositiveTime,
    SizeAt,
    Time,
    TransferCount,
    TransferSize,
    time_ns,
)
from dumbbell.spec.fields import size_bytes as bytes_of
from dumbbell.spec.laws import GapLaw, OversleepLaw, SizeLaw, size_law
from dumbbell.spec.refusal import Refused
from dumbbell.spec.replay import MOST_PACKETS, Trace, read_trace
from dumbbell.spec.round_trip import RoundTrip
from dumbbell.spec.source_forms import FORMS, WRITTEN_ONLY, SourceForm, SourceKey, ValueKind

TAKES: Mapping[ValueKind, Any] = {
    "gap-law": GapLaw,
    "size-law": SizeLaw,
    "size-at": SizeAt,
    "count": TransferCount,
    "size": TransferSize,
    "time": Time,
}
"""Python types of the keys' values; other types have their own models."""


class _Source(Kind):
    """Base class of sources."""

    @property
    def form(self) -> SourceForm:
        """Its form in an experiment file."""
        kind: str = type(self).model_fields["kind"].default
        return FORMS[kind] if kind in FORMS else WRITTEN_ONLY[kind]

    @property
    def transports(self) -> tuple[str, ...]:
        """Its allowed transports."""
        return self.form.transports

    def over(self, round_trip: Callable[[], RoundTrip], *, has_handshake: bool) -> _Source:
        """The source for the engine: this one, or an equivalent source for a given path.

        Args:
            round_trip: Returns the flow's path.
            has_handshake: Whether a TCP connection begins with a handshake.
        """
        return self

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        resolved: dict[str, Any] = {"kind": self.form.kind}
        for key in self.form.keys:
            value = getattr(self, key.name)
            if value is not None:
                resolved[key.resolved] = conversion_of(TAKES[key.value]).resolve(value)
            elif key.presence == "or-null":
                resolved[key.resolved] = None
        return resolved


class _Spaced(_Source):
    """A source with gaps given by one number. Over TCP the application writes at these times."""

    rate: PacketRate | None = Field(
        default=None, description="Packets per second on average. Either this or `gap`."
    )
    gap: PositiveTime | None = Field(default=None, description=FORMS["poisson"].meaning("gap"))
    size: SizeLaw = Field(description=FORMS["poisson"].meaning("size"))
    size_at: SizeAt = Field(default="wire", description=FORMS["poisson"].meaning("size_at"))

    @model_validator(mode="after")
    def _one_of_rate_and_gap(self) -> Self:
        if self.rate is None and self.gap is None:
            raise Refused("nothing", "a rate or a gap: this key is required", path="rate")
        if self.rate is not None and self.gap is not None:
            raise Refused(self.gap, "either rate or gap, not both", path="gap")
        return self

    def mean_gap_s(self) -> float:
        """Mean gap between packets, seconds."""
        if self.rate is not None:
            return 1.0 / units.parse_packet_rate_pps(self.rate)
        return units.parse_real_time_s(self.gap or "")


class Poisson(_Spaced):
    """Packets at the times of a Poisson process."""

    kind: Literal["poisson"] = Field(default="poisson", description=FORMS["poisson"].summary)

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        gap = {"law": "exponential", "mean": self.mean_gap_s()}
        size = size_law(self.size)
        return {"kind": self.kind, "gap": gap, "size": size, "size_at": self.size_at}


class Cbr(_Spaced):
    """Packets at constant gaps, the first at the flow's start."""

    kind: Literal["cbr"] = Field(default="cbr", description=FORMS["cbr"].summary)

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        gap = {"law": "constant", "value": self.mean_gap_s()}
        size = size_law(self.size)
        return {"kind": self.kind, "gap": gap, "size": size, "size_at": self.size_at}


class Renewal(_Source):
    """Packets, or over TCP writes, with independent gaps of any distribution."""

    kind: Literal["renewal"] = Field(default="renewal", description=FORMS["renewal"].summary)
    gap: GapLaw = Field(description=FORMS["renewal"].meaning("gap"))
    size: SizeLaw = Field(description=FORMS["renewal"].meaning("size"))
    size_at: SizeAt = Field(default="wire", description=FORMS["renewal"].meaning("size_at"))


class Ditg(_Source):
    """The packets of ITGSend over UDP (D-ITG 2.8.1)."""

    kind: Literal["ditg"] = Field(default="ditg", description=FORMS["ditg"].summary)
    gap: GapLaw = Field(description=FORMS["ditg"].meaning("gap"))
    size: SizeLaw = Field(description=FORMS["ditg"].meaning("size"))
    oversleep: OversleepLaw | None = Field(
        default=None,
        description=FORMS["ditg"].meaning("oversleep"),
    )


class Replay(_Source):
    """A recorded packet trace, replayed."""

    kind: Literal["replay"] = Field(default="replay", description=FORMS["replay"].summary)
    file: str | None = Field(
        default=None,
        description="CSV file in the experiment's folder with columns `time` (seconds from the "
        "flow's start; `time_ms`, `time_us` and `time_ns` say another unit) and `bytes`. "
        "Either this or `times` and `sizes`.",
        examples=["trace.csv"],
        json_schema_extra={"x-unit": "path"},
    )
    times: Annotated[Sequence[Time], AfterValidator(tuple)] | None = Field(
        default=None,
        description=FORMS["replay"].meaning("times"),
        json_schema_extra={"x-unit": "times"},
    )
    sizes: Annotated[Sequence[PacketSize], AfterValidator(tuple)] | None = Field(
        default=None,
        description=FORMS["replay"].meaning("sizes"),
        json_schema_extra={"x-unit": "sizes"},
    )
    size_at: SizeAt = Field(default="wire", description=FORMS["replay"].meaning("size_at"))
    _times_ns: tuple[int, ...] = PrivateAttr(default=())
    _sizes_bytes: tuple[int, ...] = PrivateAttr(default=())
    _folder: Path = PrivateAttr(default=Path())

    @classmethod
    def from_csv(cls, path: str | Path, *, size_at: Literal["wire", "payload"] = "wire") -> Self:
        """Read a trace from any path; see the key ``file``.

        Raises:
            SpecError: The file is not a packet trace.
        """
        path = Path(path)
        data = {"kind": "replay", "file": path.name, "size_at": size_at}
        return cls.read(data, {"folder": path.parent})

    def with_(self, **changes: Any) -> Self:
        """A copy with some keys changed; a file is looked for in the same folder again."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self).read(given | changes, {"folder": self._folder})

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> Self:
        if self.file is not None:
            if self.times is not None or self.sizes is not None:
                raise Refused(self.file, "either file, or times and sizes", path="file")
            trace = self._from_file(self.file, info)
        else:
            trace = self._inline()
        self._times_ns, self._sizes_bytes = trace.times_ns, trace.sizes_bytes
        return self

    def _from_file(self, name: str, info: ValidationInfo) -> Trace:
        if isinstance(info.context, Mapping):
            self._folder = Path(info.context.get("folder") or ".").resolve()
        try:
            return read_trace(name, self._folder)
        except Refused as refused:
            raise Refused(refused.value, refused.allowed, path="file") from None

    def _inline(self) -> Trace:
        if self.times is None or self.sizes is None:
            missing = "times" if self.times is None else "sizes"
            raise Refused("nothing", "a file, or both times and sizes", path=missing)
        if len(self.times) > MOST_PACKETS:
            raise Refused(f"{len(self.times)} times", f"at most {MOST_PACKETS}", path="times")
        if len(self.times) != len(self.sizes):
            raise Refused(f"{len(self.sizes)} sizes", f"{len(self.times)} sizes", path="sizes")
        times_ns = tuple(time_ns(text) for text in self.times)
        for index in range(1, len(times_ns)):
            if times_ns[index] < times_ns[index - 1]:
                allowed = "times that do not decrease"
                raise Refused(self.times[index], allowed, path=f"times[{index}]")
        return Trace(times_ns, tuple(bytes_of(text) for text in self.sizes))

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        return {
            "kind": self.kind,
            "times_ns": list(self._times_ns),
            "sizes_bytes": list(self._sizes_bytes),
            "size_at": self.size_at,
        }


class Bursts(_Source):
    """Bursts of several packets at one instant."""

    kind: Literal["bursts"] = Field(default="bursts", description=FORMS["bursts"].summary)
    packets: BurstPackets = Field(description=FORMS["bursts"].meaning("packets"))
    gap: GapLaw = Field(description=FORMS["bursts"].meaning("gap"))
    size: SizeLaw = Field(description=FORMS["bursts"].meaning("size"))
    size_at: SizeAt = Field(default="wire", description=FORMS["bursts"].meaning("size_at"))


class Greedy(_Source):
    """A greedy source: as much as TCP accepts, from the flow's start to its stop."""

    kind: Literal["greedy"] = Field(default="greedy", description=FORMS["greedy"].summary)
    first_write: TransferSize | None = Field(
        default=None, description=FORMS["greedy"].meaning("first_write")
    )
    rest_after: Time | None = Field(default=None, description=FORMS["greedy"].meaning("rest_after"))
    write_size: TransferSize | None = Field(
        default=None, description=FORMS["greedy"].meaning("write_size")
    )

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if self.first_write is not None and self.rest_after is None:
            raise Refused(
                "nothing", "a time: the first write precedes the others", path="rest_after"
            )
        if self.first_write is None and self.rest_after is not None:
            allowed = "nothing where there is no first_write"
            raise Refused(self.rest_after, allowed, path="rest_after")
        return self


_IPERF3_COOKIE_BYTES = 37
_HANDSHAKE_BYTES = 60
"""IP size of SYN and SYN-ACK with the options of Linux."""
_HEADERS_BYTES = 52
"""IPv4 and TCP with timestamps."""
_IPERF3_SERVER_NS = 250_000
"""Time from the cookie to the server's message: 0.19 to 0.27 ms in nine tests over a loopback
(Linux 6.18). The kernel acknowledges the cookie earlier."""


class Iperf3(_Source):
    """A greedy source that starts like iperf3's client.

    The data connection first carries a cookie (iperf_api.h: COOKIE_SIZE). The server reads it and
    starts the test by a message on the control connection, where both ends have set
    ``TCP_NODELAY``. The client writes data when this message arrives.
    """

    kind: Literal["iperf3"] = Field(default="iperf3", description=WRITTEN_ONLY["iperf3"].summary)
    write_size: TransferSize = Field(
        default="128kb", description=WRITTEN_ONLY["iperf3"].meaning("write_size")
    )

    def over(self, round_trip: Callable[[], RoundTrip], *, has_handshake: bool) -> Greedy:
        """A `Greedy` source that continues when the server's message arrives."""
        path = round_trip()
        there_bytes = [_HEADERS_BYTES + _IPERF3_COOKIE_BYTES]
        back_bytes = [_HEADERS_BYTES + 1]
        trips = 1
        if has_handshake:
            # The acknowledgement of the SYN-ACK goes ahead of the cookie.
            there_bytes += [_HANDSHAKE_BYTES, _HEADERS_BYTES]
            back_bytes += [_HANDSHAKE_BYTES]
            trips = 2
        rest_after_ns = (
            trips * path.propagation_ns
            + path.transmission_ns(there_bytes=there_bytes, back_bytes=back_bytes)
            + _IPERF3_SERVER_NS
        )
        return Greedy(
            first_write=f"{_IPERF3_COOKIE_BYTES}B",
            rest_after=f"{rest_after_ns}ns",
            write_size=self.write_size,
        )


class Sized(_Source):
    """One TCP transfer, started at the flow's start."""

    kind: Literal["sized"] = Field(default="sized", description=FORMS["sized"].summary)
    size: TransferSize = Field(description=FORMS["sized"].meaning("size"))


class ClosedLoop(_Source):
    """Closed-loop transfers with think times, each over its own connection."""

    kind: Literal["closed_loop"] = Field(
        default="closed_loop", description=FORMS["closed_loop"].summary
    )
    size: SizeLaw = Field(description=FORMS["closed_loop"].meaning("size"))
    think: GapLaw = Field(description=FORMS["closed_loop"].meaning("think"))
    transfers: TransferCount | None = Field(
        default=None, description=FORMS["closed_loop"].meaning("transfers")
    )


class Arrivals(_Source):
    """Transfers whose starts do not depend on earlier ones (open loop), each over its own
    connection."""

    kind: Literal["arrivals"] = Field(default="arrivals", description=FORMS["arrivals"].summary)
    gap: GapLaw = Field(description=FORMS["arrivals"].meaning("gap"))
    size: SizeLaw = Field(description=FORMS["arrivals"].meaning("size"))
    transfers: TransferCount | None = Field(
        default=None, description=FORMS["arrivals"].meaning("transfers")
    )


def _field(key: SourceKey) -> tuple[Any, Any]:
    takes = TAKES[key.value]
    if key.presence != "always":
        return takes | None, Field(default=None, description=key.meaning)
    default = "wire" if key.value == "size-at" else ...
    return takes, Field(default=default, description=key.meaning)


def plain_model(form: SourceForm) -> type[_Source]:
    """Create the model of a source without Python code of its own."""
    kind = (Literal[form.kind], Field(default=form.kind, description=form.summary))
    fields: dict[str, Any] = {"kind": kind, **{key.name: _field(key) for key in form.keys}}
    return create_model(
        form.class_name, __base__=_Source, __module__=__name__, __doc__=form.summary, **fields
    )


_OWN: tuple[type[_Source], ...] = (
    Poisson,
    Cbr,
    Renewal,
    Ditg,
    Replay,
    Bursts,
    Greedy,
    Iperf3,
    Sized,
    ClosedLoop,
    Arrivals,
)
_KINDS = [model.model_fields["kind"].default for model in _OWN]

MODELS: Mapping[str, type[_Source]] = MappingProxyType(
    {model.model_fields["kind"].default: model for model in _OWN}
    | {kind: plain_model(form) for kind, form in FORMS.items() if kind not in _KINDS}
)
"""By their words: those with names for ``from dumbbell.spec import``, then the engine's others."""

# Pickling finds a model by its name in this module.
globals().update({model.__name__: model for model in MODELS.values()})

if TYPE_CHECKING:
    Source = Annotated[
        Poisson
        | Cbr
        | Renewal
        | Ditg
        | Replay
        | Bursts
        | Greedy
        | Iperf3
        | Sized
        | ClosedLoop
        | Arrivals,
        Field(discriminator="kind"),
    ]
else:
    Source = Annotated[Union[tuple(MODELS.values())], Field(discriminator="kind")]  # noqa: UP007
