"""``dumbbell analyze FILE...``: what files of somebody's measurements say, by their kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.consoles import standard_output
from dumbbell.cli.waiting import say_if_pipe
from dumbbell.errors import SpecError

FLENT_ENDS = (".flent.gz", ".flent", ".flnt", ".flent.bz2", ".json.gz", ".json", ".json.bz2")
"""Flent's, and those of netperf-wrapper, which it was before."""


def analyze_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Data files of Flent; or captures (pcapng, pcap) and CSVs of tshark's fields. "
            "Several of a kind are set side by side.",
            metavar="FILE...",
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
        int | None,
        typer.Option(
            help="Simulated runs to set one measurement beside; 0 for none.",
            min=0,
            max=10_000,
            show_default="5",
        ),
    ] = None,
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
    """Print what measurements say.

    Of Flent's, its numbers beside those of simulated runs of the same test; of a capture,
    throughput and loss of each flow. Several files of one kind are set side by side, and their
    figures over one another or on common axes. Exit status: 0 something was read of each (what was
    not is named on standard error), 2 nothing was of one.
    """
    network = {
        "rate": rate,
        "rate_down": rate_down,
        "qdisc": qdisc,
        "qdisc_down": qdisc_down,
        "rtts": rtt,
        "overhead": overhead,
    }
    console = standard_output()
    simulated = {**network, "instead": instead or None, "timer_hz": timer_hz}
    if not _all_of_flent(files):
        from dumbbell.cli.analyze_capture import analyze_capture

        _refuse({**simulated, "replications": replications}, files, "a data file of Flent")
        analyze_capture(
            files,
            out=out,
            replace=replace,
            view=view,
            write=write,
            as_json=as_json,
            console=console,
        )
        return
    _refuse({"view": view, "write": write, "json": as_json or None}, files, "a capture")
    if len(files) > 1:
        from dumbbell.cli.analyze_flents import analyze_flents

        _refuse({**simulated, "replications": replications or None}, files, "one data file")
        analyze_flents(files, out=out, replace=replace, console=console)
        return
    from dumbbell.cli.analyze_flent import DEFAULT_REPLICATIONS, Beside, analyze_flent
    from dumbbell.cli.flent import pairs

    say_if_pipe(files[0])
    beside = Beside(
        network={key: value for key, value in network.items() if value is not None},
        replications=DEFAULT_REPLICATIONS if replications is None else replications,
        seed=seed,
        timer_hz=timer_hz,
        jobs=jobs,
        instead=pairs("--instead", instead or []),
    )
    analyze_flent(files[0], beside=beside, out=out, replace=replace, console=console)


def _all_of_flent(files: Sequence[Path]) -> bool:
    """Whether they are Flent's, or all captures.

    Raises:
        SpecError: Some are and some are not: they have nothing in common to be set side by side.
    """
    is_flent = {file: file.name.endswith(FLENT_ENDS) for file in files}
    kinds = set(is_flent.values())
    if len(kinds) > 1:
        of_flent, other = (
            next(file for file in files if is_flent[file] is which) for which in (True, False)
        )
        raise SpecError(
            "FILE",
            f"{of_flent} and {other}",
            "files of one kind: data files of Flent, or captures; analyze them one by one",
        )
    return kinds == {True}


def _refuse(options: Mapping[str, object], files: Sequence[Path], allowed: str) -> None:
    """Options that this kind of file does not have.

    Raises:
        SpecError: One of them was given.
    """
    found = files[0].name if len(files) == 1 else f"{len(files)} files"
    for name, value in options.items():
        if value is not None:
            option = {"rtts": "rtt"}.get(name, name).replace("_", "-")
            raise SpecError(f"--{option}", value, f"{allowed}, not {found}")
