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
    from dumbbell.formats.kinds import FileKind


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
    from dumbbell.formats.kinds import FileKind

    kind = _one_kind(files)
    if kind is FileKind.LOG:
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
    if kind is FileKind.CAPTURE:
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


def _one_kind(files: Sequence[Path]) -> FileKind:
    """Of which kind files are; captures and CSVs of tshark's fields are of one.

    Raises:
        SpecError: They have nothing in common to be set side by side.
        FormatError: One is of none.
    """
    from dumbbell.formats.kinds import FileKind, kind_of

    kinds = {file: kind_of(file) for file in files}
    for file, kind in kinds.items():
        if kind is FileKind.TSHARK_CSV:
            kinds[file] = FileKind.CAPTURE
    first = files[0]
    for file, kind in kinds.items():
        if kind is not kinds[first]:
            found = f"{first}, a {kinds[first].value}, and {file}, a {kind.value}"
            allowed = (
                "files of one kind: logs, captures, or data files of Flent; one kind at a time"
            )
            raise SpecError("FILE", found, allowed)
    return kinds[first]


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
