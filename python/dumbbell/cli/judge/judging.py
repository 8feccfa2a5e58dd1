"""``dumbbell judge``: run, print and write the dossier of a congestion controller."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dumbbell.claims import to_rows
from dumbbell.cli.common.pages import PagePlace, has_page, page_folder, result_place
from dumbbell.cli.judge.running import GOES_ON, JudgeOptions, dossiers, has_failed, planned
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say, tell
from dumbbell.cli.terminal.tables import print_table
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, EXIT_DONE
from dumbbell.folders import Content, write_content
from dumbbell.folders.manifest import read_manifest
from dumbbell.judge.dossier import Dossier, KernelCheck
from dumbbell.judge.folder import dossier_files, section_files
from dumbbell.judge.kept_dossier import SECTIONS_FOLDER
from dumbbell.judge.request import Depth, JudgeRequest
from dumbbell.judge.suites import DEFAULT_SUITE
from dumbbell.judge.summary import SUMMARY
from dumbbell.judge.words import answer, kernel_words, outcome_words, question, split_words
from dumbbell.replication import Interrupted
from dumbbell.report.folder import REPORT


def run_judge(controller: str, asked: JudgeOptions, console: Console) -> int:
    """Run the command.

    Args:
        controller: A name, or a file in C or Python.
        asked: The options.
        console: Console for the sentences.

    Returns:
        The exit status.

    Raises:
        SpecError: A controller is not known, or its file may not be used.
    """
    with tempfile.TemporaryDirectory(prefix="dumbbell-judge-") as folder:
        plan = planned(controller, asked, Path(folder))
        with _place(plan.about, asked) as place:
            (dossier,) = dossiers([plan], asked)
            if dossier.interrupted:
                console.print(Text(GOES_ON))
                return Interrupted.exit_code
            if asked.as_json:
                say(json_text(_json(dossier)))
            else:
                print_dossier(dossier, console)
            if place is not None:
                _write(dossier, place, console)
    return EXIT_CONTRADICTED_OR_FAILED if has_failed(dossier) else EXIT_DONE


@contextmanager
def _place(about: JudgeRequest, asked: JudgeOptions) -> Iterator[PagePlace | None]:
    if not has_page(asked.page, asked.out, as_json=asked.as_json):
        yield None
        return
    name = "".join(each if each.isalnum() or each in "._-" else "-" for each in about.name)
    kind = "judged" if asked.suite == DEFAULT_SUITE else asked.suite
    kind += "-full" if about.depth is Depth.FULL else ""
    with result_place(
        asked.out or page_folder(name, kind),
        subject=f"{about.name} judged",
        source=None,
        replace=asked.replace,
        has_page=True,
        is_asked_for=asked.page is True or asked.out is not None,
        # A dossier's memory stays below 300 MB with one; it draws some twenty figures.
        most_drawing=1,
    ) as place:
        yield place


def _write(dossier: Dossier, place: PagePlace, console: Console) -> None:
    from dumbbell.judge.page import dossier_report
    from dumbbell.report import report_folder

    n = dossier.request.depth.replications
    sections = {found.section.id: section_files(found, n) for found in dossier.found}
    if dossier.on_kernel is not None:
        n = Depth.QUICK.replications
        sections |= {each.section.id: section_files(each, n) for each in dossier.on_kernel.found}
    files = dossier_files(dossier, sections, partial(_pdf, place))
    place.write(dossier_report(dossier, files), {}, console)
    above = place.folder.folder / SECTIONS_FOLDER
    _remove_earlier(above, sections)
    for name, files in sections.items():
        _write_section(report_folder(above / name, name, replace=True, tell=tell), files)


def _pdf(place: PagePlace, svg: str) -> bytes:
    """The summary as PDF; empty, with a sentence, where it cannot be drawn."""
    from dumbbell.report import FigureDrawer
    from dumbbell.report.figure_frames import PDF
    from dumbbell.report.figures import DrawingError

    try:
        return FigureDrawer(place.processes).converted(SUMMARY, svg, PDF)
    except DrawingError as error:
        tell(str(error))
        return b""


def _remove_earlier(above: Path, sections: Collection[str]) -> None:
    """Remove sections of an earlier dossier that this one does not have, if they are unchanged."""
    for folder in sorted(above.iterdir()) if above.is_dir() else ():
        if folder.name in sections or folder.is_symlink():
            continue
        try:
            manifest = read_manifest(folder, REPORT)
        except (ValueError, OSError):
            continue  # it is not what was written
        names = {each.relative_to(folder).as_posix() for each in folder.rglob("*")}
        if manifest is not None and all(
            manifest.is_ours(folder, name) for name in names - {REPORT.marker}
        ):
            shutil.rmtree(folder)


def _write_section(folder: Any, files: Mapping[str, Content]) -> None:
    with folder.replaced() as staging:
        for name, content in files.items():
            write_content(staging / name, content)


def print_dossier(dossier: Dossier, console: Console) -> None:
    """Print the answer, one line per section, and the failed expectations."""
    console.print(Text(question(dossier), style="bold"))
    console.print(Text(answer(dossier)))
    console.print(Text(dossier.suite.caution, style="dim"))
    if told := kernel_words(dossier):
        console.print(Text(told))
    for sentence in split_words(dossier):
        console.print(Text(f"simulator and kernel decide differently: {sentence}", style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column(dossier.suite.name, no_wrap=True)
    table.add_column("section")
    for head, style in (("✓ holds", "green"), ("✗ not", "bold red"), ("? open", "yellow")):
        table.add_column(Text(head, style=style), justify="right", no_wrap=True)
    for found in dossier.found:
        counts = (len(found.holds), len(found.fails), len(found.open))
        table.add_row(
            found.section.reference,
            found.section.title,
            *(str(each) if each else "" for each in counts),
        )
    print_table(table, console, keys=2)
    for found in dossier.found:
        for each in found.fails:
            where = f" ({each.backend})" if len(dossier.backends) > 1 else ""
            console.print(Text(f"✗ {found.section.reference} {each.claim.statement}{where}"))
        for each in found.open:
            console.print(Text(f"? {found.section.reference} {each.claim.statement}", style="dim"))


def _kernel_json(check: KernelCheck | None) -> dict[str, Any] | None:
    if check is None:
        return None
    return {
        "compared": [
            {
                "section": each.section.id,
                "expectation": each.expectation.id,
                "statement": each.expectation.statement,
                "sim": outcome_words(each.judged[0]),
                "kernel": outcome_words(each.judged[1]),
                "differs": each.differs,
                "claims": to_rows(each.judged),
            }
            for each in check.compared
        ],
        "not_run": dict(check.not_run),
    }


def _json(dossier: Dossier) -> dict[str, Any]:
    return {
        "suite": dossier.suite.id,
        "controller": dossier.request.controller,
        "against": list(dossier.request.against),
        "depth": dossier.request.depth.name.lower(),
        "question": question(dossier),
        "answer": answer(dossier),
        "split": split_words(dossier),
        "on_kernel": _kernel_json(dossier.on_kernel),
        "sections": [
            {
                "id": found.section.id,
                "reference": found.section.reference,
                "title": found.section.title,
                "question": found.section.question,
                "does_not_say": found.section.not_covered,
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
