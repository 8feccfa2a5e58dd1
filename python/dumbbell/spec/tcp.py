"""TCP settings of a flow: a profile and individual keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from dumbbell import _engine
from dumbbell.spec import linux, native
from dumbbell.spec.base import SpecModel
from dumbbell.spec.conversions import Conversion, resolved, same
from dumbbell.spec.fields import (
    Time,
    time_ns,
    whole,
)
from dumbbell.spec.keys import Key, key_model
from dumbbell.spec.refusal import Refused, nearest, one_of
from dumbbell.spec.tcp_settings import PROFILES, SETTINGS, described

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
"""Linux's controllers and those that only the simulator has. A backend refuses those it lacks."""

MOST_CWND_CHANGES = 10_000
MOST_PARAMETERS = 64
LARGEST_CWND_PKTS = 100_000
SHORT_PACKET_MEMORY_BYTES = 2304
"""Of a full packet in a send buffer where the kernel's largest header is short."""


def _controller(value: object) -> str:
    if isinstance(value, str) and value.startswith((native.PREFIX, native.CLASS_PREFIX)):
        return native.check_reference(value)
    if isinstance(value, str) and value.startswith(linux.PREFIX):
        return linux.check_reference(value)
    if not isinstance(value, str) or value not in CONGESTION_CONTROLLERS:
        hint = nearest(value, CONGESTION_CONTROLLERS)
        own = f"{native.FILE_FORMS}, one of one's own, or linux:NAME, one of Linux's C files"
        allowed = f"{one_of(CONGESTION_CONTROLLERS)}, or {own}"
        raise Refused(value, allowed, hint)
    return value


def _sha256(value: object) -> str:
    if not isinstance(value, str) or re.fullmatch("[0-9a-f]{64}", value) is None:
        raise Refused(value, "SHA-256 of the file: 64 hexadecimal digits")
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


CongestionControl = Annotated[
    str,
    BeforeValidator(_controller),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": list(CONGESTION_CONTROLLERS)},
                {"type": "string", "pattern": r"^file:.+\.c$"},
                {"type": "string", "pattern": "^linux:[a-z0-9_]{1,15}$"},
                {"type": "string", "pattern": r"^file:.+\.py:[A-Za-z_][A-Za-z0-9_]*$"},
                {"type": "string", "pattern": "^class:[A-Za-z_][A-Za-z0-9_]*$"},
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
    Conversion(same, same, "pkts"),
]


class CwndChange(SpecModel):
    """A new congestion window from an instant on; see the controller ``manual``."""

    at: Time = Field(description="From when on, counted from the run's start.")
    cwnd: _Cwnd = Field(description="Congestion window from then on.")

    def resolved(self) -> dict[str, Any]:
        """The change for the resolved description."""
        return resolved(self)


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


_OWN: Mapping[str, tuple[Any, Any]] = {
    "congestion_control": (CongestionControl, ...),
    "parameters": (_Parameters, {}),
    "controller_sha256": (_Sha256 | None, None),
    "cwnd_changes": (_CwndChanges, ()),
}
"""Types and defaults of the keys that have some of their own."""


def _field(setting: Key) -> tuple[Any, Any]:
    return setting.field(*_OWN.get(setting.name, (None, ...)), described(setting))


if TYPE_CHECKING:
    from dumbbell.spec.key_models import TcpKeys
else:
    TcpKeys = key_model("TcpKeys", __name__, {name: _field(key) for name, key in SETTINGS.items()})


class Tcp(TcpKeys):
    """Settings of a TCP flow, for both ends."""

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
        """Find the SHA-256 of the controller's file; nothing is compiled."""
        if self.congestion_control.startswith(linux.PREFIX):
            self._found_sha256 = self._found_linux()
            return self
        if self.congestion_control.startswith(native.CLASS_PREFIX):
            # Which code it is says whoever gives the class.
            self._found_sha256 = self.controller_sha256
            return self
        if not self.congestion_control.startswith(native.PREFIX):
            return self
        if isinstance(info.context, Mapping) and "folder" in info.context:
            self._folder = Path(info.context["folder"] or ".").resolve()
        is_of_a_file = self._folder is not None
        wanted = self.controller_sha256
        ending = native.Reference.of(self.congestion_control).ending
        is_kept = wanted is not None and native.source_of(wanted, ending) is not None
        if wanted is not None and (not is_of_a_file or is_kept):
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

    def _found_linux(self) -> str:
        wanted = self.controller_sha256
        if wanted is not None and native.source_of(wanted) is not None:
            return wanted
        try:
            return linux.found(self.congestion_control, wanted).sha256
        except Refused as error:
            path = "congestion_control"
            raise Refused(error.value, error.allowed, error.hint, path=path) from None

    def with_(self, **changes: Any) -> Self:
        """A copy with some keys changed; a file is looked for in the same folder again."""
        if self._folder is None:
            return super().with_(**changes)
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self).read(given | changes, {"folder": self._folder})

    def resolved(self) -> dict[str, Any]:
        """The settings for the resolved description."""
        defaults = PROFILES[self.profile]
        found = dict(defaults)
        for name, setting in SETTINGS.items():
            value = getattr(self, name)
            # Descriptions without the later keys keep their canonical text.
            is_said = setting.resolved in defaults or value != setting.default
            if value is not None and is_said and setting.kind not in ("cwnd-changes", "own"):
                found[setting.resolved] = setting.number(value)
        found["congestion_control"] = self.congestion_control
        return found | self._changes() | self._controller()

    def _controller(self) -> dict[str, Any]:
        if self._found_sha256 is None:
            return {}
        is_of_linux = self.congestion_control.startswith(linux.PREFIX)
        class_name = None if is_of_linux else native.class_name_of(self.congestion_control)
        return {
            "controller": {
                "sha256": self._found_sha256,
                **({} if class_name is None else {"class": class_name}),
                "parameters": dict(self.parameters),
            }
        }

    def _changes(self) -> dict[str, Any]:
        """Changes of the window, if any; descriptions without them keep their canonical text."""
        changes = [change.resolved() for change in self.cwnd_changes]
        return {"cwnd_changes": changes} if changes else {}
