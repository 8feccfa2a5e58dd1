"""``dumbbell analyze FILE``: what a file of somebody's measurement says, by its kind."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dumbbell.cli.waiting import say_if_pipe
from dumbbell.errors import SpecError

FLENT_ENDS = (".flent.gz", ".flent", ".flnt", ".flent.bz2", ".json.gz", ".json", ".json.bz2")
"""Flent's, and those of netperf-wrapper, which it was before."""
PIPED_WIDTH = 120


def analyze_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="A data file of Flent, a capture (pcapng, pcap), or a CSV of tshark's fields.",
            metavar="FILE",
        ),
    ],
    *,
    out: Annotated[
        Path | None, typer.Option(help="Write a page with figures and tables.", metavar="DIR")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Also where the page of another file lies.")
    ] = False,
    rate: Annotated[
        str | None, typer.Option(help="Of the bottleneck; guessed when left out.")
    ] = None,
    rate_down: Annotated[str | None, typer.Option(help="For downloads.")] = None,
    qdisc: Annotated[
        str | None, typer.Option(help='Queue at the bottleneck, as typed after "root".')
    ] = None,
    qdisc_down: Annotated[str | None, typer.Option(help="For downloads.")] = None,
    rtt: Annotated[str | None, typer.Option(help="Base round trip; guessed when left out.")] = None,
    overhead: Annotated[str | None, typer.Option(help="ethernet, wire or a size.")] = None,
    instead: Annotated[
        list[str] | None,
        typer.Option(help="Another controller: westwood=reno.", metavar="NAME=OTHER"),
    ] = None,
    replications: Annotated[
        int, typer.Option(help="Simulated runs to set it beside; 0 for none.", min=0, max=10_000)
    ] = 5,
    timer_hz: Annotated[
        int | None,
        typer.Option(help="Timer ticks a second: 100, 250, 1000; the file's, else 1000."),
    ] = None,
    seed: Annotated[int, typer.Option(help="All randomness follows from it.")] = 1,
    jobs: Annotated[int, typer.Option(help="Threads; 0 for one a core.", min=0)] = 0,
    view: Annotated[
        str | None,
        typer.Option(help="Place of a capture to write: 'a->b after'.", metavar="PLACE"),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(help="Write that place's packets to FILE.pcap or .pcapng.", metavar="FILE"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Of a capture: print JSON.")] = False,
) -> None:
    """Print what a measurement says.

    Of Flent's, its numbers beside those of simulated runs of the same test; of a capture,
    throughput and loss of each flow. Exit status: 0 something was read (what was not is named on
    standard error), 2 nothing was.
    """
    given = {
        "rate": rate,
        "rate_down": rate_down,
        "qdisc": qdisc,
        "qdisc_down": qdisc_down,
        "rtts": rtt,
        "overhead": overhead,
    }
    console = Console(file=sys.stdout)
    console = console if console.is_terminal else Console(file=sys.stdout, width=PIPED_WIDTH)
    say_if_pipe(file)
    if not file.name.endswith(FLENT_ENDS):
        from dumbbell.cli.analyze_capture import analyze_capture

        typed = {"rtt" if name == "rtts" else name: value for name, value in given.items()}
        _refuse({**typed, "instead": instead or None}, file, "a data file of Flent")
        analyze_capture(
            file,
            out=out,
            replace=replace,
            view=view,
            write=write,
            as_json=as_json,
            console=console,
        )
        return
    from dumbbell.cli.analyze_flent import Beside, analyze_flent
    from dumbbell.cli.flent import pairs

    _refuse({"view": view, "write": write, "json": as_json or None}, file, "a capture")
    beside = Beside(
        network={key: value for key, value in given.items() if value is not None},
        replications=replications,
        seed=seed,
        timer_hz=timer_hz,
        jobs=jobs,
        instead=pairs("--instead", instead or []),
    )
    analyze_flent(file, beside=beside, out=out, replace=replace, console=console)


def _refuse(options: Mapping[str, object], file: Path, allowed: str) -> None:
    """Options that this kind of file does not have.

    Raises:
        SpecError: One of them was given.
    """
    for name, value in options.items():
        if value is not None:
            option = {"rtts": "rtt"}.get(name, name).replace("_", "-")
            raise SpecError(f"--{option}", value, f"{allowed}, not {file.name}")
