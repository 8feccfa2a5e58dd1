"""Variation of a link over a run: from a file, from its content as a table, or by a random process.

``trace = "file"`` is short for ``trace = { file = "file" }``. A file is read in pieces and stored
in the compact form of the resolved description (``spec/src/trace``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

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
from dumbbell.errors import SpecError
from dumbbell.spec.base import Kind, SpecModel
from dumbbell.spec.conversions import Conversion, keys_of, resolved, same
from dumbbell.spec.fields import (
    FASTEST_BPS,
    SIZE_BYTES,
    PositiveTime,
    Probability,
    Rate,
    Time,
    quantity,
    quantity_schema,
    time_ns,
)
from dumbbell.spec.laws import GapLaw, OversleepLaw
from dumbbell.spec.refusal import Refused, nearest, one_of, shown
from dumbbell.spec.replay import file_inside

LARGEST_FILE_BYTES = 512 << 20
MAHIMAHI_OVERHEAD_BYTES = 4
"""Overhead of a packet on the TUN device where Mahimahi counts bytes."""
LARGEST_OPPORTUNITY_BYTES = 6_500_631
"""The longest A-MPDU (IEEE 802.11ax-2021)."""
NO_RATE = "0bit"
_PIECE_BYTES = 1 << 20


def _trace_rate_bps(text: str) -> int:
    return 0 if text == NO_RATE else units.parse_rate_bps(text)


def _trace_rate(value: object) -> str:
    allowed = f'a rate of at most 4tbit, such as "1mbit", or "{NO_RATE}" for an outage'
    if value in (0, "0"):
        raise Refused(value, allowed, NO_RATE)
    return quantity(value, _trace_rate_bps, (0, FASTEST_BPS), allowed, "bit")


def _opportunity(value: object) -> str:
    allowed = 'a size from 1 to 6500631 bytes, such as "1504B"'
    within = (1, LARGEST_OPPORTUNITY_BYTES)
    return quantity(value, units.parse_size_bytes, within, allowed, "B")


_TraceRate = Annotated[
    str,
    BeforeValidator(_trace_rate),
    quantity_schema("rate", "1mbit", NO_RATE),
    Conversion(_trace_rate_bps, lambda bps: units.format_rate(bps) if bps else NO_RATE, "bps"),
]
_Bytes = Annotated[str, BeforeValidator(_opportunity), quantity_schema("size", "1504B"), SIZE_BYTES]
_Gaps = Annotated[
    str,
    WithJsonSchema({"type": "string", "examples": ["0*3 2 1*4"], "x-unit": "gaps, ms"}),
    Conversion(same, same, "ms"),
]
_Steps = Annotated[
    str,
    WithJsonSchema({"type": "string", "examples": ["0r10md20m 500mr0"], "x-unit": "steps"}),
]


class _Trace(Kind):
    """Base class of traces."""

    own_overhead_bytes: ClassVar[int | None] = None
    """Of packets where the trace was recorded; None where it does not say."""

    @property
    def says_rate(self) -> bool:
        """Whether it says from the run's start on how fast packets leave."""
        return says_rate(self.resolved())

    def resolved(self) -> dict[str, Any]:
        """The trace for the resolved description."""
        found = resolved(self)
        return {key: value for key, value in found.items() if value is not None}


class TraceFile(Kind):
    """A trace from a file."""

    kind: Literal["file"] = Field(default="file", description="A file; the word may be left out.")
    file: str = Field(
        description="In the experiment's folder: a trace of Mahimahi (a millisecond on each line), "
        "or CSV with a column `time` (seconds) and some of `rate` (bit/s), `delay` (seconds) and "
        "`loss`.",
        examples=["line.csv"],
        json_schema_extra={"x-unit": "path"},
    )
    repeat: PositiveTime | None = Field(
        default=None,
        description="After how long a CSV file begins again; never when left out. A trace of "
        "Mahimahi begins again after its last opportunity.",
    )
    _resolved: dict[str, Any] = PrivateAttr(default_factory=dict)
    _folder: Path = PrivateAttr(default=Path())

    def with_(self, **changes: Any) -> Self:
        """A copy with some keys changed; a file is looked for in the same folder again."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self).read(given | changes, {"folder": self._folder})

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> Self:
        if isinstance(info.context, Mapping):
            self._folder = Path(info.context.get("folder") or ".").resolve()
        try:
            found = read_trace(self.file, self._folder)
        except Refused as refused:
            raise Refused(refused.value, refused.allowed, path="file") from None
        if self.repeat is not None:
            if found["kind"] != "steps":
                allowed = "nothing: a trace of Mahimahi begins again after its last opportunity"
                raise Refused(self.repeat, allowed, path="repeat")
            found["repeat_ns"] = time_ns(self.repeat)
        self._resolved = found
        return self

    @property
    def own_overhead_bytes(self) -> int | None:
        """Of packets where the trace was recorded; None where it does not say."""
        is_mahimahi = self._resolved["kind"] == "opportunities"
        return MAHIMAHI_OVERHEAD_BYTES if is_mahimahi else None

    @property
    def says_rate(self) -> bool:
        """Whether it says from the run's start on how fast packets leave."""
        return says_rate(self._resolved)

    def resolved(self) -> dict[str, Any]:
        """The trace for the resolved description."""
        return dict(self._resolved)


