"""``dumbbell analyze FILE...``: what files of somebody's measurements say, by their kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.consoles import standard_output
from dumbbell.cli.waiting import say_if_pipe
from dumbbell.errors import SpecError

if TYPE_CHECKING:
    from dumbbell.cli.beside_log import Beside as BesideLog

FLENT_ENDS = (".flent.gz", ".flent", ".flnt", ".flent.bz2", ".json.gz", ".json", ".json.bz2")
"""Flent's, and those of netperf-wrapper, which it was before."""
FLENT_ALONE = tuple(end for end in FLENT_ENDS if end != ".json")
"""Programs write ``.json`` too: those are looked into."""


def analyze_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Data files of Flent; or captures (pcapng, pcap) and CSVs of tshark's fields; or "
            "what ping, ITGDec, iperf3 -J, ss -tin, tc -s, irtt or netperf printed, known by what "
            "is in it. Several of a kind are set side by side.",
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
    seed: Annotated[
        int | None, typer.Option(help="All randomness follows from it.", show_default="1")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Threads; 0 for one a core.", min=0)] = 0,
    view: Annotated[
        str | None,
        typer.Option(help="Place of a capture to write: 'a->b after'.", metavar="PLACE"),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(help="Write that place's packets to FILE.pcap or .pcapng.", metavar="FILE"),
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(
            help="Of a log: simulated runs of an experiment, or a folder of dumbbell run --out.",
            metavar="FILE.toml|FOLDER",
        ),
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option(help="With --beside: its probe, flow or queue, by name.", metavar="NAME"),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="Of a log: its tables too, in --out or results: csv, parquet, sqlite.",
            metavar="FORMAT[,...]",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Of a capture or a log: print JSON.")
    ] = False,
) -> None:
    """Print what measurements say.

    Of Flent's, its numbers beside those of simulated runs of the same test; of a capture,
    throughput and loss of each flow; of what a program printed, what its users ask of it, and with
    --beside the same of simulated runs. Several files of one kind are set side by side, and their
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
    of_logs = {"beside": beside, "of": of or None, "to": to}
    if _all_logs(files):
        _refuse({**simulated, "view": view, "write": write}, files, "another kind of file")
        from dumbbell.cli.analyze_logs import analyze_logs

        analyze_logs(
            files,
            beside=_beside_a_log(
                files, beside, names=of, replications=replications, seed=seed, jobs=jobs
            ),
            out=out,
            to=to,
            replace=replace,
            as_json=as_json,
            console=console,
        )
        return
    _refuse(of_logs, files, "the output of a program")
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
    simulated_beside = Beside(
        network={key: value for key, value in network.items() if value is not None},
        replications=DEFAULT_REPLICATIONS if replications is None else replications,
        seed=1 if seed is None else seed,
        timer_hz=timer_hz,
        jobs=jobs,
        instead=pairs("--instead", instead or []),
    )
    analyze_flent(files[0], beside=simulated_beside, out=out, replace=replace, console=console)


def _beside_a_log(
    files: Sequence[Path],
    source: Path | None,
    *,
    names: list[str] | None,
    replications: int | None,
    seed: int | None,
    jobs: int,
) -> BesideLog | None:
    from dumbbell.cli.beside_log import DEFAULT_REPLICATIONS, Beside

    if source is None:
        asked = {"of": names or None, "replications": replications, "seed": seed}
        _refuse(asked, files, "--beside FILE.toml too")
        return None
    count = DEFAULT_REPLICATIONS if replications is None else replications
    return Beside(source, names or (), count, seed, jobs)


def _all_logs(files: Sequence[Path]) -> bool:
    """Whether they are the output of known programs.

    Raises:
        SpecError: Some are and some are not.
    """
    from dumbbell.cli.analyze_logs import is_log

    are = {file: _may_be_log(file) and is_log(file) for file in files}
    if len(set(are.values())) > 1:
        log, other = (next(file for file in files if are[file] is each) for each in (True, False))
        allowed = "files of one kind: logs, captures or data files of Flent; one kind at a time"
        raise SpecError("FILE", f"{log} and {other}", allowed)
    return set(are.values()) == {True}


def _may_be_log(file: Path) -> bool:
    """Whether its name leaves it open: what is packed is Flent's, what is ``.csv`` tshark's."""
    return not file.name.endswith((*FLENT_ALONE, ".csv", ".CSV"))


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
