"""Links: two directions, each with its queue, rate, delay and loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, Field, ModelWrapValidatorHandler, PrivateAttr, model_validator

from dumbbell import units
from dumbbell.spec.fields import Name, time_ns
from dumbbell.spec.keys import CHANGE, LINK, key_fields, key_model, resolved_keys
from dumbbell.spec.refusal import Refused
from dumbbell.spec.scripts import split_link

if TYPE_CHECKING:
    from dumbbell.spec.key_models import ChangeKeys, LinkEndKeys, LinkKeys
else:
    ChangeKeys = key_model("ChangeKeys", __name__, key_fields(CHANGE))


class Change(ChangeKeys):
    """New values of a link from a given time on; omitted values do not change."""

    def resolved(self) -> dict[str, Any]:
        """The change for the resolved description."""
        return resolved_keys(self, CHANGE)


def _in_order(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Refuse changes out of order or without a new value."""
    for index, change in enumerate(changes):
        if change.model_fields_set <= {"at"}:
            raise Refused("nothing", "a new rate, delay or loss", path=f"[{index}]")
        if index and time_ns(change.at) < time_ns(changes[index - 1].at):
            allowed = f"a time at or after {changes[index - 1].at}, that of the change before it"
            raise Refused(change.at, allowed, path=f"[{index}].at")
    return tuple(changes)


_TAKES = {
    name: Annotated[Sequence[Change], AfterValidator(_in_order)]
    if key.kind == "changes"
    else key.takes() | None
    if key.kind == "trace"
    else key.takes()
    for name, key in LINK.items()
}

_NO_GSO = {
    "gso": "tso and gro: Linux's TCP hands several segments down at once also where a device's gso "
    "is off; `gso_max_segs` in a flow's `tcp` says how many"
}


if not TYPE_CHECKING:
    LinkEndKeys = key_model(
        "LinkEndKeys",
        __name__,
        {
            name: (takes | None, Field(default=None, description=f"As the link's `{name}`."))
            for name, takes in _TAKES.items()
        },
    )
    LinkKeys = key_model(
        "LinkKeys", __name__, {name: key.field(_TAKES[name]) for name, key in LINK.items()}
    )


class LinkEnd(LinkEndKeys):
    """Values of one direction of a link that differ from the link as a whole."""

    meant_by = _NO_GSO


# Made without pydantic's validator, which would be built at each start for this alone.
_AS_THE_LINK = LinkEnd.model_construct()


class LinkOptions(LinkKeys):
    """The keys of a link without its two hosts."""

    meant_by = _NO_GSO

    forward: LinkEnd = Field(
        default=_AS_THE_LINK, description="What is otherwise in the direction from `a` to `b`."
    )
    reverse: LinkEnd = Field(
        default=_AS_THE_LINK, description="What is otherwise in the direction from `b` to `a`."
    )

    _script_notices: Mapping[str, units.Notice] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _split_scripts(cls, data: object, made: ModelWrapValidatorHandler[Self]) -> Self:
        """A script in one direction may also configure the other (`dumbbell.spec.scripts`)."""
        if not isinstance(data, Mapping):
            return made(data)
        split = split_link(data)
        link = made(split.table)
        link._script_notices = split.notices
        return link

    @property
    def script_notices(self) -> Mapping[str, units.Notice]:
        """Notices of keys that scripts wrote for arriving packets, by path in the link."""
        return self._script_notices

    def end(self, direction: LinkEnd) -> dict[str, Any]:
        """One direction for the resolved description: its own values override the link's."""
        found = {}
        for name, key in LINK.items():
            own = getattr(direction, name)
            value = key.number(getattr(self, name) if own is None else own)
            if key.presence != "or-absent" or value != key.default:
                found[key.resolved] = value
        return found | self._by_trace(direction)

    def _by_trace(self, direction: LinkEnd) -> dict[str, Any]:
        """What a trace says of a direction that does not say it itself: the link's own rate does
        not hold, and packets have the overhead that the file counts."""
        trace, found = direction.trace or self.trace, dict[str, Any]()
        if direction.trace is not None and direction.rate is None and direction.trace.says_rate:
            found["rate_bps"] = LINK["rate"].default
        says_overhead = "overhead" in self.model_fields_set or direction.overhead is not None
        if trace is not None and trace.own_overhead_bytes is not None and not says_overhead:
            found["overhead_bytes"] = trace.own_overhead_bytes
        return found


USUAL_LINK = LinkOptions.model_construct()


class Link(LinkOptions):
    """A link between two hosts."""

    a: Name = Field(description="One host.")
    b: Name = Field(description="The other host.")

    def resolved(self) -> dict[str, Any]:
        """The link for the resolved description."""
        return {
            "a": self.a,
            "b": self.b,
            "forward": self.end(self.forward),
            "reverse": self.end(self.reverse),
        }


def link_between(a: str, b: str, options: LinkOptions) -> Link:
    """A link with these options."""
    given = {name: getattr(options, name) for name in options.model_fields_set}
    return Link(a=a, b=b, **given)
