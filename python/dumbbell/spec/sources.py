"""What a flow sends."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, ValidationInfo, model_validator

from dumbbell import units
from dumbbell.spec.base import Kind
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
from dumbbell.spec.laws import GapLaw, OversleepLaw, SizeLaw, gap_law, size_law
from dumbbell.spec.refusal import Refused
from dumbbell.spec.replay import MOST_PACKETS, Trace, read_trace

_SIZE_AT = (
    "`wire`: the size drawn, rounded to whole bytes, is the packet's size at every queue, as in "
    "queueing theory. `payload`: it is UDP payload; headers (28 bytes), IP fragments and each "
    "link's overhead are added."
)
_SIZE = "Size of a packet, drawn anew for each."
_TRANSFERS = (
    "So many, and then the flow is silent; as many as there is time for when left out. Fewer are "
    "begun where the run, or the flow, ends before."
)


class _Source(Kind):
    """What all sources have.

    Attributes:
        transports: What can carry it.
    """

    transports: ClassVar[tuple[str, ...]] = ("udp",)

    @abstractmethod
    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""


class _Spaced(_Source):
    """A source whose gaps follow from one number. Over TCP, it writes at these instants."""

    transports: ClassVar[tuple[str, ...]] = ("udp", "tcp")

    rate: PacketRate | None = Field(
        default=None, description="Packets per second on average. Either this or `gap`."
    )
    gap: PositiveTime | None = Field(
        default=None, description="Time between packets on average. Either this or `rate`."
    )
    size: SizeLaw = Field(description=_SIZE)
    size_at: SizeAt = Field(default="wire", description=_SIZE_AT)

    @model_validator(mode="after")
    def _one_of_rate_and_gap(self) -> Self:
        if self.rate is None and self.gap is None:
            raise Refused("nothing", "a rate or a gap: this key is required", path="rate")
        if self.rate is not None and self.gap is not None:
            raise Refused(self.gap, "either rate or gap, not both", path="gap")
        return self

    def mean_gap_s(self) -> float:
        """Seconds between packets on average."""
        if self.rate is not None:
            return 1.0 / units.parse_packet_rate_pps(self.rate)
        return units.parse_real_time_s(self.gap or "")


class Poisson(_Spaced):
    """Packets at the instants of a Poisson process."""

    kind: Literal["poisson"] = Field(default="poisson", description="Exponential gaps.")

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        gap = {"law": "exponential", "mean": self.mean_gap_s()}
        size = size_law(self.size)
        return {"kind": self.kind, "gap": gap, "size": size, "size_at": self.size_at}


class Cbr(_Spaced):
    """Packets at constant gaps, the first at the flow's start."""

    kind: Literal["cbr"] = Field(default="cbr", description="Constant gaps.")

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        gap = {"law": "constant", "value": self.mean_gap_s()}
        size = size_law(self.size)
        return {"kind": self.kind, "gap": gap, "size": size, "size_at": self.size_at}


class Renewal(_Source):
    """Packets, or over TCP writes, with independent gaps of any law."""

    transports: ClassVar[tuple[str, ...]] = ("udp", "tcp")

    kind: Literal["renewal"] = Field(default="renewal", description="Gaps of any law.")
    gap: GapLaw = Field(description="Time between packets.")
    size: SizeLaw = Field(description=_SIZE)
    size_at: SizeAt = Field(default="wire", description=_SIZE_AT)

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        return {
            "kind": self.kind,
            "gap": gap_law(self.gap),
            "size": size_law(self.size),
            "size_at": self.size_at,
        }


class Ditg(_Source):
    """What ITGSend really sends when asked for UDP (D-ITG 2.8.1)."""

    kind: Literal["ditg"] = Field(
        default="ditg",
        description="ITGSend: payload cut to whole bytes from 20 to 64000, IP fragments.",
    )
    gap: GapLaw = Field(
        description="Time between packets asked for: `-E 110` is `exponential 110pps`, "
        "`-C 110` is `constant 110pps`."
    )
    size: SizeLaw = Field(description="Payload asked for: `-e 512` is `exponential 512B`.")
    oversleep: OversleepLaw | None = Field(
        default=None,
        description="What each sleep overshoots, added to the gap; nothing when left out. "
        "80 to 100 us were seen on Linux 6.18.",
    )

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        oversleep = None if self.oversleep is None else gap_law(self.oversleep)
        return {
            "kind": self.kind,
            "gap": gap_law(self.gap),
            "size": size_law(self.size),
            "oversleep": oversleep,
        }


