"""``dumbbell kernel build | info | test``: the Linux kernel in virtual time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from dumbbell.cli.common.options import Json, NoStore, Store, Yes
from dumbbell.cli.terminal.consoles import sentences_console, standard_output
from dumbbell.cli.terminal.output import say, tell
from dumbbell.cli.terminal.tables import print_table
from dumbbell.printable import printable

if TYPE_CHECKING:
    from dumbbell.backends.kernel import KernelInfo

STOPPED = 130
USUAL = "6.1"

kernel_app = typer.Typer(
    help="The Linux kernel in virtual time: build it once, list it, test it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Version = Annotated[
    str,
    typer.Option("--version", help="Which kernel: 6.1, 6.12, or your own name.", metavar="NAME"),
]
Hz = Annotated[int, typer.Option(help="Timer frequency: 1000, 250 or 100.", metavar="HZ")]


@kernel_app.command()
def build(
    *,
    source: Annotated[
        Path | None,
        typer.Option(
            help="Linux's source; Debian's package of the version when left out.",
            metavar="TARBALL|DIR",
        ),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(help="Version of Linux: 6.1 or 6.12; with --source the version it must have."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Name for experiments; default: its version."),
    ] = None,
    hz: Hz = 1000,
    jobs: Annotated[int, typer.Option(help="Parallel compilers; 0 for one per core.")] = 0,
    as_json: Json = False,
) -> None:
    """Build the kernel and its module for traffic into the cache, unless they are there.

    Takes about five minutes of CPU time, once. Exit status: 0 done, 1 failed, 2 bad input, 130
    stopped.
    """
    from dumbbell.backends.kernel.build import build_kernel
    from dumbbell.cli.terminal.progress import shown_progress
    from dumbbell.replication import Progress

    try:
        with shown_progress() as show:
            info = build_kernel(
                source,
                version=version,
                name=name,
                hz=hz,
                jobs=jobs,
                on_progress=lambda what, done, total: show(Progress(what, done, total, "files")),
            )
    except KeyboardInterrupt:
        tell("stopped; nothing is left of the build")
        raise typer.Exit(STOPPED) from None
    from dumbbell.backends.kernel.tool_library import tool_library_of
    from dumbbell.backends.kernel.traffic import traffic_module_of

    module, why = _compiled(lambda: traffic_module_of(info))
    library, why_none = _compiled(tool_library_of)
    if as_json:
        more = {"traffic_module": module, "traffic_module_missing": why}
        more |= {"tool_library": library, "tool_library_missing": why_none}
        _print_info(info, as_json, more)
        return
    _print_info(info, as_json)
    said = "compiled" if module else f"none, runs use the process: {printable(why or '')}"
    say(f"module    {said}")
    if why_none is not None:
        say(f"library   none, tc is started anew for each host: {printable(why_none)}")


def _compiled(compile_it: Callable[[], Path]) -> tuple[str | None, str | None]:
    """Path of what a kernel is of use without, or why there is none."""
    from dumbbell.backends.native import BuildError

    try:
        return str(compile_it()), None
    except BuildError as error:
        return None, str(error)


@kernel_app.command()
def info(
    *,
    version: Annotated[
        str | None,
        typer.Option(help="Show only this one: 6.1, 6.12, or your own name.", metavar="NAME"),
    ] = None,
    hz: Hz = 1000,
    as_json: Json = False,
) -> None:
    """Show the kernel and guest in use, how guests are confined, and the other kernels in the
    cache.

    Exit status 2 when one of them has not been built.
    """
    from dumbbell.backends.kernel import require_kernel
    from dumbbell.backends.kernel.build import check_hz
    from dumbbell.backends.kernel.cache import cached_kernels
    from dumbbell.backends.kernel.confinement import best_confinement
    from dumbbell.backends.kernel.guest import GuestMissingError, guest_program

    check_hz(hz)
    kernel = require_kernel(hz, version or USUAL)
    others = [] if version else cached_kernels()
    more: dict[str, Any] = {"kernels": [_listed(each) for each in others]} if others else {}
    try:
        guest, confinement = guest_program(), best_confinement()
    except GuestMissingError:
        _print_info(kernel, as_json, {"guest": None, "confinement": None} | more)
        raise
    told = {"guest": str(guest), "confinement": dataclasses.asdict(confinement)} | more
    _print_info(kernel, as_json, told)
    if not as_json:
        say(f"confined  by {confinement}")
        if len(others) > 1:
            _print_kernels(others)


@kernel_app.command()
def test(*, version: Version = USUAL, hz: Hz = 1000, as_json: Json = False) -> None:
    """Check the machine, then run three short guests and check their results.

    Exit status: 0 all is right, 1 something is not, 2 no kernel has been built.
    """
    from dumbbell.backends.kernel import require_kernel
    from dumbbell.backends.kernel.build import check_hz
    from dumbbell.backends.kernel.host_checks import Check, host_checks
    from dumbbell.backends.kernel.selftest import Finding, self_test

    check_hz(hz)
    found: list[Check | Finding] = list(host_checks())
    try:
        if all(each.ok for each in found):
            found += self_test(require_kernel(hz, version).path)
    except KeyboardInterrupt:
        tell("stopped")
        raise typer.Exit(STOPPED) from None
    if as_json:
        from dumbbell.cli.terminal.json_text import json_text

        say(json_text([dataclasses.asdict(each) for each in found]))
    else:
        table = Table(box=None, pad_edge=False, show_header=False)
        for each in found:
            table.add_row("ok" if each.ok else "WRONG", each.name, each.detail)
        print_table(table, standard_output())
    raise typer.Exit(0 if all(each.ok for each in found) else 1)


@kernel_app.command()
def compare(
    one: Annotated[str, typer.Argument(help="A kernel: 6.1, 6.12, or your own name.")],
    other: Annotated[str, typer.Argument(help="The kernel to compare it with.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Experiments; the sixty of the reference grid when left out.", metavar="FILE.toml"
        ),
    ] = None,
    *,
    only: Annotated[
        str, typer.Option(help="Of the grid: networks with this word in their names.")
    ] = "",
    replications: Annotated[
        int, typer.Option(help="Runs of each experiment on each kernel.", min=2)
    ] = 5,
    jobs: Annotated[int, typer.Option(help="Parallel guests; 0 for one per core.")] = 0,
    store: Store = None,
    no_store: NoStore = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Run experiments on two kernels, and print differences and the first packet that differs.

    Replications are paired: both kernels see the same starts, arrivals and sizes. All sixty of the
    grid take hours of CPU time. Exit status: 0 done, 1 a run failed, 2 bad input.
    """
    from dumbbell.cli.common.store import StoreOptions
    from dumbbell.cli.kernel.compare import KernelCompareOptions, compare_on_kernels

    asked = KernelCompareOptions(
        kernels=(one, other),
        files=tuple(files or ()),
        only=only,
        replications=replications,
        jobs=jobs,
        storing=StoreOptions(store, not no_store),
        as_json=as_json,
        yes=yes,
    )
    raise typer.Exit(compare_on_kernels(asked, sentences_console(as_json=as_json)))


