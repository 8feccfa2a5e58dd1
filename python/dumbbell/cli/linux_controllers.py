"""``dumbbell controller build linux``: build the controllers in a kernel's source."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dumbbell.cli.terminal.output import say, tell
from dumbbell.errors import EXIT_BAD_INPUT

if TYPE_CHECKING:
    from dumbbell.backends.native import BuiltController


def build_linux(source: Path | None, *, as_json: bool) -> None:
    """Build the supported ones and report the others.

    Args:
        source: A source tree or an archive; None for Debian's.
        as_json: Whether to print JSON.

    Raises:
        typer.Exit: There is no source, or no controller could be built.
    """
    from dumbbell.backends.native import BuildError, SourceError, built, kernel_source
    from dumbbell.cli.terminal.json_text import json_text
    from dumbbell.spec.linux import LICENCE, LinuxController, keep, name_built

    try:
        found = kernel_source(source)
    except SourceError as error:
        tell(f"dumbbell: {error}")
        raise typer.Exit(EXIT_BAD_INPUT) from None
    done: list[tuple[LinuxController, BuiltController]] = []
    refused: list[tuple[str, str]] = []
    for files in found.controllers():
        kept = keep(files, found.version, str(found.place))
        try:
            object_ = built(kept.sha256)
        except BuildError as error:
            refused.append((files.name, str(error)))
            continue
        assert object_ is not None
        done.append((kept, object_))
    name_built([kept for kept, _ in done])
    if as_json:
        listed = {
            "source": str(found.place),
            "version": found.version,
            "licence": LICENCE,
            "built": [{**asdict(kept), "built": asdict(object_)} for kept, object_ in done],
            "refused": [{"name": name, "reason": reason} for name, reason in refused],
        }
        say(json_text(listed))
    else:
        for kept, object_ in done:
            numbers = [f"{p.name} = {p.value} ({p.least} to {p.most})" for p in object_.parameters]
            say(f"linux:{kept.name}: {kept.sha256[:16]}; {abilities(object_)}")
            say(f"    parameters: {', '.join(numbers) or 'none'}")
        say(
            f"{len(done)} controllers of Linux {found.version or 'of unknown version'}, from "
            f"{found.place}. The compiled files are {LICENCE}, like the source; they stay in your "
            "cache folder."
        )
    for name, reason in refused:
        tell(f"dumbbell: linux:{name} does not fit: {reason}")
    if not done:
        raise typer.Exit(EXIT_BAD_INPUT)


def abilities(found: BuiltController) -> str:
    """The controller's special abilities."""
    named = [
        (found.owns_recovery, "sets the window in recovery too"),
        (found.wants_pacing, "asks for pacing"),
    ]
    return ", ".join(text for has, text in named if has) or "sets the window"
