"""The console of ``dumbbell shell``: reads lines from a person or a script, prints hosts'
output.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from dumbbell.backends.kernel.session import Session, StuckError
from dumbbell.backends.kernel.session_orders import (
    AdvanceTime,
    EndSession,
    OpenTerminal,
    Order,
    PressKeys,
    TerminalPlace,
    TypeLine,
)
from dumbbell.cli.shell.lines import KEYS, Help, Reader, Terminals
from dumbbell.cli.shell.transcript import MOST_BYTES, Transcript, seconds
from dumbbell.cli.terminal.output import say, say_coloured, tell
from dumbbell.errors import RunError, SpecError

HELP = """\
  ping -c 3 server            run it at the present terminal; time passes until it has ended
  client ping -c 3 server     the same at another host
  client$ ITGSend -a server   start it and go on: time stands still until you wait
  client:2$ ...               a second terminal of client
  client                      make it the present terminal
  client> text                type to what runs there
  Ctrl-C, client ^C           end what runs there; while time passes, let it stand still
  :wait                       let time pass until all has ended but servers
  :wait 10s   :wait client    ... so long, or until client has ended (both: whichever is first)
  :leave client               wait no more for what runs there
  :terminals   :help   :end   (or Ctrl-D)"""


def play(
    session: Session,
    said: Transcript,
    orders: Sequence[Order],
    *,
    pace: float | None = None,
    is_silent: bool = False,
) -> None:
    """Run a script, and print its transcript as it grows.

    Raises:
        RunError: The guest failed, a program computed without end, or a program printed too much.
    """
    is_given = False
    running = _Running(said)
    while True:
        for event in _watched(session, said, running, pace):
            for line in said.add(event):
                if not is_silent:
                    say(line, flush=True)
        if is_given:
            return
        session.give(orders)
        is_given = True


class _Running:
    """Tracks running commands and their last output, for the message if they do not end."""

    def __init__(self, said: Transcript) -> None:
        self._said = said
        self.lines: dict[str, str] = {}
        self.at_ns = 0
        self._last: dict[str, str] = {}

    def see(self, event: Mapping[str, Any]) -> None:
        self.at_ns = event.get("at_ns", self.at_ns)
        if "place" not in event:
            return
        name = self._said.name(event["place"])
        if event["event"] == "typed" and event["at_prompt"]:
            self.lines[name] = event["text"]
            self._last.pop(name, None)
        elif event["event"] in ("prompt", "closed"):
            self.lines.pop(name, None)
        elif event["event"] == "printed" and event["text"].strip():
            self._last[name] = event["text"].strip().splitlines()[-1]

    def described(self) -> str:
        what = [
            f"\n  {name}: {line}"
            + (f"\n    last printed: {self._last[name]}" if name in self._last else "")
            for name, line in self.lines.items()
        ]
        return f"; at {seconds(self.at_ns)} s these ran:{''.join(what)}" if what else ""


def _watched(
    session: Session, said: Transcript, running: _Running, pace: float | None
) -> Iterator[Mapping[str, Any]]:
    """The session's events; errors are extended by the running commands."""
    try:
        for event in session.events(paced_at=pace):
            running.see(event)
            yield event
            if said.is_full:
                most = f"the session printed more than {MOST_BYTES // 2**20} MB"
                raise RunError(f"{most}{running.described()}")
    except StuckError as error:
        raise RunError(f"{error}{running.described()}") from None