def _listed(info: KernelInfo) -> dict[str, Any]:
    fields = {name: getattr(info, name) for name in ("name", "release", "hz", "built_at", "key")}
    return {**fields, "path": str(info.path), "current": info.is_current}


def _print_kernels(kernels: list[KernelInfo]) -> None:
    table = Table(box=None, pad_edge=False)
    for head in ("in the cache", "release", "HZ", "built", "of", ""):
        table.add_column(head)
    for each in sorted(kernels, key=lambda each: (each.name, -each.hz)):
        recipe = "" if each.is_current else "by an older recipe: not used"
        built = each.built_at[:16].replace("T", " ")
        table.add_row(
            printable(each.name),
            printable(each.release),
            str(each.hz),
            built,
            printable(each.source),
            recipe,
        )
    say()
    print_table(table, standard_output())


def _print_info(info: Any, as_json: bool, more: dict[str, Any] | None = None) -> None:
    fields = dataclasses.asdict(info) | {"path": str(info.path)} | (more or {})
    if as_json:
        from dumbbell.cli.terminal.json_text import json_text

        say(json_text(fields))
        return
    say(f"name      {info.name}")
    say(f"path      {info.path}")
    say(f"release   {info.release}, HZ={info.hz}, {info.size_bytes / 1e6:.1f} MB")
    say(f"sha256    {info.sha256}")
    say(f"built     {info.built_at} in {info.build_s:.0f} s from {info.source}")
    say(f"compiler  {info.compiler}")
    if info.optional:
        say(f"options   {', '.join(info.optional)}, which only some sources have")
    if more is not None:
        say(f"guest     {more['guest'] or 'has not been built'}")
