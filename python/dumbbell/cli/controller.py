"""``dumbbell controller build | compare | list``: user-supplied controllers, and Linux's."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from dumbbell.cli.linux_controllers import abilities, build_linux
from dumbbell.cli.terminal.consoles import standard_output
from dumbbell.cli.terminal.output import say, tell
from dumbbell.cli.terminal.tables import print_table
from dumbbell.errors import EXIT_BAD_INPUT

if TYPE_CHECKING:
    from dumbbell.compare.controllers import FirstDifference

LINUX = "linux"

controller_app = typer.Typer(
    help="Congestion controllers of your own, in C and Python, and Linux's.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

_WINDOW = ("cwnd_pkts", "ssthresh_pkts", "acked_since_growth_pkts", "pacing_rate_bytes_per_s")

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


@controller_app.command()
def build(
    file: Annotated[
        str,
        typer.Argument(
            help="A controller in C; a Python file and class; or linux, for the controllers in a "
            "kernel's source.",
            metavar="FILE.c|FILE.py:CLASS|linux",
        ),
    ],
    *,
    source: Annotated[
        Path | None,
        typer.Option(
            metavar="TREE",
            help="With linux: the kernel's source, a tree or an archive. [default: "
            "/usr/src/linux-source-6.1.tar.xz, of Debian's package linux-source-6.1]",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Allow a file to run as a controller; compile it (C) or execute it once (Python).

    Like --allow-native of dumbbell run, but for this file only: descriptions that name it can then
    run it with all your permissions, as long as its content is the same. With linux, build each
    controller in net/ipv4/tcp_*.c of a kernel's source, unmodified, for congestion_control =
    "linux:NAME"; the result is GPL-2.0, like these files, and stays in your cache folder. Exit
    status: 0 done, 2 the file is not a controller, or none of linux could be built.
    """
    if file == LINUX:
        build_linux(source, as_json=as_json)
        return
    if source is not None:
        raise typer.BadParameter(
            "it is for: dumbbell controller build linux", param_hint="--source"
        )
    from dumbbell.backends.native import BuildError, built, built_class
    from dumbbell.cli.terminal.json_text import json_text
    from dumbbell.spec.native import PYTHON_ENDING, allow

    path, _, class_name = file.rpartition(":")
    is_class = path.endswith(PYTHON_ENDING)
    if not is_class and file.endswith(PYTHON_ENDING):
        tell(f"dumbbell: {file}: {Path(file).name}:CLASS is allowed, with one of its classes")
        raise typer.Exit(EXIT_BAD_INPUT)
    try:
        if is_class:
            found = built_class(allow(path), class_name, Path(path).name)
        else:
            found = built(allow(file))
    except BuildError as error:
        tell(f"dumbbell: {file}: {error}")
        raise typer.Exit(EXIT_BAD_INPUT) from None
    assert found is not None
    if as_json:
        say(json_text(asdict(found)))
        return
    numbers = [f"{p.name} = {p.value} ({p.least} to {p.most})" for p in found.parameters]
    say(f"{found.name}: {found.sha256}")
    say(f"parameters: {', '.join(numbers) or 'none'}")


@controller_app.command()
def compare(
    file: Annotated[Path, typer.Argument(help="A controller in C.", metavar="FILE.c")],
    experiment: Annotated[
        Path | None,
        typer.Argument(help="TOML file; one flow over 10 Mbit/s when left out."),
    ] = None,
    *,
    replication: Annotated[int, typer.Option(help="Which replication.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Run a C file in the simulator and on the Linux kernel, and print the first difference.

    Events are compared one by one: kind, arguments, and the window before and after. If no flow
    names a C file, the first TCP flow of the experiment uses it. The file is allowed, as by build.
    Exit status: 0 done, with or without differences; 1 a run failed; 2 bad input, or the kernel has
    not been built.
    """
    from dumbbell.cli.terminal.json_text import json_text
    from dumbbell.compare.controllers import compare_controller, with_controller

    found = compare_controller(with_controller(file, experiment), replication)
    if as_json:
        say(json_text(asdict(found)))
        return
    say(f"events: {found.events_sim} in the simulator, {found.events_kernel} on the kernel")
    _print_first_difference("first difference", found.anything)
    if found.window != found.anything:
        _print_first_difference("first difference of the window", found.window)


@controller_app.command("list")
def list_controllers(*, as_json: Json = False) -> None:
    """List the controllers that a description can name, and the folder of the header."""
    from dumbbell import _engine
    from dumbbell.backends.native import HEADER, kept
    from dumbbell.cli.terminal.json_text import json_text
    from dumbbell.spec.linux import PREFIX, linux_controllers

    of_linux = {each.sha256: each for each in linux_controllers().values()}
    own = list(_engine.congestion_controllers())
    files = list(kept())
    if as_json:
        listed = [
            {
                "sha256": sha256,
                "built": None if found is None else asdict(found),
                "linux": asdict(of_linux[sha256]) if sha256 in of_linux else None,
            }
            for sha256, found in files
        ]
        say(json_text({"simulator": own, "files": listed, "include": str(HEADER.parent)}))
        return
    say(f"of the simulator: {', '.join(own)}")
    if files:
        table = Table("allowed file (SHA-256)", "name", "can", "parameters", "of", box=None)
        for sha256, found in files:
            origin = of_linux.get(sha256)
            of = "" if origin is None else f"Linux {origin.version}, {origin.source}"
            if found is None:
                table.add_row(sha256[:16], "not compiled", "", "", of)
                continue
            name = found.name if origin is None else f"{PREFIX}{origin.name}"
            names = ", ".join(f"{each.name}={each.value}" for each in found.parameters)
            table.add_row(sha256[:16], name, abilities(found), names, of)
        print_table(table, standard_output())
    say(f"header: {HEADER}")


def _print_first_difference(what: str, first_difference: FirstDifference | None) -> None:
    """Print a table of the differing fields, and of the window on both sides."""
    from dumbbell.compare.controllers import Field

    if first_difference is None:
        say(f"{what}: none")
        return
    at = (
        ""
        if first_difference.sim is None and first_difference.kernel is None
        else f" at {first_difference.now_ns / 1e9:.6f} s"
    )
    say(f"{what}: number {first_difference.number} of connection {first_difference.connection}{at}")
    table = Table("", "simulator", "kernel", box=None)
    ends = (first_difference.sim, first_difference.kernel)
    table.add_row("event", *(each.event if each else "none any more" for each in ends))
    of_the_window = (Field(part, name) for part in ("before", "after") for name in _WINDOW)
    for field in dict.fromkeys((*first_difference.fields, *of_the_window)):
        values = [each.fields(field.part).get(field.name) if each else None for each in ends]
        mark = " *" if field in first_difference.fields else ""
        shown = ("" if each is None else str(each) for each in values)
        table.add_row(f"{field.part}.{field.name}{mark}", *shown)
    print_table(table, standard_output())