class Console:
    """An interactive console."""

    def __init__(
        self,
        session: Session,
        said: Transcript,
        hosts: tuple[str, ...],
        *,
        first: str | None,
        pace: float | None,
    ) -> None:
        """Create it.

        Args:
            session: A started session.
            said: Receives all events.
            hosts: Names of the hosts.
            first: The first terminal; the first host's when None.
            pace: Pace of virtual time.

        Raises:
            SpecError: There is no such host.
        """
        place = (
            TerminalPlace(0) if first is None else TerminalPlace.required("--host", first, hosts)
        )
        self._reader = Reader(hosts, place)
        self._session = session
        self._said = said
        self._hosts = hosts
        self._pace = pace
        self._running = _Running(said)
        self._open: set[str] = set()
        self._wants_keys: TerminalPlace | None = None
        self._is_stopped = False

    def run(self) -> None:
        """Run until the end of the input.

        Raises:
            RunError: As `play`.
        """
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  # what is typed can be edited
        say(f"hosts: {', '.join(self._hosts)}; :help says what can be typed")
        assert self._reader.current is not None
        self._show()
        self._obey((OpenTerminal(self._reader.current),))
        while True:
            orders = self._typed()
            self._obey(orders)
            if EndSession() in orders:
                return

    def _typed(self) -> tuple[Order, ...]:
        """Orders of the next line that has any."""
        while True:
            place = self._reader.current
            assert place is not None
            name = place.named(self._hosts)
            sign = ">" if name in self._running.lines else "$"
            try:
                text = input(f"{self._running.at_ns / 1e9:.3f} s {name}{sign} ")
            except EOFError:
                say()
                return (EndSession(),)
            except KeyboardInterrupt:
                say()
                if name in self._running.lines:
                    return (PressKeys(place, KEYS["^C"]),)
                continue
            try:
                typed = self._reader.line(self._line(text, place, name))
            except SpecError as error:
                tell(error)
                continue
            if isinstance(typed.asked, Help):
                say(HELP)
            elif isinstance(typed.asked, Terminals):
                self._tell_terminals()
            elif typed.orders:
                return typed.orders

    def _line(self, text: str, place: TerminalPlace, name: str) -> str:
        """While a command runs, a line is its input, unless the line names another terminal."""
        is_word = text.startswith((":", "#")) or text in KEYS
        first = text.split(maxsplit=1)[0] if text.strip() else ""
        is_addressed = TerminalPlace.of(first.rstrip("$>"), self._hosts) is not None
        if name in self._running.lines and not is_word and not is_addressed:
            return f"{name}> {text}"
        return f"{name} {text}" if text in KEYS else text

    def _tell_terminals(self) -> None:
        for name in sorted(self._open):
            line = self._running.lines.get(name)
            say(f"  {name}: {line or 'at its prompt'}")

    def _obey(self, orders: tuple[Order, ...]) -> None:
        self._session.give(orders)
        waits = [order for order in orders if isinstance(order, AdvanceTime) and order.places]
        awaited = waits[0].places[0] if waits and waits[0].places else None
        with self._stopped_by_ctrl_c(awaited):
            self._show()
        if self._wants_keys is not None:
            place, self._wants_keys = self._wants_keys, None
            self._obey((PressKeys(place, KEYS["^C"]), AdvanceTime((place,), 10**9)))
        for order in orders:
            if isinstance(order, TypeLine) and order.serves:
                name = order.place.named(self._hosts)
                if name in self._running.lines:
                    say(f"# {name} runs on; {name} ^C ends it, :wait 10s lets time pass")

    @contextlib.contextmanager
    def _stopped_by_ctrl_c(self, awaited: TerminalPlace | None) -> Iterator[None]:
        """The first Ctrl-C during a wait pauses time; it is then sent to the terminal that was
        waited for.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def on_signal(number: int, frame: FrameType | None) -> None:
            if self._is_stopped:
                raise KeyboardInterrupt
            self._is_stopped, self._wants_keys = True, awaited
            self._session.end_wait()
            tell("# Ctrl-C again ends the session")

        self._is_stopped = False
        before = signal.signal(signal.SIGINT, on_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _show(self) -> None:
        """Print events until orders are wanted."""
        current = self._reader.current
        here = current.named(self._hosts) if current else ""
        for event in _watched(self._session, self._said, self._running, self._pace):
            self._said.add(event)
            kind = event["event"]
            if "place" in event:
                name = self._said.name(event["place"])
                self._open.add(name)
                before = "" if name == here else f"{name}| "
                if kind == "printed":
                    lines = event["text"].removesuffix("\n").split("\n")
                    say_coloured("\n".join(f"{before}{line}" for line in lines))
                elif kind == "flooded":
                    tell(f"# {name}: ended, it printed too much")
                elif kind == "busy":
                    say(f"# {name}: nothing was typed, what runs there does not end")
                elif kind == "closed":
                    self._open.discard(name)
                    say(f"# {name}: the shell has ended")
            elif kind == "waited" and event["running"]:
                names = ", ".join(map(self._said.name, event["running"]))
                say(f"# {seconds(event['at_ns'])} s; still running: {names}")
