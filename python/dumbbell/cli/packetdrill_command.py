"""``dumbbell packetdrill``: packetdrill's scripts against the TCP of the simulator."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeGuard

import typer

from dumbbell.cli.options import Json
from dumbbell.errors import EXIT_BAD_INPUT, EXIT_CONTRADICTED_OR_FAILED, SpecError

LARGEST_BYTES = 1 << 20
"""Bytes of a script at most, as the reader of the language has it."""

_SUFFIX = ".pkt"
_COUNTED = ("passed", "failed", "unsupported")


def packetdrill_command(
    files: Annotated[
        list[Path],
        typer.Argument(help="Scripts, or folders of them (*.pkt).", metavar="FILE.pkt..."),
    ],
    *,
    profile: Annotated[
        str, typer.Option(help="Whose behaviour is required: linux-6.1 or rfc.")
    ] = "linux-6.1",
    as_json: Json = False,
) -> None:
    """Run packetdrill's scripts against the TCP of the simulator."""
    from dumbbell._engine import check_packet_script
    from dumbbell.spec.refusal import nearest, one_of
    from dumbbell.spec.tcp import PROFILES

    if profile not in PROFILES:
        words = list(PROFILES)
        raise SpecError("--profile", profile, one_of(words), nearest(profile, words))
    scripts = {path: _text(path) for path in _paths(files)}
    reports = []
    for path, text in scripts.items():
        report = {"file": str(path), **json.loads(check_packet_script(text, profile))}
        reports.append(report)
        if not as_json:
            _print(report)
    counts = {each: sum(report["verdict"] == each for report in reports) for each in _COUNTED}
    malformed = sum(report["verdict"] == "malformed" for report in reports)
    if as_json:
        print(json.dumps({"scripts": reports, **counts, "malformed": malformed}, indent=2))
    else:
        print(", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
    if malformed:
        raise typer.Exit(EXIT_BAD_INPUT)
    if counts["failed"]:
        raise typer.Exit(EXIT_CONTRADICTED_OR_FAILED)


def _paths(files: list[Path]) -> Iterator[Path]:
    for file in files:
        if not file.is_dir():
            yield file
            continue
        found = sorted(file.rglob(f"*{_SUFFIX}"))
        if not found:
            raise SpecError("FILE", file, f"a script, or a folder with *{_SUFFIX} in it")
        yield from found


def _text(path: Path) -> str:
    from dumbbell.inputs import open_input

    try:
        with open_input(path) as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError("FILE", path, "a script that can be read", reason=reason) from None
    if len(content) > LARGEST_BYTES:
        raise SpecError("FILE", path, f"a script of at most {LARGEST_BYTES} bytes")
    return content.decode(errors="replace")


def _print(report: dict[str, Any]) -> None:
    from dumbbell.printable import printable

    file, verdict = printable(report["file"]), report["verdict"]
    if verdict == "passed":
        print(f"{file}: passed")
        return
    place = f"{file}:{report['line']}:{report['column']}"
    if verdict == "malformed":
        print(f"{place}: {printable(report['mistake'])}", file=sys.stderr)
    elif verdict == "unsupported":
        print(f"{place}: unsupported: {printable(', '.join(report['missing']))}")
    else:
        print(f"{place}: failed{_of(report['difference'])}")
        for side in ("expected", "found"):
            print(f"    {side + ':':<9} {printable(_side(report['difference'], side))}")


def _of(difference: dict[str, Any]) -> str:
    return f": {difference['name']}" if difference["kind"] == "call" else ""


def _side(difference: dict[str, Any], side: str) -> str:
    value = difference[side]
    if value is None:
        return "nothing"
    if _is_fields(value):
        return ", ".join(f"{name} = {number:.15g}" for name, number in value if number is not None)
    return str(value)


def _is_fields(value: object) -> TypeGuard[list[tuple[str, float]]]:
    """What an assertion found: names with their values."""
    return isinstance(value, list)
