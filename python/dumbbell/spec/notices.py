"""Warnings about values in tc syntax that are easily misunderstood, with their place.

Such values are valid and have their meaning in tc (``10Mbps`` is 80 Mbit/s, ``target 5`` is 5
microseconds), which may not be what the author meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType

from pydantic import BaseModel

from dumbbell import _engine, units
from dumbbell.spec.fields import INFINITE, NO_POLICER
from dumbbell.spec.home import Home
from dumbbell.spec.links import Change, LinkEnd, LinkOptions
from dumbbell.spec.refusal import joined


@dataclass(frozen=True, slots=True)
class PlacedNotice:
    """A notice about a text of the description.

    Attributes:
        path: Place, such as ``links[0].forward.rate``.
        notice: The warning.
    """

    path: str
    notice: units.Notice

    def __str__(self) -> str:
        """Place and warning as a sentence."""
        return f"{self.path}: {self.notice.text}"

    def as_json(self) -> dict[str, str]:
        """All parts as one object."""
        return {"path": self.path, **asdict(self.notice)}


_NOTED: Mapping[str, Callable[[str], list[units.Notice]]] = MappingProxyType(
    {
        "rate": units.rate_notices,
        "qdisc": units.qdisc_notices,
        "police": units.police_notices,
    }
)
"""Keys of links with values in tc syntax."""
_NOTED_OF_HOME: Mapping[str, Callable[[str], list[units.Notice]]] = MappingProxyType(
    {
        "down": units.rate_notices,
        "up": units.rate_notices,
        "router_up": units.qdisc_notices,
        "router_down": units.qdisc_notices,
    }
)
_WORDS = (INFINITE, NO_POLICER)


def notices_in(model: BaseModel) -> tuple[PlacedNotice, ...]:
    """Warnings about the given values of a model, without defaults."""
    return tuple(_walk(model, ""))


def notices_of_filters(resolved_json: str) -> tuple[PlacedNotice, ...]:
    """Warnings about filters of a resolved description that match no flow and no probe."""
    if '"minor"' not in resolved_json:
        return ()
    found = _engine.unmatched_filters(resolved_json)
    return tuple(
        PlacedNotice(path, notice) for path, text in found for notice in units.notices_of(text)
    )


def _walk(value: object, path: str) -> Iterator[PlacedNotice]:
    if isinstance(value, BaseModel):
        if isinstance(value, LinkOptions):
            for key, notice in value.script_notices.items():
                yield PlacedNotice(joined(path, key), notice)
        for name in type(value).model_fields:
            if name in value.model_fields_set:
                yield from _of_field(value, name, path)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, each in enumerate(value):
            yield from _walk(each, f"{path}[{index}]")


def _noted(model: BaseModel) -> Mapping[str, Callable[[str], list[units.Notice]]]:
    if isinstance(model, Home):
        return _NOTED_OF_HOME
    return _NOTED if isinstance(model, Change | LinkEnd | LinkOptions) else {}


def _of_field(model: BaseModel, name: str, path: str) -> Iterator[PlacedNotice]:
    value, place = getattr(model, name), joined(path, name)
    noted = _noted(model)
    if name not in noted:
        yield from _walk(value, place)
    elif isinstance(value, str) and value not in _WORDS:
        for notice in noted[name](value):
            yield PlacedNotice(place, notice)
