"""``dumbbell lab``: the laboratory, a page that contains the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.common.pages import open_page
from dumbbell.cli.terminal.output import say
from dumbbell.inputs import open_input

if TYPE_CHECKING:
    from dumbbell.lab import LabExperiment, Task

PLACE = Path("results/laboratory.html")
"""Path that an index links to."""


def lab_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="An experiment to begin with; others follow it in the menu.",
            metavar="FILE.toml",
        ),
    ] = None,
    *,
    task: Annotated[
        list[Path] | None,
        typer.Option(
            help="A handout to show beside the sliders of the experiments that it links to (of all "
            "if it links to none); may be given several times.",
            metavar="FILE.md",
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="Path of the page.", metavar="PATH")] = PLACE,
    opens: Annotated[
        bool, typer.Option("--open/--no-open", help="Open it in a browser; with --no-open do not.")
    ] = True,
) -> None:
    """Write the laboratory: one page that runs the simulator while you move sliders.

    Beside pages of studies it also writes live.js, which makes their figures answer. It needs no
    server and no network. Exit status: 0 done, 2 bad input, or the simulator's module was not
    built.
    """
    from dumbbell.errors import SpecError
    from dumbbell.lab import STORY, LabExperiment, write_laboratory, write_live, write_story
    from dumbbell.report import has_pages, link_laboratory, pages_in
    from dumbbell.spec import Experiment

    tasks = [_task(file) for file in task or []]
    begun = []
    for number, file in enumerate(files or [], start=1):
        experiment = Experiment.from_toml(file)
        question = f"What {file.name} describes; every change can be taken back."
        id_ = "file" if number == 1 else f"file-{number}"
        found = next((each for each in tasks if each.is_of(file.name)), None)
        begun.append(
            LabExperiment(id_, experiment.name, question, experiment, is_own=True, task=found)
        )
    for place, read in zip(task or [], tasks, strict=True):
        if all(each.task is not read for each in begun):
            named = ", ".join(sorted(read.files)) or "every experiment that is given"
            asked = ", ".join(file.name for file in files or []) or "none"
            raise SpecError(str(place), f"a handout of {named}", f"one of what is opened: {asked}")
    write_laboratory(output, begun, of_studies())
    folder = output.absolute().parent
    if has_pages(folder):
        write_live(folder)
        if (folder / STORY).is_file():
            # The existing page may be older than the simulator's module.
            write_story(folder, pages_in(folder))
    if output.name == PLACE.name:
        link_laboratory(folder)
    say(f"The laboratory: {output.resolve().as_uri()}")
    if opens:
        open_page(output)


def _task(place: Path) -> Task:
    from dumbbell.lab import Task
    from dumbbell.lab.task import MOST_LETTERS

    with open_input(place) as file:
        text = file.read(4 * MOST_LETTERS + 1)  # a character has at most four bytes
    return Task.read(text.decode("utf-8", errors="replace"), str(place))


def of_studies() -> list[LabExperiment]:
    """Arms of the studies, under each study's title."""
    from dumbbell.lab import LabExperiment
    from dumbbell.studies.laboratory import study_experiments

    return [
        LabExperiment(
            each.id, each.label, each.question, each.experiment, each.queue, group=each.study
        )
        for each in study_experiments()
    ]
