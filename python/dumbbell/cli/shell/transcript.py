"""The transcript of a session: a script of the same session, with its output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dumbbell import units
from dumbbell.backends.kernel.session_orders import TerminalPlace
from dumbbell.cli.shell.lines import KEYS
from dumbbell.printable import listed, printable

_KEY_NAMES = {character: name for name, character in KEYS.items()}
MOST_BYTES = 256 * 2**20
"""Largest transcript; a session that prints more is ended."""

Event = Mapping[str, Any]


def seconds(at_ns: int) -> str:
    """A time in seconds with full precision: ``12.000000256``."""
    return f"{at_ns // 10**9}.{at_ns % 10**9:09d}"


class Transcript:
    """Builds the lines of a transcript from events.

    Attributes:
        lines: The lines so far, without line ends.
        has_trouble: Whether an order was not carried out or a command did not end.
    """

    def __init__(self, hosts: tuple[str, ...], heading: list[str]) -> None:
        """Begin the transcript.

        Args:
            hosts: Names of the hosts.
            heading: Comments at its beginning.
        """
        self.lines = [f"# {line}" for line in heading]
        self.has_trouble = False
        self._bytes = 0
        self._hosts = hosts
        self._wait: int | None = None
        self._makers: dict[str, Callable[[Event], None]] = {
            "opened": self._opened,
            "typed": self._typed,
            "keys": self._keys,
            "printed": self._printed,
            "prompt": self._prompt,
            "closed": lambda event: self._note(event, "the shell has ended"),
            "busy": self._busy,
            "flooded": self._flooded,
            "waiting": self._waiting,
            "waited": self._waited,
            "ended": self._ended,
        }

    @property
    def is_full(self) -> bool:
        """Whether it has reached its largest size."""
        return self._bytes > MOST_BYTES

    def add(self, event: Event) -> list[str]:
        """Add an event; returns the new lines."""
        before = len(self.lines)
        maker = self._makers.get(event["event"])
        if maker is not None:
            maker(event)
        new = self.lines[before:]
        self._bytes += sum(map(len, new))
        return new

    def text(self) -> str:
        """The whole text."""
        return "".join(f"{line}\n" for line in self.lines)

    def name(self, place: Mapping[str, int]) -> str:
        """Name of a terminal."""
        return TerminalPlace(**place).named(self._hosts)

    def _opened(self, event: Event) -> None:
        self.lines.append(f"[{seconds(event['at_ns'])}] {self.name(event['place'])}")

    def _typed(self, event: Event) -> None:
        how = "$" if event["at_prompt"] else ">"
        name = self.name(event["place"])
        self.lines.append(f"[{seconds(event['at_ns'])}] {name}{how} {event['text']}")

    def _keys(self, event: Event) -> None:
        keys = _KEY_NAMES.get(event["keys"], "")
        self.lines.append(f"[{seconds(event['at_ns'])}] {self.name(event['place'])} {keys}")

    def _printed(self, event: Event) -> None:
        name = self.name(event["place"])
        lines = event["text"].split("\n")
        if not lines[-1]:
            lines.pop()
        for line in lines:
            self.lines.append(f"{name}| {printable(line, lines=True)}")

    def _prompt(self, event: Event) -> None:
        if event["status"]:
            self._note(event, f"status {event['status']}")

    def _busy(self, event: Event) -> None:
        self.has_trouble = True
        self._note(event, "nothing was typed: what runs there does not end")

    def _flooded(self, event: Event) -> None:
        self.has_trouble = True
        most_mb = event["most_bytes"] / 2**20
        self._note(event, f"ended: one line printed more than {most_mb:.0f} MB")

    def _note(self, event: Event, text: str) -> None:
        self.lines.append(f"# {self.name(event['place'])}: {text}")

    def _waiting(self, event: Event) -> None:
        self._wait = len(self.lines)
        words = [":wait", *map(self.name, event["until"].get("places", []))]
        if event["at_most_ns"] is not None:
            words.append(units.format_time(event["at_most_ns"]))
        self.lines.append(f"[{seconds(event['at_ns'])}] {' '.join(words)}")

    def _ended(self, event: Event) -> None:
        self.lines.append(f"[{seconds(event['at_ns'])}] :end")

    def _waited(self, event: Event) -> None:
        running = [self.name(place) for place in event["running"]]
        after_ns = event["stopped_after_ns"]
        if after_ns is not None and self._wait is not None:
            # Makes the script repeatable without a person to interrupt it.
            line = self.lines[self._wait]
            self.lines[self._wait] = f"{line} {units.format_time(after_ns)}"
        if event["time_up"]:
            self.has_trouble = True
        still = f"; still running: {listed(running)}" if running else ""
        self.lines.append(f"# {seconds(event['at_ns'])} s{still}")
