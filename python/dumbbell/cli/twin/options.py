"""Arguments of ``dumbbell twin`` and ``dumbbell advise``: files, or typed numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.errors import SpecError
from dumbbell.spec.refusal import nearest, one_of
from dumbbell.units import UnitError, parse_rate_bps, parse_time_ns

if TYPE_CHECKING:
    from dumbbell.twin.reading import Measurements
    from dumbbell.twin.result import Twin
    from dumbbell.twin.scene import Way

_FILES = "Round trips by ping or irtt"
_TYPED = "Numbers in place of files"

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
        """Return the measurements in the files; None if numbers were typed.

        Raises:
            SpecError: Both or neither were given, or a file does not describe a line.
            FormatError: A file cannot be read.
        """
        from dumbbell.twin.reading import read_measurements

        typed = [name for name, value in self._typed().items() if value is not None]
        during = {
            "--idle": self.idle,
            "--during-up": self.during_up,
            "--during-down": self.during_down,
            "--during-both": self.during_both,
        }
        is_file = bool(self.files) or any(during.values())
        if typed and is_file:
            raise SpecError(typed[0], "given beside files", "numbers or files, not both")
        senders = _senders(self.senders)
        if typed and senders:
            allowed = "it beside files: numbers say no senders"
            raise SpecError("--congestion-control", self.senders or "", allowed)
        if typed:
            return None
        if not self.files:
            allowed = "a file with a load, such as Flent's, or --up, --down and --rtt"
            raise SpecError("FILE", "nothing", allowed)
        return read_measurements(self.files, during, senders)

    def twin_of_numbers(self, seed: int) -> Twin:
        """Return the twin of typed numbers.

        Raises:
            SpecError: A number is missing or invalid.
        """
        from dumbbell.twin.typed import TypedNumbers, twin_of_numbers

        rate = "a rate with its unit, such as 10mbit"
        time = "a time with its unit, such as 20ms"
        for name in ("--up", "--down", "--rtt"):
            if self._typed()[name] is None:
                raise SpecError(name, "nothing", f"{name} beside the other numbers")
        return twin_of_numbers(
            TypedNumbers(
                _read("--up", self.up or "", parse_rate_bps, rate),
                _read("--down", self.down or "", parse_rate_bps, rate),
                _read("--rtt", self.rtt or "", parse_time_ns, time),
                None
                if self.loaded_up is None
                else _read("--loaded-up", self.loaded_up, parse_time_ns, time),
                None
                if self.loaded_down is None
                else _read("--loaded-down", self.loaded_down, parse_time_ns, time),
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
