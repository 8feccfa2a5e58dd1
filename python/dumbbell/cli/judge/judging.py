"""``dumbbell judge``: the dossier of a congestion controller, run, printed and written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dumbbell.backends import get_backend
from dumbbell.claims import to_rows
from dumbbell.cli.common.confirmation import agree_to_runs
from dumbbell.cli.common.executor import executor_for
from dumbbell.cli.common.memory import memory_bytes
from dumbbell.cli.common.options import DEFAULT_BACKENDS
from dumbbell.cli.common.page_runs import PageRuns
from dumbbell.cli.common.pages import PagePlace, has_page, page_folder, result_place
from dumbbell.cli.common.store import stored_executor
from dumbbell.cli.run.comparison import print_failed
from dumbbell.cli.run.planning import PlannedCells
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say, tell
from dumbbell.cli.terminal.progress import shown_progress
from dumbbell.cli.terminal.signals import stopped_by_ctrl_c
from dumbbell.cli.terminal.tables import print_table
from dumbbell.compare import Cell
from dumbbell.compare.executing import Executor
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, EXIT_DONE, SpecError
from dumbbell.folders import Content, write_content
from dumbbell.judge.asked import Asked, Depth
from dumbbell.judge.dossier import Dossier, Written, judge_controller, write_experiments
from dumbbell.judge.folder import dossier_files, section_files
from dumbbell.judge.kept import SECTIONS_FOLDER
from dumbbell.judge.words import NO_CHECK_LIST, answer, question, split_words
from dumbbell.replication import Interrupted
from dumbbell.spec.native import Reference
from dumbbell.spec.refusal import Refused
from dumbbell.spec.tcp import Tcp

_CONTROL = "flows[0].tcp.congestion_control"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions(PageRuns):
    """What was typed; see `PageRuns` for the rest.

    Attributes:
        controller: A name, or a file in C or Python.
        against: Names, or files.
        depth: How thoroughly.
    """

    controller: str
    against: tuple[str, ...]
    depth: Depth


def run_judge(asked: JudgeOptions, console: Console) -> int:
    """Do it.

    Returns:
        The exit status.

    Raises:
        SpecError: A controller is not known, or its file may not be used.
    """
    backends = asked.backends or DEFAULT_BACKENDS
    for name in backends:
        get_backend(name)
    with tempfile.TemporaryDirectory(prefix="dumbbell-judge-") as folder:
        about = Asked(
            _placed(asked.controller, Path(folder), "NAME|FILE"),
            tuple(_placed(each, Path(folder), "--against") for each in asked.against),
            asked.depth,
        )
        written = write_experiments(about, Path(folder))
        with _place(about, asked) as place:
            dossier = _run(about, written, asked, backends)
            if dossier.interrupted:
                console.print(Text("Stopped by hand: the same command goes on from here."))
                return Interrupted.exit_code
            if asked.as_json:
                say(json_text(_json(dossier)))
            else:
                print_dossier(dossier, console)
            if place is not None:
                _write(dossier, place, console)
    failed = any(found.checked.comparison.failed for found in dossier.found)
    return EXIT_CONTRADICTED_OR_FAILED if failed else EXIT_DONE


def _placed(typed: str, folder: Path, option: str) -> str:
    """A controller as a description beside which its file lies names it."""
    try:
        reference = Reference.typed(typed)
    except Refused as error:
        raise SpecError(option, typed, error.allowed) from None
    if reference is None:
        return _checked(typed, folder, option)
    source = Path(reference.file)
    if not source.is_file():
        raise SpecError(option, typed, f"a file that is there: {source} is not")
    if (folder / source.name).exists() and (
        (folder / source.name).read_bytes() != source.read_bytes()
    ):
        raise SpecError(option, typed, "a file with another name than the others")
    shutil.copyfile(source, folder / source.name)
    return _checked(reference.beside.value, folder, option)


def _checked(controller: str, folder: Path, option: str) -> str:
    try:
        Tcp.read({"congestion_control": controller}, {"folder": folder})
    except SpecError as error:
        raise SpecError(option, error.value, error.allowed, error.hint, error.reason) from None
    return controller


def _run(
    about: Asked, written: Sequence[Written], asked: JudgeOptions, backends: tuple[str, ...]
) -> Dossier:
    may_use_bytes = memory_bytes(asked.memory)
    agree_to_runs(
        [
            PlannedCells(
                each.claims.cells, each.claims.failed, about.depth.replications, None, at_least=1
            )
            for each in written
        ],
        backends,
        jobs=asked.jobs,
        yes=asked.yes,
        may_use_bytes=may_use_bytes,
        storing=asked.storing,
        tables_below=0,
        cluster=asked.cluster,
    )
    with (
        executor_for(asked.cluster, asked.jobs, may_use_bytes) as executor,
        stopped_by_ctrl_c() as stop,
        shown_progress() as show,
    ):

        def executor_of(cells: Sequence[Cell]) -> Executor:
            return stored_executor(asked.storing, executor, cells, tables_below=0)

        dossier = judge_controller(
            about,
            written,
            backends=backends,
            executor_of=executor_of,
            on_progress=show,
            cancel=stop,
        )
    for found in dossier.found:
        for failed in found.checked.comparison.failed:
            print_failed(failed)
    return dossier


@contextmanager
def _place(about: Asked, asked: JudgeOptions) -> Iterator[PagePlace | None]:
    if not has_page(asked.page, asked.out, as_json=asked.as_json):
        yield None
        return
    name = "".join(each if each.isalnum() or each in "._-" else "-" for each in about.name)
    kind = "judged-full" if about.depth is Depth.FULL else "judged"
    with result_place(
        asked.out or page_folder(name, kind),
        subject=f"{about.name} judged",
        source=None,
        replace=asked.replace,
        has_page=True,
        is_asked_for=asked.page is True or asked.out is not None,
    ) as place:
        yield place


def _write(dossier: Dossier, place: PagePlace, console: Console) -> None:
    from dumbbell.judge.page import dossier_report
    from dumbbell.report import report_folder

    n = dossier.asked.depth.replications
    sections = {found.section.id: section_files(found, n) for found in dossier.found}
    place.write(dossier_report(dossier, dossier_files(dossier, sections)), {}, console)
    above = place.folder.folder / SECTIONS_FOLDER
    for name, files in sections.items():
        _write_section(report_folder(above / name, name, replace=True, tell=tell), files)


def _write_section(folder: Any, files: Mapping[str, Content]) -> None:
    with folder.replaced() as staging:
        for name, content in files.items():
            write_content(staging / name, content)


def print_dossier(dossier: Dossier, console: Console) -> None:
    """The answer, a line a section, and what does not hold."""
    console.print(Text(question(dossier), style="bold"))
    console.print(Text(answer(dossier)))
    console.print(Text(NO_CHECK_LIST, style="dim"))
    for sentence in split_words(dossier):
        console.print(Text(f"simulator and kernel decide differently: {sentence}", style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("RFC 9743", no_wrap=True)
    table.add_column("section")
    for head, style in (("✓ holds", "green"), ("✗ not", "bold red"), ("? open", "yellow")):
        table.add_column(Text(head, style=style), justify="right", no_wrap=True)
    for found in dossier.found:
        counts = (len(found.holds), len(found.fails), len(found.open))
        table.add_row(
            found.section.rfc, found.section.title, *(str(each) if each else "" for each in counts)
        )
    print_table(table, console, keys=2)
    for found in dossier.found:
        for each in found.fails:
            where = f" ({each.backend})" if len(dossier.backends) > 1 else ""
            console.print(Text(f"✗ {found.section.rfc} {each.claim.statement}{where}"))
        for each in found.open:
            console.print(Text(f"? {found.section.rfc} {each.claim.statement}", style="dim"))


def _json(dossier: Dossier) -> dict[str, Any]:
    return {
        "controller": dossier.asked.controller,
        "against": list(dossier.asked.against),
        "depth": dossier.asked.depth.name.lower(),
        "question": question(dossier),
        "answer": answer(dossier),
        "split": split_words(dossier),
        "sections": [
            {
                "id": found.section.id,
                "rfc": found.section.rfc,
                "title": found.section.title,
                "question": found.section.question,
                "does_not_say": found.section.unsaid,
                "holds": [each.claim.id for each in found.holds],
                "does_not_hold": [each.claim.id for each in found.fails],
                "not_decided": [each.claim.id for each in found.open],
                "claims": to_rows(found.judged),
                "failed": [
                    {"cell": each.label, "error": str(each.error)}
                    for each in found.checked.comparison.failed
                ],
            }
            for found in dossier.found
        ],
    }
