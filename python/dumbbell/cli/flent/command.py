"""Options of ``dumbbell flent``: Flent's own, then those of the network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell.cli.common.memory import MEMORY_HELP
from dumbbell.cli.common.options import YES_HELP
from dumbbell.cli.terminal.consoles import PrintingConsole
from dumbbell.errors import SpecError

_FLENT = "Flent's options"
_NETWORK = "The network"
_RUN = "How it is run"


def _own(*names: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=_FLENT)


def _net(*names: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=_NETWORK)


def flent_command(
    tests: Annotated[
        list[str] | None,
        typer.Argument(
            help="Such as rrul, see --list-tests; or data files, drawn over one another.",
            metavar="[TEST|FILE...]",
        ),
    ] = None,
    *,
    plot: Annotated[str, _own("-p", "--plot", help="Plot to draw, by Flent's name.")] = "",
    format_: Annotated[str, _own("-f", "--format", help="plot or summary.")] = "",
    output: Annotated[
        Path | None,
        _own("-o", "--output", help="File of the plot (.png, .svg, .pdf).", metavar="FILE"),
    ] = None,
    length: Annotated[int, _own("-l", "--length", help="Base length in seconds.")] = 60,
    delay: Annotated[int, _own("-d", "--delay", help="Seconds before the load starts.")] = 5,
    step_size: Annotated[float, _own("-s", "--step-size", help="Seconds between points.")] = 0.2,
    host: Annotated[
        list[str] | None, _own("-H", "--host", help="Far end; several times for several.")
    ] = None,
    title: Annotated[str, _own("-t", "--title-extra", help="Title; part of the file's name.")] = "",
    note: Annotated[str, _own("-n", "--note", help="Any text, kept in the file.")] = "",
    data_dir: Annotated[
        Path, _own("-D", "--data-dir", help="Folder for the data file.", metavar="DIR")
    ] = Path(),
    parameter: Annotated[
        list[str] | None, _own("--test-parameter", help="May be repeated.", metavar="KEY=VALUE")
    ] = None,
    input_: Annotated[
        list[Path] | None,
        _own("-i", "--input", help="Read a data file, or several; no test is run.", metavar="FILE"),
    ] = None,
    list_: Annotated[bool, _own("--list-tests", help="List the tests and leave.")] = False,
    list_plots_: Annotated[
        bool, _own("--list-plots", help="List the plots of the test or file and leave.")
    ] = False,
    rate: Annotated[str, _net("--rate", help="Of the bottleneck.")] = "100mbit",
    rate_down: Annotated[
        str | None, _net("--rate-down", help="For downloads, if different.")
    ] = None,
    qdisc: Annotated[
        str, _net("--qdisc", help='Queue at the bottleneck, as typed after "root".')
    ] = "pfifo limit 1000",
    qdisc_down: Annotated[
        str | None, _net("--qdisc-down", help="For downloads, if different.")
    ] = None,
    rtt: Annotated[
        str, _net("--rtt", help="Base round-trip time; a list for several hosts.")
    ] = "1ms",
    access_rate: Annotated[str, _net("--access-rate", help="Rate of the client's link.")] = "1gbit",
    gateway: Annotated[
        bool,
        _net(
            "--gateway/--no-gateway",
            help="Whether downloads are queued at a gateway or at the server.",
        ),
    ] = True,
    overhead: Annotated[
        str, _net("--overhead", help="Bytes per packet on a link: ethernet, wire or a size.")
    ] = "ethernet",
    topology: Annotated[
        Path | None,
        _net("--topology", help="Use the links of this experiment instead.", metavar="FILE.toml"),
    ] = None,
    client: Annotated[str, _net("--client", help="The measuring host in such a file.")] = "client",
    queue: Annotated[
        list[str] | None, _net("--queue", help="Queue whose statistics are written.")
    ] = None,
    instead: Annotated[
        list[str] | None,
        typer.Option(
            help="Replace a controller by another one: westwood=reno.",
            metavar="NAME=OTHER",
            rich_help_panel=_RUN,
        ),
    ] = None,
    backend: Annotated[str, typer.Option(help="sim or kernel.", rich_help_panel=_RUN)] = "sim",
    irtt: Annotated[
        bool,
        typer.Option(
            "--irtt",
            help="Measure latency over UDP with the program irtt, on the kernel.",
            rich_help_panel=_RUN,
        ),
    ] = False,
    seed: Annotated[
        int, typer.Option(help="Seed of all random numbers.", rich_help_panel=_RUN)
    ] = 1,
    replication: Annotated[
        int, typer.Option(help="Number of the replication.", min=0, rich_help_panel=_RUN)
    ] = 0,
    memory: Annotated[
        str | None, typer.Option(help=MEMORY_HELP, metavar="SIZE", rich_help_panel=_RUN)
    ] = None,
    timer_hz: Annotated[
        int, typer.Option(help="Timer frequency: 100, 250, 1000.", rich_help_panel=_RUN)
    ] = 1000,
    yes: Annotated[bool, typer.Option("--yes", help=YES_HELP, rich_help_panel=_RUN)] = False,
) -> None:
    """Run a test of Flent and write its data file, NAME-TIME.TITLE.flent.gz.

    The network is client - router - gateway - server; between router and gateway is the bottleneck,
    with a queue in each direction.
    """
    from dumbbell.cli.common.memory import memory_bytes
    from dumbbell.cli.flent.tests import FlentOptions, flent, list_plots, list_tests
    from dumbbell.formats.kinds import FLENT_ENDS
    from dumbbell.spec.flent import Network

    console = PrintingConsole(sys.stdout)
    if list_:
        list_tests(console)
        return
    words = tests or []
    inputs = [*(input_ or []), *(Path(each) for each in words if each.endswith(FLENT_ENDS))]
    names = [each for each in words if not each.endswith(FLENT_ENDS)]
    if len(names) > 1:
        raise SpecError("flent", " ".join(names), "one test, or data files")
    test = names[0] if names else ""
    network = Network(
        rate=rate,
        rate_down=rate_down,
        qdisc=qdisc,
        qdisc_down=qdisc_down,
        rtts=[each.strip() for each in rtt.split(",")],
        access_rate=access_rate,
        gateway=gateway,
        overhead=overhead,
    )
    options = FlentOptions(
        test=test,
        inputs=inputs,
        plot=plot,
        format=format_,
        output=output,
        length_s=length,
        delay_s=delay,
        step_s=step_size,
        hosts=host or [],
        title=title,
        note=note,
        data_dir=data_dir,
        parameters=parameter or [],
        network=network,
        topology=topology,
        client=client,
        queues=queue or [],
        instead=instead or [],
        backend=backend,
        seed=seed,
        replication=replication,
        memory_bytes=memory_bytes(memory),
        timer_hz=timer_hz,
        irtt=irtt,
        yes=yes,
    )
    (list_plots if list_plots_ else flent)(options, console)
