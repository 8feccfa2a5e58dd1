"""``dumbbell kernel build | info | test``: the real Linux kernel in virtual time."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from dumbbell.cli.consoles import standard_output

STOPPED = 130

kernel_app = typer.Typer(
    help="The real Linux kernel in virtual time: build it once, see it, try it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Hz = Annotated[int, typer.Option(help="Timer ticks a second: 1000, 250 or 100.", metavar="HZ")]


@kernel_app.command()
def build(
    *,
    source: Annotated[
        Path | None,
        typer.Option(help="Linux 6.1; Debian's package when left out.", metavar="TARBALL|DIR"),
    ] = None,
    hz: Hz = 1000,
    jobs: Annotated[int, typer.Option(help="Compilers side by side; 0 for one a core.")] = 0,
    as_json: Json = False,
) -> None:
    """Build the kernel into the cache, unless it is there.

    Takes about five minutes of CPU time, once. Exit status: 0 done, 1 failed, 2 bad input, 130
    stopped.
    """
    from dumbbell.backends.kernel.build import build_kernel
    from dumbbell.cli.progress import shown_progress
    from dumbbell.sweep import Progress

    try:
        with shown_progress() as show:
            info = build_kernel(
                source,
                hz=hz,
                jobs=jobs,
                on_progress=lambda what, done, total: show(Progress(what, done, total, "files")),
            )
    except KeyboardInterrupt:
        print("stopped; nothing is left of the build", file=sys.stderr)
        raise typer.Exit(STOPPED) from None
    _print_info(info, as_json)


@kernel_app.command()
def info(*, hz: Hz = 1000, as_json: Json = False) -> None:
    """Say which kernel and guest would be used, and by what a guest is confined.

    Exit status 2 when one of them has not been built.
    """
    from dumbbell.backends.kernel import require_kernel
    from dumbbell.backends.kernel.build import check_hz
    from dumbbell.backends.kernel.confinement import best_confinement
    from dumbbell.backends.kernel.programs import GuestMissingError, guest_program

    check_hz(hz)
    kernel = require_kernel(hz)
    try:
        guest, confinement = guest_program(), best_confinement()
    except GuestMissingError:
        _print_info(kernel, as_json, {"guest": None, "confinement": None})
        raise
    more = {"guest": str(guest), "confinement": dataclasses.asdict(confinement)}
    _print_info(kernel, as_json, more)
    if not as_json:
        print(f"confined  by {confinement}")


@kernel_app.command()
def test(*, hz: Hz = 1000, as_json: Json = False) -> None:
    """Ask the machine, then run three short guests and judge what they do.

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
            found += self_test(require_kernel(hz).path)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        raise typer.Exit(STOPPED) from None
    if as_json:
        from dumbbell.cli.jsonable import json_text

        print(json_text([dataclasses.asdict(each) for each in found]))
    else:
        table = Table(box=None, pad_edge=False, show_header=False)
        for each in found:
            table.add_row("ok" if each.ok else "WRONG", each.name, each.detail)
        standard_output().print(table, markup=False)
    raise typer.Exit(0 if all(each.ok for each in found) else 1)


def _print_info(info: Any, as_json: bool, more: dict[str, Any] | None = None) -> None:
    fields = dataclasses.asdict(info) | {"path": str(info.path)} | (more or {})
    if as_json:
        from dumbbell.cli.jsonable import json_text

        print(json_text(fields))
        return
    print(f"path      {info.path}")
    print(f"release   {info.release}, HZ={info.hz}, {info.size_bytes / 1e6:.1f} MB")
    print(f"sha256    {info.sha256}")
    print(f"built     {info.built_at} in {info.build_s:.0f} s from {info.source}")
    print(f"compiler  {info.compiler}")
    if more is not None:
        print(f"guest     {more['guest'] or 'has not been built'}")
