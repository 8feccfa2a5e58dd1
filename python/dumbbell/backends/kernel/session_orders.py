"""The orders of a shell session (guest/src/shell/orders.rs)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dumbbell.errors import SpecError
from dumbbell.spec.refusal import nearest, one_of

MOST_TERMINALS = 16
"""Most terminals of one host."""
MOST_LINE_BYTES = 4000
"""Longest line; a terminal's line discipline accepts 4095 bytes (N_TTY_BUF_SIZE)."""


@dataclass(frozen=True, slots=True)
class TerminalPlace:
    """A terminal.

    Attributes:
        host: Index of its host.
        number: Index of the terminal on its host, from 1.
    """

    host: int
    number: int = 1

    def for_guest(self) -> dict[str, int]:
        """In the guest's format."""
        return {"host": self.host, "number": self.number}

    def named(self, hosts: tuple[str, ...]) -> str:
        """Its name: ``sender-1``, ``sender-1:2``."""
        name = hosts[self.host]
        return name if self.number == 1 else f"{name}:{self.number}"

    @classmethod
    def of(cls, name: str, hosts: tuple[str, ...]) -> TerminalPlace | None:
        """The terminal of that name; None if there is no such host."""
        host, _, number = name.partition(":")
        if host not in hosts or (":" in name and not number.isdecimal()):
            return None
        return cls(hosts.index(host), int(number or 1))

    @classmethod
    def required(cls, where: str, name: str, hosts: tuple[str, ...]) -> TerminalPlace:
        """The terminal of that name, or an error.

        Raises:
            SpecError: There is no such terminal.
        """
        place = cls.of(name, hosts)
        if place is None:
            allowed = f"a host, or a further terminal of it such as {hosts[0]}:2; {one_of(hosts)}"
            raise SpecError(where, name, allowed, nearest(name, list(hosts)))
        if not 1 <= place.number <= MOST_TERMINALS:
            raise SpecError(where, name, f"terminals 1 to {MOST_TERMINALS} of a host")
        return place


@dataclass(frozen=True, slots=True)
class TypeLine:
    """Type a line, at the prompt or into a running program."""

    place: TerminalPlace
    text: str
    at_prompt: bool = True
    serves: bool = False

    def for_guest(self) -> dict[str, Any]:
        """In the guest's format."""
        return {
            "order": "type",
            "place": self.place.for_guest(),
            "text": self.text,
            "at_prompt": self.at_prompt,
            "serves": self.serves,
        }


@dataclass(frozen=True, slots=True)
class PressKeys:
    """Press keys, such as Ctrl-C."""

    place: TerminalPlace
    keys: str

    def for_guest(self) -> dict[str, Any]:
        """In the guest's format."""
        return {"order": "keys", "place": self.place.for_guest(), "keys": self.keys}


@dataclass(frozen=True, slots=True)
class StopWaiting:
    """Stop waiting for the running programs."""

    place: TerminalPlace

    def for_guest(self) -> dict[str, Any]:
        """In the guest's format."""
        return {"order": "leave", "place": self.place.for_guest()}


@dataclass(frozen=True, slots=True)
class AdvanceTime:
    """Let time pass.

    Attributes:
        places: Wait until these terminals show their prompts again; None for all terminals except
            those of servers, and for no terminal if a time is given.
        at_most_ns: Longest wait; None for the session's limit.
    """

    places: tuple[TerminalPlace, ...] | None = None
    at_most_ns: int | None = None

    def for_guest(self) -> dict[str, Any]:
        """In the guest's format."""
        until: dict[str, Any] = {"kind": "time" if self.at_most_ns is not None else "all"}
        if self.places:
            until = {"kind": "these", "places": [place.for_guest() for place in self.places]}
        return {"order": "wait", "until": until, "at_most_ns": self.at_most_ns}


@dataclass(frozen=True, slots=True)
class OpenTerminal:
    """Open a terminal."""

    place: TerminalPlace

    def for_guest(self) -> dict[str, Any]:
        """In the guest's format."""
        return {"order": "open", "place": self.place.for_guest()}


@dataclass(frozen=True, slots=True)
class EndSession:
    """End the session."""

    def for_guest(self) -> dict[str, Any]:
        """In the guest's format."""
        return {"order": "end"}


Order = TypeLine | PressKeys | StopWaiting | AdvanceTime | OpenTerminal | EndSession