class Opportunities(_Trace):
    """Repeated transmission opportunities of a number of bytes."""

    kind: Literal["opportunities"] = Field(
        default="opportunities", description="Instants at which some bytes may leave, in rounds."
    )
    gaps: _Gaps = Field(
        description="Milliseconds from one to the next, `*N` for N alike. The last ends the round."
    )
    size: _Bytes = Field(default="1504B", description="That may leave at each.")


class Steps(_Trace):
    """New rates, delays and losses at given times."""

    kind: Literal["steps"] = Field(
        default="steps", description="New rates, delays and losses at given times."
    )
    steps: _Steps = Field(
        description="Each the nanoseconds since the one before it, and what is new: `r` bit/s (0: "
        "an outage), `d` ns of delay, `l` losses in a billion packets; `k`, `m` and `g` are "
        "thousands, millions and billions."
    )
    repeat: PositiveTime | None = Field(
        default=None, description="After how long it begins again; never when left out."
    )


class OnOff(_Trace):
    """A rate that alternates with outages."""

    kind: Literal["on-off"] = Field(
        default="on-off", description="A rate, and outages between; on at first."
    )
    rate: Rate = Field(description="While it is on.")
    on: GapLaw = Field(description="How long it is on.")
    off: GapLaw = Field(description="How long it is off.")


class TraceState(SpecModel):
    """A state of a Markov chain; omitted values are those of the link."""

    hold: GapLaw = Field(description="How long it is held.")
    rate: _TraceRate | None = Field(default=None, description="Rate; `0bit`: an outage.")
    delay: Time | None = Field(default=None, description="Delay.")
    loss: Probability | None = Field(default=None, description="Probability of loss.")
    next: Annotated[Sequence[float], AfterValidator(tuple)] = Field(
        default=(),
        description="Weight of each state as the next one; all others alike when left out.",
        json_schema_extra={"x-unit": "numbers"},
    )

    def resolved(self) -> dict[str, Any]:
        """The state for the resolved description."""
        return resolved(self)


class Markov(_Trace):
    """A Markov chain of states, starting with the first."""

    kind: Literal["markov"] = Field(
        default="markov",
        description="States that follow each other by chance, the first one first.",
    )
    states: Annotated[Sequence[TraceState], AfterValidator(tuple)] = Field(
        description="Two or more."
    )

    def resolved(self) -> dict[str, Any]:
        """The chain for the resolved description."""
        return {"kind": self.kind, "states": [state.resolved() for state in self.states]}


class Handover(_Trace):
    """A new rate and delay at every multiple of an interval, after an outage."""

    kind: Literal["handover"] = Field(
        default="handover",
        description="A new rate and delay at every multiple of an interval, after an outage.",
    )
    every: PositiveTime = Field(default="15s", description="The interval.")
    outage: OversleepLaw = Field(default="0s", description="How long nothing is sent.")
    least_rate: Rate = Field(description="Slowest rate; each is as likely.")
    most_rate: Rate = Field(description="Fastest rate.")
    least_delay: Time = Field(default="0s", description="Shortest delay; each is as likely.")
    most_delay: Time = Field(default="0s", description="Longest delay.")


class Aggregation(_Trace):
    """Bursts of service."""

    kind: Literal["aggregation"] = Field(
        default="aggregation", description="Bursts of service: many packets leave at once."
    )
    gap: GapLaw = Field(description="From one burst to the next.")
    size: _Bytes = Field(description="That may leave in one, bytes of packets on the wire.")


MODELS: Mapping[str, type[_Trace]] = {
    "opportunities": Opportunities,
    "steps": Steps,
    "on-off": OnOff,
    "markov": Markov,
    "handover": Handover,
    "aggregation": Aggregation,
}
"""Kinds of resolved traces."""


def says_rate(trace: Mapping[str, Any]) -> bool:
    """Whether a resolved trace sets the rate from the start of the run."""
    match trace["kind"]:
        case "steps":
            first = trace["steps"].partition(" ")[0]
            return bool(first.startswith("0r"))
        case "markov":
            return all(state["rate_bps"] is not None for state in trace["states"])
    return True


