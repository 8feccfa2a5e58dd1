"""Arguments of ``dumbbell twin`` and ``dumbbell advise``: files, or typed numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.errors import SpecError
from dumbbell.printable import printable
from dumbbell.spec.refusal import nearest, one_of
from dumbbell.units import UnitError, parse_rate_bps, parse_time_ns

if TYPE_CHECKING:
    from dumbbell.twin.reading import Measurements
    from dumbbell.twin.result import Twin
    from dumbbell.twin.scene import Way

_FILES = "Round trips by ping or irtt"
_TYPED = "Numbers in place of files"
_COUNTED = "Counters of a router's queues"

Idle = Annotated[
    list[Path] | None,
    typer.Option(help="While the line was idle.", metavar="FILE", rich_help_panel=_FILES),
]
DuringUp = Annotated[
    list[Path] | None,
    typer.Option(
        "--during-up",
        help="During the upload that another file has the throughput of.",
        metavar="FILE",
        rich_help_panel=_FILES,
    ),
]
DuringDown = Annotated[
    list[Path] | None,
    typer.Option(
        "--during-down", help="During a download.", metavar="FILE", rich_help_panel=_FILES
    ),
]
DuringBoth = Annotated[
    list[Path] | None,
    typer.Option(
        "--during-both", help="During both at once.", metavar="FILE", rich_help_panel=_FILES
    ),
]
TcUp = Annotated[
    list[Path] | None,
    typer.Option(
        "--tc-up",
        help="tc -s qdisc show dev DEVICE of the port that sends up: one file before and one after "
        "the measurement, or one file with several calls.",
        metavar="FILE",
        rich_help_panel=_COUNTED,
    ),
]
TcDown = Annotated[
    list[Path] | None,
    typer.Option(
        "--tc-down",
        help="The same of the port that sends down, such as ifb4wan.",
        metavar="FILE",
        rich_help_panel=_COUNTED,
    ),
]
Up = Annotated[
    str | None,
    typer.Option(
        help="Speed up, as a speed test shows it.", metavar="RATE", rich_help_panel=_TYPED
    ),
]
Down = Annotated[
    str | None, typer.Option(help="Speed down.", metavar="RATE", rich_help_panel=_TYPED)
]
Rtt = Annotated[
    str | None,
    typer.Option(help="Round trip of the idle line.", metavar="TIME", rich_help_panel=_TYPED),
]
LoadedUp = Annotated[
    str | None,
    typer.Option(
        "--loaded-up", help="Round trip during an upload.", metavar="TIME", rich_help_panel=_TYPED
    ),
]
LoadedDown = Annotated[
    str | None,
    typer.Option(
        "--loaded-down", help="During a download.", metavar="TIME", rich_help_panel=_TYPED
    ),
]
Senders = Annotated[
    str | None,
    typer.Option(
        "--congestion-control",
        help="Of the senders, up and down, in place of what files say; else cubic.",
        metavar="NAME[,NAME]",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOptions:
    """Options that describe the line."""

    files: Sequence[Path]
    idle: Sequence[Path]
    during_up: Sequence[Path]
    during_down: Sequence[Path]
    during_both: Sequence[Path]
    tc_up: Sequence[Path]
    tc_down: Sequence[Path]
    up: str | None
    down: str | None
    rtt: str | None
    loaded_up: str | None
    loaded_down: str | None
    senders: str | None

    def _typed(self) -> dict[str, str | None]:
        return {
            "--up": self.up,
            "--down": self.down,
            "--rtt": self.rtt,
            "--loaded-up": self.loaded_up,
            "--loaded-down": self.loaded_down,
        }

    def measurements(self) -> Measurements | None:
        """Return the measurements in the files; None if speeds were typed.

        Raises:
            SpecError: Both or neither were given, or a file does not describe a line.
            FormatError: A file cannot be read.
            OSError: A file cannot be read.
        """
        from dumbbell.twin.queue_counters import OPTIONS
        from dumbbell.twin.reading import read_measurements
        from dumbbell.twin.scene import Way

        typed = [name for name, value in self._typed().items() if value is not None]
        counted = {Way.UP: self.tc_up, Way.DOWN: self.tc_down}
        if typed and self.files:
            raise SpecError(typed[0], "given beside files", "numbers or files, not both")
        for way, option in OPTIONS.items():
            if typed and counted[way]:
                allowed = "it beside files: typed numbers have no discipline to tell"
                raise SpecError(option, printable(counted[way][0].name), allowed)
        senders = _senders(self.senders)
        if typed and senders:
            allowed = "it beside files: numbers say no senders"
            raise SpecError("--congestion-control", self.senders or "", allowed)
        if typed:
            return None
        if not self.files:
            allowed = "a file with a load, such as Flent's, or --up, --down and --rtt"
            raise SpecError("FILE", "nothing", allowed)
        return read_measurements(self.files, self._during(), senders, counted)

    def _during(self) -> dict[str, Sequence[Path]]:
        return {
            "--idle": self.idle,
            "--during-up": self.during_up,
            "--during-down": self.during_down,
            "--during-both": self.during_both,
        }

    def twin_of_numbers(self, seed: int) -> Twin:
        """Return the twin of typed speeds, with round trips that are typed or of ping.

        Raises:
            SpecError: A number is missing or invalid.
            FormatError: A log cannot be read.
            OSError: A log cannot be read.
        """
        from dumbbell.twin.typed import RoundTripLogs, TypedNumbers, twin_of_numbers

        logs = RoundTripLogs.of(self._during())
        given = {name: logs.times.get(name) or value for name, value in self._typed().items()}
        for name in ("--up", "--down", "--rtt"):
            if given[name] is None:
                more = " or --idle FILE" if name == "--rtt" else ""
                raise SpecError(name, "nothing", f"{name}{more} beside the other numbers")
        for name, option in logs.options.items():
            if self._typed()[name] is not None:
                raise SpecError(option, f"given beside {name}", "one of them")
        rate = "a rate with its unit, such as 10mbit"
        time = "a time with its unit, such as 20ms"

        def read_time(name: str) -> int | None:
            value = given[name]
            return None if value is None else _read(name, value, parse_time_ns, time)

        return twin_of_numbers(
            TypedNumbers(
                _read("--up", self.up or "", parse_rate_bps, rate),
                _read("--down", self.down or "", parse_rate_bps, rate),
                read_time("--rtt") or 0,
                read_time("--loaded-up"),
                read_time("--loaded-down"),
                logs.sources,
            ),
            seed,
        )


def _senders(typed: str | None) -> dict[Way, str]:
    from dumbbell.spec.tcp import CONGESTION_CONTROLLERS
    from dumbbell.twin.scene import Way

    if typed is None:
        return {}
    names = [each.strip() for each in typed.split(",")]
    if len(names) > len(Way):
        raise SpecError("--congestion-control", typed, "one name, or two: up,down")
    for name in names:
        if name not in CONGESTION_CONTROLLERS:
            known = list(CONGESTION_CONTROLLERS)
            raise SpecError("--congestion-control", name, one_of(known), nearest(name, known))
    return {Way.UP: names[0], Way.DOWN: names[-1]}


def _read(option: str, text: str, parse: Callable[[str], int], allowed: str) -> int:
    try:
        value = parse(text)
    except UnitError as error:
        raise SpecError(option, text, allowed, error.hint) from None
    if value <= 0:
        raise SpecError(option, text, f"{allowed}, above 0")
    return value
