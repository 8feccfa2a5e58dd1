"""``dumbbell figures``: convert a result's figures to image files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell.cli.terminal.output import say
from dumbbell.errors import SpecError

FORMATS = ("svg", "png", "pdf")
_LARGEST_BYTES = 50_000_000


def figures_command(
    folder: Annotated[Path, typer.Argument(help="A result, such as results/pie-rrul.")],
    *,
    to: Annotated[str, typer.Option(help="Formats: svg, png, pdf.", metavar="FORMAT[,...]")] = (
        "png,pdf"
    ),
    out: Annotated[Path, typer.Option(help="Folder for the images.", metavar="DIR")] = Path(),
) -> None:
    """Draw the figures of a result as PNG or PDF, for slides and papers."""
    from dumbbell.folders import replace_file, why_not_writable
    from dumbbell.report.figures import DrawingError, FigureDrawer

    suffixes = [f".{each}" for each in _formats(to)]
    specs = _specs(folder)
    reason = why_not_writable(out)
    if reason is not None:
        raise SpecError("--out", out, f"another folder: {reason}")
    failed = []
    with FigureDrawer() as drawer:
        for name, spec in specs.items():
            try:
                pictures = drawer.pictures(name, spec, suffixes)
            except DrawingError as error:
                failed.append(str(error))
                continue
            for suffix, content in pictures.items():
                replace_file(out / f"{name}{suffix}", content)
                say(out / f"{name}{suffix}")
    if failed:
        raise DrawingError("; ".join(failed))


def _formats(to: str) -> list[str]:
    wanted = list(dict.fromkeys(each.strip().lower() for each in to.split(",")))
    for each in wanted:
        if each not in FORMATS:
            raise SpecError("--to", each, f"one of {', '.join(FORMATS)}, or several with commas")
    return wanted


def _specs(folder: Path) -> dict[str, dict[str, Any]]:
    """Vega-Lite specification of each figure, by name."""
    from dumbbell.report.figures import SPEC

    files: Sequence[Path] = sorted((folder / "figures").glob(f"*{SPEC}"))
    if not files:
        allowed = "a folder with figures in it, as dumbbell reproduce, run and analyze write them"
        raise SpecError("FOLDER", folder, allowed)
    return {each.name.removesuffix(SPEC): _spec(each) for each in files}


def _spec(file: Path) -> dict[str, Any]:
    if file.stat().st_size > _LARGEST_BYTES:
        raise SpecError(str(file), f"{file.stat().st_size} bytes", f"at most {_LARGEST_BYTES}")
    try:
        spec = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SpecError(str(file), str(error), "Vega-Lite as JSON") from None
    if not isinstance(spec, dict):
        raise SpecError(str(file), type(spec).__name__, "Vega-Lite as a JSON object")
    return spec