def _as_table(value: object) -> object:
    if isinstance(value, str):
        return {"kind": "file", "file": value}
    if isinstance(value, Mapping) and "kind" not in value:
        if "file" in value:
            return {"kind": "file", **value}
        raise Refused("a table", f"a key kind: {one_of(list(MODELS))}; or a key file")
    if isinstance(value, Mapping) and value["kind"] not in ("file", *MODELS):
        kinds = ["file", *MODELS]
        kind = value["kind"]
        raise Refused(kind, one_of(kinds), nearest(kind, kinds), path="kind")
    return value


Trace = Annotated[
    TraceFile | Opportunities | Steps | OnOff | Markov | Handover | Aggregation,
    Field(discriminator="kind"),
]
_FileName = Annotated[
    str, WithJsonSchema({"type": "string", "examples": ["line.csv"], "x-unit": "path or table"})
]
TraceOrFile = Annotated[Trace, BeforeValidator(_as_table, json_schema_input_type=_FileName | Trace)]


def read_trace(name: str, folder: Path) -> dict[str, Any]:
    """Read a Mahimahi trace or a CSV file for the resolved description.

    Args:
        name: Path relative to ``folder``.
        folder: Folder of the description.

    Raises:
        Refused: The file is outside the folder, too large, or not a trace; the message has the
            line.
    """
    try:
        with file_inside(name, folder, LARGEST_FILE_BYTES).open("rb") as file:
            found: dict[str, Any] = json.loads(_engine.read_trace(_pieces(file.read)))
            return found
    except OSError as error:
        raise Refused(name, f"a file that can be read ({error.strerror})") from None
    except _engine.SpecInvalid as error:
        where = f"{name}, {error.path}: " if error.path else f"{name}: "
        raise Refused(where + error.value, error.allowed) from None


def _pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while piece := read(_PIECE_BYTES):
        yield piece


def written_trace(trace: object, path: str, written: Callable[..., dict[str, Any]]) -> Any:
    """The experiment-file form of a resolved trace.

    Args:
        trace: The resolved trace.
        path: Its path in the description.
        written: Converts a table by its keys (`dumbbell.spec.unresolve`).

    Raises:
        SpecError: It is none.
    """
    kind = trace.get("kind") if isinstance(trace, Mapping) else None
    if not isinstance(trace, Mapping) or not isinstance(kind, str) or kind not in MODELS:
        kinds = list(MODELS)
        raise SpecError(f"{path}.kind", shown(kind), one_of(kinds), nearest(kind, kinds))
    keys = {
        key.resolved: (key.name, key.conversion.write)
        for key in keys_of(MODELS[kind]).values()
        if key.name != "states" and (key.name != "repeat" or key.resolved in trace)
    }
    if kind != "markov":
        return written(trace, path, keys)
    found = written(trace, path, keys, ("states",))
    states = trace["states"]
    if not isinstance(states, list):
        raise SpecError(f"{path}.states", shown(states), "a list")
    of_state = {
        key.resolved: (key.name, key.conversion.write) for key in keys_of(TraceState).values()
    }
    found["states"] = [
        written(state, f"{path}.states[{index}]", of_state) for index, state in enumerate(states)
    ]
    return found


def is_random_trace(trace: Mapping[str, Any] | None) -> bool:
    """Whether replications draw different rates, times or losses.

    Args:
        trace: As resolved; None for a link without one.
    """
    if trace is None:
        return False
    match trace["kind"]:
        case "steps":
            # `l` and the packets lost of a billion.
            return re.search("l[1-9]", trace["steps"]) is not None
        case "markov":
            states = trace["states"]
            return any(
                bool(state["loss"]) or _has_law(state) or _chooses(states, state)
                for state in states
            )
        case "handover":
            bounds = ("rate_bps", "delay_ns")
            is_wide = any(trace[f"least_{each}"] != trace[f"most_{each}"] for each in bounds)
            return is_wide or _has_law(trace)
        case "on-off" | "aggregation":
            return _has_law(trace)
        case _:
            return False


def _has_law(process: Mapping[str, Any]) -> bool:
    """Whether a time is drawn."""
    laws = [value for value in process.values() if isinstance(value, Mapping)]
    return any(law["law"] != "constant" for law in laws)


def _chooses(states: Sequence[object], state: Mapping[str, Any]) -> bool:
    """Whether the state after this one is drawn: without weights any other one follows."""
    weights = state["next"]
    return sum(each > 0 for each in weights) > 1 if weights else len(states) > 2