class Replay(_Source):
    """A recorded trace, sent again."""

    kind: Literal["replay"] = Field(default="replay", description="A trace.")
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
        description="Instants from the flow's start, not decreasing.",
        json_schema_extra={"x-unit": "times"},
    )
    sizes: Annotated[Sequence[PacketSize], AfterValidator(tuple)] | None = Field(
        default=None, description="As many sizes.", json_schema_extra={"x-unit": "sizes"}
    )
    size_at: SizeAt = Field(default="wire", description=_SIZE_AT)
    _times_ns: tuple[int, ...] = PrivateAttr(default=())
    _sizes_bytes: tuple[int, ...] = PrivateAttr(default=())
    _folder: Path = PrivateAttr(default=Path())

    @classmethod
    def from_csv(cls, path: str | Path, *, size_at: Literal["wire", "payload"] = "wire") -> Self:
        """A trace from a file anywhere; see the key ``file``.

        Raises:
            SpecError: It is not such a file.
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
    """Several packets at one instant, again and again."""

    kind: Literal["bursts"] = Field(default="bursts", description="Packets at one instant.")
    packets: BurstPackets = Field(description="How many at a time.")
    gap: GapLaw = Field(description="Time from one burst to the next; the first is at the start.")
    size: SizeLaw = Field(description=_SIZE)
    size_at: SizeAt = Field(default="wire", description=_SIZE_AT)

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        return {
            "kind": self.kind,
            "packets": self.packets,
            "gap": gap_law(self.gap),
            "size": size_law(self.size),
            "size_at": self.size_at,
        }


class Greedy(_Source):
    """As much as TCP takes, from the flow's start to its stop."""

    transports: ClassVar[tuple[str, ...]] = ("tcp",)
    kind: Literal["greedy"] = Field(default="greedy", description="As much as TCP takes.")

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        return {"kind": self.kind}


class Sized(_Source):
    """One transfer over TCP, begun at the flow's start."""

    transports: ClassVar[tuple[str, ...]] = ("tcp",)
    kind: Literal["sized"] = Field(default="sized", description="One transfer.")
    size: TransferSize = Field(description="Payload of it.")

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        return {"kind": self.kind, "bytes": bytes_of(self.size)}


class ClosedLoop(_Source):
    """A user who fetches, thinks, and fetches again: each transfer has its own connection."""

    transports: ClassVar[tuple[str, ...]] = ("tcp",)
    kind: Literal["closed_loop"] = Field(
        default="closed_loop", description="Transfers one after the other."
    )
    size: SizeLaw = Field(description="Payload of a transfer, drawn anew for each.")
    think: GapLaw = Field(
        description="Time before the first transfer, and from the end of one to the start of "
        "the next, drawn anew for each."
    )
    transfers: TransferCount | None = Field(default=None, description=_TRANSFERS)

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        source = {"kind": self.kind, "size": size_law(self.size), "think": gap_law(self.think)}
        return {**source, **_most(self.transfers)}


class Arrivals(_Source):
    """Transfers that begin whether or not earlier ones are over, each over its own connection."""

    transports: ClassVar[tuple[str, ...]] = ("tcp",)
    kind: Literal["arrivals"] = Field(
        default="arrivals", description="Transfers that begin at instants of their own."
    )
    gap: GapLaw = Field(
        description="Time before the first transfer, and from the start of one to the start of "
        "the next: `exponential 5pps` is a Poisson process of five transfers a second."
    )
    size: SizeLaw = Field(description="Payload of a transfer, drawn anew for each.")
    transfers: TransferCount | None = Field(default=None, description=_TRANSFERS)

    def resolved(self) -> dict[str, Any]:
        """The source for the resolved description."""
        source = {"kind": self.kind, "gap": gap_law(self.gap), "size": size_law(self.size)}
        return {**source, **_most(self.transfers)}


def _most(transfers: int | None) -> dict[str, int]:
    """The key only where it was given: descriptions kept before there was one stay as they are."""
    return {} if transfers is None else {"transfers": transfers}


Source = Annotated[
    Poisson | Cbr | Renewal | Ditg | Replay | Bursts | Greedy | Sized | ClosedLoop | Arrivals,
    Field(discriminator="kind"),
]
