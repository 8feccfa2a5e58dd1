"""Parse the lines of a shell session, from its console or a script, into orders.

| line | what it does |
| --- | --- |
| ``sender-1$ ping server`` | types it at that terminal's prompt; time does not advance |
| ``sender-1> text`` | types it at once, as input of the running program |
| ``sender-1 ping -c 3 server`` | types it and waits until it has ended (mininet's form) |
| ``ping -c 3 server`` | the same, at the current terminal |
| ``sender-1`` | makes it the current terminal |
| ``sender-1 ^C`` | presses keys: ``^C``, ``^D``, ``^Z``, ``^\\`` |
| ``:wait``, ``:wait 10s``, ``:wait sender-1 router`` | advances time: until all have ended, ... |
| ``:leave sender-1`` | stops waiting for its running program |
| ``:end`` | ends the session |

``sender-1:2`` is a second terminal of sender-1. A line may begin with a time in brackets. Lines
with ``sender-1| `` are earlier output and ignored, so a transcript is a script. Lines that begin
with ``#`` are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dumbbell import units
from dumbbell.backends.kernel.session_orders import (
    MOST_LINE_BYTES,
    AdvanceTime,
    EndSession,
    OpenTerminal,
    Order,
    PressKeys,
    StopWaiting,
    TerminalPlace,
    TypeLine,
)
from dumbbell.cli.shell.programs import serves
from dumbbell.errors import SpecError
from dumbbell.spec.refusal import nearest, one_of, shown

KEYS = {"^C": "\x03", "^D": "\x04", "^Z": "\x1a", "^\\": "\x1c"}
WORDS = (":end", ":help", ":leave", ":terminals", ":wait")

_TIME = re.compile(r"^\[ *[0-9]+\.[0-9]+\] ")
_ADDRESSED = re.compile(r"^(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*(?::[0-9]+)?)(?P<how>[$>|])(?: |$)")


@dataclass(frozen=True, slots=True)
class Help:
    """Request for the console's help."""


@dataclass(frozen=True, slots=True)
class Terminals:
    """Request for a list of terminals."""


@dataclass(frozen=True, slots=True)
class TypedLine:
    """A parsed line.

    Attributes:
        orders: Orders for the guest.
        asked: Request to the console.
    """

    orders: tuple[Order, ...] = ()
    asked: Help | Terminals | None = None


@dataclass
class Reader:
    """Parses lines; tracks the current terminal.

    Attributes:
        hosts: Their names.
        current: The current terminal; None before one was named.
    """

    hosts: tuple[str, ...]
    current: TerminalPlace | None = None
    _where: str = field(default="line", repr=False)

    def script(self, lines: Iterable[str], name: str) -> Iterator[Order]:
        """The orders of a whole script, followed by a wait and the end.

        Args:
            lines: Lines of the script.
            name: Name of the file, for messages.

        Raises:
            SpecError: A line is malformed.
        """
        for number, line in enumerate(lines, 1):
            self._where = f"{name}:{number}"
            for order in self.line(line.rstrip("\r\n")).orders:
                if isinstance(order, EndSession):
                    yield order
                    return
                yield order
        yield AdvanceTime()
        yield EndSession()

    def line(self, text: str) -> TypedLine:
        """Parse one line.

        Raises:
            SpecError: It names an unknown host, or is malformed.
        """
        text = _TIME.sub("", text)
        if not text.strip() or text.startswith("#"):
            return TypedLine()
        if len(text.encode()) > MOST_LINE_BYTES:
            raise SpecError(self._where, shown(text), f"at most {MOST_LINE_BYTES} bytes a line")
        control = next((each for each in text if each < " " and each != "\t"), None)
        if control is not None:
            raise SpecError(self._where, shown(text), "no control characters; ^C is typed as ^C")
        if text.startswith(":"):
            return self._word(text.split())
        if addressed := _ADDRESSED.match(text):
            return self._addressed(addressed, text[addressed.end() :])
        name, _, rest = text.strip().partition(" ")
        place = TerminalPlace.of(name, self.hosts)
        if place is None:
            return TypedLine(self._waited(self._present(text), text))
        place = self._place(name)
        rest = rest.strip()
        if not rest:
            self.current = place
            return TypedLine((OpenTerminal(place),))
        return TypedLine(self._waited(place, rest))

    def _addressed(self, found: re.Match[str], text: str) -> TypedLine:
        if found["how"] == "|":
            return TypedLine()  # earlier output
        place = self._place(found["name"])
        at_prompt = found["how"] == "$"
        return TypedLine((TypeLine(place, text, at_prompt, at_prompt and serves(text)),))

    def _waited(self, place: TerminalPlace, text: str) -> tuple[Order, ...]:
        if text in KEYS:
            return (PressKeys(place, KEYS[text]),)
        if serves(text):
            return (TypeLine(place, text, serves=True),)
        return (TypeLine(place, text), AdvanceTime((place,)))

    def _word(self, words: list[str]) -> TypedLine:
        word, *rest = words
        if word not in WORDS:
            raise SpecError(self._where, word, one_of(WORDS), nearest(word, list(WORDS)))
        if word == ":wait":
            return TypedLine((self._wait(rest),))
        if word == ":leave":
            if not rest:
                raise SpecError(self._where, word, "the terminals to leave alone after it")
            return TypedLine(tuple(StopWaiting(self._place(name)) for name in rest))
        if rest:
            raise SpecError(self._where, " ".join(words), f"{word} alone")
        if word == ":end":
            return TypedLine((EndSession(),))
        return TypedLine(asked=Help() if word == ":help" else Terminals())

    def _wait(self, words: list[str]) -> AdvanceTime:
        at_most_ns = None
        if words and TerminalPlace.of(words[-1], self.hosts) is None and words[-1][0].isdigit():
            try:
                at_most_ns = units.parse_time_ns(words[-1])
            except units.UnitError as error:
                allowed = "a time such as 10s"
                raise SpecError(self._where, words[-1], allowed, error.hint) from None
            words = words[:-1]
        places = tuple(self._place(name) for name in words)
        return AdvanceTime(places or None, at_most_ns)

    def _place(self, name: str) -> TerminalPlace:
        return TerminalPlace.required(self._where, name, self.hosts)

    def _present(self, text: str) -> TerminalPlace:
        if self.current is None:
            first = text.split(maxsplit=1)[0]
            allowed = f"a terminal before it, as in {self.hosts[0]}$ {shown(text)}"
            raise SpecError(self._where, shown(text), allowed, nearest(first, list(self.hosts)))
        return self.current
