"""``dumbbell analyze FILE...``: evaluate files of measurements, by their format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.analyze.options import AnalyzedKind, check_options
from dumbbell.cli.common.options import Yes
from dumbbell.cli.flent.tests import pairs
from dumbbell.cli.terminal.consoles import sentences_console
from dumbbell.errors import SpecError

if TYPE_CHECKING:
    from dumbbell.cli.analyze.log_comparison import ComparisonOptions


def analyze_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Data files of Flent; or captures (pcapng, pcap) and CSVs of tshark's fields; or "
            "what ping, ITGDec, iperf, iperf3, ss -tin, tc -s, irtt, netperf, crusader, ndt7 or "
            "Waveform wrote. The format is detected from the content; files may be compressed. "
            "Several files of one kind are compared.",
            metavar="FILE...",
        ),
    ],
    *,
    out: Annotated[
        Path | None, typer.Option(help="Write a page with figures and tables.", metavar="DIR")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite the page of another file.")
    ] = False,
    simulate: Annotated[
        bool,
        typer.Option(
            "--simulate", help="For Flent's files: simulate the same test in the given network."
        ),
    ] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Value for the simulation: rate, qdisc, congestion_control, rtt, or a path as in "
            "run.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="Rate of the bottleneck; the same as --set rate=RATE.")
    ] = None,
    rate_down: Annotated[str | None, typer.Option(help="For downloads.")] = None,
    qdisc: Annotated[
        str | None, typer.Option(help='Queue at the bottleneck, as typed after "root".')
    ] = None,
    qdisc_down: Annotated[str | None, typer.Option(help="For downloads.")] = None,
    rtt: Annotated[
        str | None, typer.Option(help="Base round-trip time; default: the smallest ping.")
    ] = None,
    overhead: Annotated[str | None, typer.Option(help="ethernet, wire or a size.")] = None,
    instead: Annotated[
        list[str] | None,
        typer.Option(
            help="Replace a controller by another one: cubic-sce=cubic.", metavar="NAME=OTHER"
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            help="Number of simulated runs to compare the measurement with.",
            min=0,
            max=10_000,
            show_default="5",
        ),
    ] = None,
    timer_hz: Annotated[
        int | None,
        typer.Option(help="Timer frequency: 100, 250, 1000; default: the file's, or 1000."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of all random numbers.", show_default="1")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Threads; 0 for one per core.", min=0, show_default="0")
    ] = None,
    yes: Yes = False,
    view: Annotated[
        str | None,
        typer.Option(help="Capture point to write: 'a->b after'.", metavar="PLACE"),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(help="Write its packets to FILE.pcap or .pcapng.", metavar="FILE"),
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(
            help="Compare a capture or a log with runs of an experiment, or with a folder of "
            "dumbbell run --out.",
            metavar="FILE.toml|FOLDER",
        ),
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option(help="With --beside: name of its probe, flow or queue.", metavar="NAME"),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="Also write tables, in --out or results: csv, parquet, sqlite.",
            metavar="FORMAT[,...]",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Evaluate measurements.

    For Flent's files, print mean, median and percentiles of each series; for a capture, throughput
    and loss of each flow; for a log, the usual numbers of its program. --simulate and --beside
    compare them with simulated runs. Several files of one kind are compared, with overlaid figures
    or common axes. Exit status: 0 each file was read at least in part (errors are on standard
    error), 2 a file could not be read, or --simulate lacks an option; the measured numbers are
    printed in any case.
    """
    network = {
        "rate": rate,
        "rate_down": rate_down,
        "qdisc": qdisc,
        "qdisc_down": qdisc_down,
        "rtt": rtt,
        "overhead": overhead,
    }
    console = sentences_console(as_json=as_json)
    kind = _kind_of_all(files)
    given = {
        "--json": as_json,
        "--out": out,
        "--to": to,
        "--replace": replace,
        "--simulate": simulate,
        "--beside": beside,
        "--of": of,
        "--set": set_,
        "--instead": instead,
        "--replications": replications or (0 if simulate or beside else None),
        "--seed": seed,
        "--timer-hz": timer_hz,
        "--jobs": jobs,
        "--yes": yes,
        **{f"--{name.replace('_', '-')}": value for name, value in network.items()},
        "--view": view,
        "--write": write,
    }
    check_options(kind, given, files)
    others = pairs("--instead", instead or [])
    if kind is AnalyzedKind.FLENT:
        from dumbbell.cli.analyze.flent_comparison import DEFAULT_REPLICATIONS
        from dumbbell.cli.analyze.flent_files import SimulatedRuns, analyze_flent
        from dumbbell.cli.analyze.flent_options import FlentRunOptions

        runs = None
        if simulate:
            asked = FlentRunOptions.of(
                network,
                set_ or [],
                instead=others,
                seed=1 if seed is None else seed,
                timer_hz=timer_hz,
            )
            count = DEFAULT_REPLICATIONS if replications is None else replications
            runs = SimulatedRuns(asked=asked, replications=count, jobs=jobs or 0, yes=yes)
        analyze_flent(
            files, runs=runs, out=out, to=to, replace=replace, as_json=as_json, console=console
        )
        return
    runs_beside = None
    if beside is not None:
        runs_beside = _beside(
            beside,
            of,
            set_,
            others,
            replications=replications,
            seed=seed,
            timer_hz=timer_hz,
            jobs=jobs,
            yes=yes,
        )
    if kind is AnalyzedKind.LOG:
        from dumbbell.cli.analyze.logs import analyze_logs

        analyze_logs(
            files,
            beside=runs_beside,
            out=out,
            to=to,
            replace=replace,
            as_json=as_json,
            console=console,
        )
    else:
        from dumbbell.cli.analyze.captures import analyze_capture

        analyze_capture(
            files,
            beside=runs_beside,
            out=out,
            to=to,
            replace=replace,
            view=view,
            write=write,
            as_json=as_json,
            console=console,
        )
    if simulate and beside is None:
        allowed = "with --beside FILE.toml, the experiment to run, or --beside FOLDER, a run of it"
        reason = f"{kind.value} says neither links nor traffic"
        raise SpecError("--simulate", files[0].name, allowed, reason=reason)


