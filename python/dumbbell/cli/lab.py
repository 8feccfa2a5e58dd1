"""``dumbbell lab``: the laboratory, a page with the simulator inside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.common.pages import open_page
from dumbbell.cli.terminal.output import say

if TYPE_CHECKING:
    from dumbbell.lab import LabExperiment

PLACE = Path("results/laboratory.html")
"""What an index leads to."""


def lab_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="An experiment to begin with; others follow it in the menu.",
            metavar="FILE.toml",
        ),
    ] = None,
    *,
    output: Annotated[
        Path, typer.Option(help="Where the page is written.", metavar="PATH")
    ] = PLACE,
    opens: Annotated[
        bool, typer.Option("--open/--no-open", help="Open it in a browser; with --no-open do not.")
    ] = True,
) -> None:
    """Write the laboratory: one page that runs the simulator while you move its sliders.

    Beside pages of studies it also writes live.js, which makes their figures answer. It needs no
    server and no network. Exit status: 0 done, 2 bad input, or the simulator's module was not
    built.
    """
    from dumbbell.lab import STORY, LabExperiment, write_laboratory, write_live, write_story
    from dumbbell.report import has_pages, link_laboratory, pages_in
    from dumbbell.spec import Experiment

    begun = []
    for number, file in enumerate(files or [], start=1):
        experiment = Experiment.from_toml(file)
        question = f"What {file.name} describes; every change can be taken back."
        id_ = "file" if number == 1 else f"file-{number}"
        begun.append(LabExperiment(id_, experiment.name, question, experiment, is_own=True))
    write_laboratory(output, begun, of_studies())
    folder = output.absolute().parent
    if has_pages(folder):
        write_live(folder)
        if (folder / STORY).is_file():
            # It may have been written before there was a simulator to put into it.
            write_story(folder, pages_in(folder))
    if output.name == PLACE.name:
        link_laboratory(folder)
    say(f"The laboratory: {output.resolve().as_uri()}")
    if opens:
        open_page(output)


def of_studies() -> list[LabExperiment]:
    """Arms of the studies, each under its study's title."""
    from dumbbell.lab import LabExperiment
    from dumbbell.studies.laboratory import study_experiments

    return [
        LabExperiment(
            each.id, each.label, each.question, each.experiment, each.queue, group=each.study
        )
        for each in study_experiments()
    ]
