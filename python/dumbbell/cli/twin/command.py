"""``dumbbell twin FILE...``: a model of a real line, estimated from measurements."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.common.options import Jobs, Json, Page, Replace
from dumbbell.cli.terminal.consoles import sentences_console
from dumbbell.cli.twin.options import (
    Down,
    DuringBoth,
    DuringDown,
    DuringUp,
    Idle,
    LineOptions,
    LoadedDown,
    LoadedUp,
    Rtt,
    Senders,
    TcDown,
    TcUp,
    Up,
)

if TYPE_CHECKING:
    from dumbbell.cli.common.pages import PagePlace
    from dumbbell.twin.result import Twin
    from dumbbell.twin.scene import Scene

TWIN_JSON = "twin.json"
"""File beside the page, read by ``dumbbell advise``."""


def twin_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="What was measured under load: data files of Flent's, iperf3's JSON, crusader's "
            "results, captures. Known by what is in it, packed or not.",
            metavar="FILE...",
            show_default=False,
        ),
    ] = None,
    *,
    idle: Idle = None,
    during_up: DuringUp = None,
    during_down: DuringDown = None,
    during_both: DuringBoth = None,
    tc_up: TcUp = None,
    tc_down: TcDown = None,
    hold_out: Annotated[
        list[Path] | None,
        typer.Option(
            "--hold-out",
            help="A file to predict and not to fit to, in place of each load's second half.",
            metavar="FILE",
        ),
    ] = None,
    up: Up = None,
    down: Down = None,
    rtt: Rtt = None,
    loaded_up: LoadedUp = None,
    loaded_down: LoadedDown = None,
    congestion_control: Senders = None,
    seed: Annotated[
        int, typer.Option(help="Of all simulations: the same gives the same twin.", min=0)
    ] = 1,
    jobs: Jobs = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the page, twin.toml and twin.json (results/NAME-twin).", metavar="DIR"
        ),
    ] = None,
    page: Page = None,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Estimate a line from measurements of it: rates, delay, buffers, discipline.

    The simulator is fitted to one part of the measurement and then predicts the other. The folder
    of the page contains twin.toml, an experiment for dumbbell run. Exit status: 0 done, also for a
    twin that does not predict the held-out data; 2 the files do not contain enough.
    """
    from dumbbell.cli.common.pages import has_page, page_folder, result_place
    from dumbbell.cli.terminal.output import tell
    from dumbbell.twin.estimating import estimate
    from dumbbell.twin.reading import read_measurements

    asked = LineOptions(
        files=files or (),
        idle=idle or (),
        during_up=during_up or (),
        during_down=during_down or (),
        during_both=during_both or (),
        tc_up=tc_up or (),
        tc_down=tc_down or (),
        up=up,
        down=down,
        rtt=rtt,
        loaded_up=loaded_up,
        loaded_down=loaded_down,
        senders=congestion_control,
    )
    console = sentences_console(as_json=as_json)
    measured = asked.measurements()
    name = "typed" if not asked.files else _stem(asked.files[0])
    with result_place(
        out or page_folder(name, "twin"),
        subject="twin",
        source=asked.files[0] if asked.files else None,
        replace=replace,
        has_page=has_page(page, out, as_json=as_json),
        is_asked_for=page is True or out is not None,
    ) as place:
        if measured is None:
            twin = asked.twin_of_numbers(seed)
        else:
            others = read_measurements(hold_out, {}).scenes if hold_out else ()
            twin = estimate(measured, seed=seed, jobs=jobs, held_out=others, tell=tell)
        _print(twin, as_json=as_json)
        if place is not None:
            from rich.text import Text

            console.print(Text("drawing the page"), style="dim")
            scenes = () if measured is None else measured.scenes
            _write(twin, scenes, place, jobs, as_json=as_json)


def _print(twin: Twin, *, as_json: bool) -> None:
    from dumbbell.cli.terminal.consoles import standard_output
    from dumbbell.cli.terminal.json_text import json_text
    from dumbbell.cli.terminal.output import say
    from dumbbell.cli.twin.table import print_twin

    if as_json:
        say(json_text(twin.document))
    else:
        print_twin(twin, standard_output())


def _write(
    twin: Twin, scenes: tuple[Scene, ...], place: PagePlace, jobs: int, *, as_json: bool
) -> None:
    from dumbbell.cli.terminal.json_text import json_text
    from dumbbell.twin.experiment_text import twin_text
    from dumbbell.twin.page import twin_report
    from dumbbell.twin.profile import profiles

    text = twin_text(twin, scenes)
    files = {"twin.toml": text, TWIN_JSON: json_text(twin.document) + "\n"}
    found = profiles(twin, scenes, jobs=jobs)
    report = twin_report(twin, scenes, found, text, files, jobs=jobs)
    place.write(report, {}, sentences_console(as_json=as_json))


def _stem(file: Path) -> str:
    name = re.sub(r"\.(gz|bz2|xz|zst)$", "", file.name)
    return re.sub(r"[^A-Za-z0-9._-]", "_", Path(name).stem).lstrip("._-")[:80] or "line"
