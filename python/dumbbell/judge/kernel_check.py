"""Run on the Linux kernel what decides a dossier, and compare the outcomes with the simulator's.

A dossier on the kernel takes hours, so one cell of each section is run there. If a section has
expectations that do not hold, it is the cell of the one that misses its threshold by most: should
the kernel deny it, the simulator's finding of the section is in doubt. Otherwise it is the cell of
the one closest to its threshold, which a small difference would turn. A cell whose runs take the
kernel minutes each is passed over if the section has another one: those with thousands of changes
of the delay, each of which starts a program in the guest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dumbbell.backends import get_backend
from dumbbell.claims import Judged, view_of
from dumbbell.compare import Cell
from dumbbell.compare.executing import Executor
from dumbbell.errors import RunError, SpecError
from dumbbell.judge.dossier import (
    KERNEL,
    SIM,
    Compared,
    Dossier,
    KernelCheck,
    SectionResult,
    WrittenSection,
    judge_controller,
    write_experiments,
)
from dumbbell.judge.request import Depth, JudgeRequest
from dumbbell.judge.section import Expectation, Section, Trial

MOST_WALL_S = 120.0
"""Longest estimated wall time of a run on the kernel, for a section with shorter ones."""


def deciding(found: SectionResult, among: Collection[str] | None = None) -> Expectation | None:
    """The expectation whose cell decides a section; None if nothing could be measured there.

    Args:
        found: The section.
        among: Labels of the cells that may decide it; all when None.
    """
    by_id = {each.claim.id: each for each in found.judged}
    known = [
        (margin, each)
        for each in found.written.trial.expectations
        if among is None or found.label(each) in among
        if (margin := margin_of(by_id[f"{found.section.id}-{each.id}"])) is not None
    ]
    failing = {each.claim.id for each in found.fails}
    missed = [pair for pair in known if f"{found.section.id}-{pair[1].id}" in failing]
    if missed:
        return max(missed, key=lambda pair: pair[0])[1]
    return min(known, key=lambda pair: pair[0])[1] if known else None


def margin_of(judged: Judged) -> float | None:
    """Distance of a claim's number from its threshold, relative to the larger of the two.

    From 0, on the threshold, to 1, or 2 with different signs; None without number or threshold.
    """
    number = view_of(judged).measured
    accepted = [each.shaded for each in judged.claim.rule.glyphs(judged.decision) if each.shaded]
    ends = [end for each in accepted for end in each if math.isfinite(end)]
    if number is None or not math.isfinite(number) or not ends:
        return None
    nearest = min(ends, key=lambda end: abs(number - end))
    size = max(abs(nearest), abs(number))
    return abs(number - nearest) / size if size else 0.0


def id_on_kernel(section: Section) -> str:
    """The id of the section that has the deciding cell of this one, on the kernel."""
    return f"{section.id}-{KERNEL}"


def section_on_kernel(found: SectionResult) -> Section | None:
    """The section with nothing but the cell that decides it; None if nothing does."""
    decides = deciding(found, _short_cells(found)) or deciding(found)
    if decides is None:
        return None
    trial = Trial(
        found.written.trial.document,
        [
            each
            for each in found.written.trial.expectations
            if each is decides or (each.where == decides.where and not _needs_another_cell(each))
        ],
    )
    return replace(found.section, id=id_on_kernel(found.section), trial=lambda request: trial)


def refuse_what_kernel_cannot(written: Sequence[WrittenSection]) -> None:
    """Refuse sections of which the kernel can run no cell with an expectation.

    Raises:
        SpecError: It cannot run any of them, for example because it lacks the controller; the
            reason is that of the first cell.
        KernelMissingError: The kernel was not built.
    """
    kernel = get_backend(KERNEL)
    first: SpecError | None = None
    for each in written:
        for cell in each.claims.cells:
            if cell.label not in each.labels:
                continue
            try:
                kernel.check(cell.experiment.resolved_json())
            except SpecError as error:
                first = first or error
            else:
                return
    if first is not None:
        raise first


def check_on_kernel(
    dossier: Dossier,
    folder: Path,
    executor_of: Callable[[Sequence[Cell]], Executor],
    **running: Any,
) -> KernelCheck:
    """Run the deciding cells on the kernel, as often as a quick dossier does.

    Args:
        dossier: Results of the simulator.
        folder: Folder of the experiments' files.
        executor_of: As in `judge_controller`.
        running: As in `judge_controller`.

    Raises:
        KernelMissingError: The kernel was not built.
    """
    done: list[tuple[SectionResult, SectionResult]] = []
    not_run: dict[str, str] = {}
    for found in dossier.found:
        try:
            written = written_for_kernel(found, dossier.request, folder)
            if written is None:
                not_run[found.section.title] = "no number of it has a threshold"
                continue
            there = judge_controller(
                _request(dossier.request),
                [written],
                backends=(KERNEL,),
                executor_of=executor_of,
                **running,
            )
        except (SpecError, RunError) as error:
            not_run[found.section.title] = str(error)
            continue
        if there.interrupted:
            return KernelCheck(interrupted=True)
        (result,) = there.found
        if failed := result.checked.comparison.failed:
            not_run[found.section.title] = str(failed[0].error)
            continue
        done.append((found, result))
    return compared_with_kernel(done, not_run)


def written_for_kernel(
    found: SectionResult, request: JudgeRequest, folder: Path
) -> WrittenSection | None:
    """The experiment of `section_on_kernel` in a file; None if nothing decides the section.

    Args:
        found: The section in the simulator.
        request: What was asked for.
        folder: Folder of the experiments' files.

    Raises:
        KernelMissingError: The kernel was not built.
    """
    section = section_on_kernel(found)
    if section is None:
        return None
    (written,) = write_experiments(_request(request), folder, [section])
    return written


def compared_with_kernel(
    done: Sequence[tuple[SectionResult, SectionResult]], not_run: Mapping[str, str]
) -> KernelCheck:
    """The comparison of sections in the simulator with their cells on the kernel.

    Args:
        done: Results of each section in the simulator, and of its cell on the kernel.
        not_run: See `KernelCheck`.
    """
    compared = [each for here, there in done for each in _compared(here, there)]
    return KernelCheck(
        tuple(there for _, there in done),
        tuple(sorted(compared, key=lambda each: not each.differs)),
        not_run,
    )


def _request(asked: JudgeRequest) -> JudgeRequest:
    """Runs on the kernel are as many as in a quick dossier."""
    return replace(asked, depth=Depth.QUICK)


def _compared(here: SectionResult, there: SectionResult) -> Iterator[Compared]:
    sim = {each.claim.id: each for each in here.judged}
    kernel = {each.claim.id: each for each in there.judged}
    for each in there.written.trial.expectations:
        yield Compared(
            here.section,
            each,
            (sim[f"{here.section.id}-{each.id}"], kernel[f"{there.section.id}-{each.id}"]),
            (here.measured(each, SIM), there.measured(each, KERNEL)),
        )


def _short_cells(found: SectionResult) -> set[str]:
    """Labels of the cells with short runs on the kernel, and of those it would refuse."""
    kernel = get_backend(KERNEL)
    short = set()
    for cell in found.written.claims.cells:
        try:
            cost = kernel.check(cell.experiment.resolved_json())
        except SpecError:
            short.add(cell.label)
        else:
            if cost.wall_s <= MOST_WALL_S:
                short.add(cell.label)
    return short


def _needs_another_cell(each: Expectation) -> bool:
    return any(isinstance(value, Mapping) for value in each.rule.values())