def _beside(
    source: Path,
    names: Sequence[str] | None,
    settings: Sequence[str] | None,
    instead: Mapping[str, str],
    *,
    replications: int | None,
    seed: int | None,
    timer_hz: int | None,
    jobs: int | None,
    yes: bool,
) -> ComparisonOptions:
    from dumbbell.cli.analyze.log_comparison import DEFAULT_REPLICATIONS, ComparisonOptions
    from dumbbell.spec import Setting

    own = {"seed": seed, "timer_hz": timer_hz}
    return ComparisonOptions(
        source,
        names or (),
        DEFAULT_REPLICATIONS if replications is None else replications,
        [
            *(Setting.parse(each) for each in settings or []),
            *(Setting(name, value) for name, value in own.items() if value is not None),
        ],
        instead,
        jobs or 0,
        yes,
    )


def _kind_of_all(files: Sequence[Path]) -> AnalyzedKind:
    """The common kind of the files; captures and CSV files of tshark's fields count as one kind.

    Raises:
        SpecError: The files are of different kinds.
        FormatError: A file's format is unknown.
    """
    from dumbbell.formats.kinds import FileKind, kind_of

    of_file = {
        FileKind.FLENT: AnalyzedKind.FLENT,
        FileKind.CAPTURE: AnalyzedKind.CAPTURE,
        FileKind.TSHARK_CSV: AnalyzedKind.CAPTURE,
        FileKind.LOG: AnalyzedKind.LOG,
    }
    kinds = {file: of_file[kind_of(file)] for file in files}
    first = files[0]
    for file, kind in kinds.items():
        if kind is not kinds[first]:
            found = f"{first}, {kinds[first].value}, and {file}, {kind.value}"
            allowed = "files of one kind: logs, captures or data files of Flent; one kind at a time"
            raise SpecError("FILE", found, allowed)
    return kinds[first]
