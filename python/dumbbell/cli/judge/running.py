"""Run dossiers: make the experiments from the options, and run them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from dumbbell.backends import get_backend
from dumbbell.cli.common.confirmation import agree_to_runs
from dumbbell.cli.common.executor import executor_for
from dumbbell.cli.common.memory import memory_bytes
from dumbbell.cli.common.options import DEFAULT_BACKENDS
from dumbbell.cli.common.page_runs import PageRuns
from dumbbell.cli.common.store import stored_executor
from dumbbell.cli.run.comparison import print_failed
from dumbbell.cli.run.planning import PlannedCells
from dumbbell.cli.terminal.output import tell
from dumbbell.cli.terminal.progress import shown_progress
from dumbbell.cli.terminal.signals import stopped_by_ctrl_c
from dumbbell.compare import Cell
from dumbbell.compare.executing import Executor
from dumbbell.errors import SpecError
from dumbbell.judge.dossier import Dossier, WrittenSection, judge_controller, write_experiments
from dumbbell.judge.kernel_check import check_on_kernel, refuse_what_kernel_cannot
from dumbbell.judge.request import MANUAL, Depth, JudgeRequest
from dumbbell.judge.suites import DEFAULT_SUITE, sections_of
from dumbbell.spec.native import Reference
from dumbbell.spec.refusal import Refused, nearest
from dumbbell.spec.tcp import Tcp

GOES_ON = "Interrupted: the same command goes on from here."


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions(PageRuns):
    """The options; see `PageRuns` for the others.

    Attributes:
        against: Names, or files.
        depth: Depth of the test.
        suite: Name of the suite.
        with_kernel: Whether the cells that decide are run on the kernel too.
    """

    against: tuple[str, ...]
    depth: Depth
    suite: str = DEFAULT_SUITE
    with_kernel: bool = False

    @property
    def where(self) -> tuple[str, ...]:
        """The backends, or the default ones.

        Raises:
            SpecError: There is no such backend.
        """
        for name in self.backends:
            get_backend(name)
        return self.backends or DEFAULT_BACKENDS


@dataclass(frozen=True, slots=True)
class PlannedDossier:
    """A dossier before its runs.

    Attributes:
        about: The request.
        written: Its experiments, in their own folder.
    """

    about: JudgeRequest
    written: Sequence[WrittenSection]


def planned(
    controller: str, asked: JudgeOptions, folder: Path, *, is_its_own_rival: bool = False
) -> PlannedDossier:
    """Write the experiments of a dossier.

    Args:
        controller: The controller, as typed.
        asked: The options.
        folder: Folder for the experiments and copies of the controllers' files.
        is_its_own_rival: See `JudgeRequest`.

    Raises:
        SpecError: A controller is not known, or its file may not be used.
    """
    about = JudgeRequest(
        _placed(controller, folder, "NAME|FILE"),
        tuple(_placed(each, folder, "--against") for each in asked.against),
        asked.depth,
        is_its_own_rival,
    )
    return PlannedDossier(about, write_experiments(about, folder, sections_of(asked.suite)))


def _placed(typed: str, folder: Path, option: str) -> str:
    """The controller's name in a description that is in the same folder."""
    try:
        reference = Reference.typed(typed)
    except Refused as error:
        raise SpecError(option, typed, error.allowed) from None
    if reference is None:
        return _checked(typed, folder, option)
    source = Path(reference.file)
    if not source.is_file():
        near = nearest(source.name, _files_beside(source))
        hint = None if near is None else typed.replace(source.name, near)
        raise SpecError(option, typed, f"a file that is there: {source} is not", hint)
    if (folder / source.name).exists() and (
        (folder / source.name).read_bytes() != source.read_bytes()
    ):
        raise SpecError(option, typed, "a file with another name than the others")
    shutil.copyfile(source, folder / source.name)
    return _checked(reference.beside.value, folder, option)


def _files_beside(file: Path) -> list[str]:
    """Names of the files of the same kind in its folder."""
    if not file.parent.is_dir():
        return []
    return [each.name for each in file.parent.iterdir() if each.suffix == file.suffix]


def _checked(controller: str, folder: Path, option: str) -> str:
    if controller == MANUAL:
        allowed = "a controller that sets its window: that of manual is a list in the description"
        raise SpecError(option, controller, allowed)
    try:
        Tcp.read({"congestion_control": controller}, {"folder": folder})
    except SpecError as error:
        raise SpecError(option, error.value, error.allowed, error.hint, error.reason) from None
    return controller


def dossiers(plans: Sequence[PlannedDossier], asked: JudgeOptions) -> Iterator[Dossier]:
    """Run the dossiers one after the other; the last one may be interrupted.

    Asks for confirmation first if all of them take hours. Prints failed runs.
    """
    backends = asked.where
    may_use_bytes = memory_bytes(asked.memory)
    if asked.with_kernel:
        for plan in plans:
            refuse_what_kernel_cannot(plan.written)
    agree_to_runs(
        [
            PlannedCells(
                each.claims.cells, each.claims.failed, asked.depth.replications, None, at_least=1
            )
            for plan in plans
            for each in plan.written
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
        for plan in plans:
            kept = _KeptRuns()
            executor_of = partial(_executor_of, asked, executor, kept)
            dossier = judge_controller(
                plan.about,
                plan.written,
                backends=backends,
                executor_of=executor_of,
                on_progress=show,
                cancel=stop,
            )
            for found in dossier.found:
                for failed in found.checked.comparison.failed:
                    print_failed(failed)
            if asked.with_kernel and not dossier.interrupted:
                tell("The cells that decide each section are run on the Linux kernel.")
                folder = plan.written[0].file.parent
                kept.tell(plan.about, asked)
                check = check_on_kernel(dossier, folder, executor_of, on_progress=show, cancel=stop)
                dossier = replace(dossier, on_kernel=check, interrupted=check.interrupted)
            kept.tell(plan.about, asked)
            yield dossier
            if dossier.interrupted:
                return


class _KeptRuns:
    """Counts the runs of a dossier that the store had."""

    def __init__(self) -> None:
        self._found, self._of = 0, 0

    def add(self, found: int, of: int) -> None:
        """Count the runs of a section."""
        self._found += found
        self._of += of

    def tell(self, about: JudgeRequest, asked: JudgeOptions) -> None:
        """Say how many there were, if any, and begin again."""
        if self._found:
            counted = f"{self._found} of {self._of} runs"
            tell(f"{about.name}: {counted} are in {asked.storing.place}: not repeated")
        self._found, self._of = 0, 0


def _executor_of(
    asked: JudgeOptions, executor: Executor, kept: _KeptRuns, cells: Sequence[Cell]
) -> Executor:
    return stored_executor(asked.storing, executor, cells, tables_below=0, on_found=kept.add)


def has_failed(dossier: Dossier) -> bool:
    """Whether any run failed."""
    return any(found.checked.comparison.failed for found in dossier.found)
