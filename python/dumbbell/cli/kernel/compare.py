"""``dumbbell kernel compare``: run experiments on two kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from dumbbell.cli.common.confirmation import agree_to_runs
from dumbbell.cli.common.executor import executor_for
from dumbbell.cli.common.store import StoreOptions, stored_executor
from dumbbell.cli.run.comparison import print_comparison
from dumbbell.cli.run.comparison_json import comparison_json
from dumbbell.cli.run.planning import PlannedCells
from dumbbell.cli.terminal.errors import print_error
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say
from dumbbell.cli.terminal.progress import shown_progress
from dumbbell.cli.terminal.signals import stopped_by_ctrl_c
from dumbbell.compare import Cell
from dumbbell.compare.kernels import KernelComparison, compare_kernels
from dumbbell.compare.reference_grid import grid_cells
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, EXIT_DONE, DumbbellError, SpecError
from dumbbell.replication import Interrupted
from dumbbell.spec import Experiment

if TYPE_CHECKING:
    from dumbbell.compare.kernels import SeenPacket


@dataclass(frozen=True, slots=True)
class KernelCompareOptions:
    """The options.

    Attributes:
        kernels: The names of both kernels.
        files: Experiments; none for the reference grid.
        only: Part of the names of the grid's networks.
        replications: Replications of each experiment on each kernel.
        jobs: Parallel guests; 0 for one per core.
        storing: Options of the store.
        as_json: Whether to print JSON.
        yes: Whether to skip the confirmation of runs that take hours.
    """

    kernels: tuple[str, str]
    files: tuple[Path, ...]
    only: str
    replications: int
    jobs: int
    storing: StoreOptions
    as_json: bool
    yes: bool


def compare_on_kernels(asked: KernelCompareOptions, console: Console) -> int:
    """Run the command; each experiment is printed when it has ended.

    Returns:
        The exit status: 1 if a run failed.

    Raises:
        SpecError: A file describes no experiment, or there is no such network in the grid.
        KernelMissingError: One of the kernels has not been built.
    """
    from dumbbell.backends.kernel import require_kernel

    if asked.kernels[0] == asked.kernels[1]:
        raise SpecError("KERNEL", asked.kernels[1], "another kernel than the first")
    experiments = list(_experiments(asked))
    for hz in {each.timer_hz for _, each in experiments}:
        for name in asked.kernels:
            require_kernel(hz, name)
    _agree(asked, [experiment for _, experiment in experiments])
    found: list[KernelComparison] = []
    failed = False
    try:
        for label, experiment in experiments:
            try:
                found.append(_compared(label, experiment, asked))
            except Interrupted:
                raise
            except DumbbellError as error:
                failed = True
                print_error(error, of=f"{label}: ")
                continue
            if not asked.as_json:
                _print(found[-1], asked, console)
    except Interrupted:
        status = Interrupted.exit_code
    else:
        status = EXIT_CONTRADICTED_OR_FAILED if failed else EXIT_DONE
    if asked.as_json:
        say(json_text({"kernels": list(asked.kernels), "experiments": [_json(e) for e in found]}))
    return status


def _agree(asked: KernelCompareOptions, experiments: Sequence[Experiment]) -> None:
    agree_to_runs(
        [PlannedCells(_cells(each, asked), [], asked.replications, None) for each in experiments],
        ("kernel",),
        jobs=asked.jobs,
        yes=asked.yes,
        storing=asked.storing,
        has_dry_run=False,
    )


def _cells(experiment: Experiment, asked: KernelCompareOptions) -> list[Cell]:
    return [Cell(name, experiment.with_(kernel=name)) for name in asked.kernels]


def _experiments(asked: KernelCompareOptions) -> Iterator[tuple[str, Experiment]]:
    if asked.files:
        if asked.only:
            raise SpecError("--only", asked.only, "without files: it is of the reference grid")
        for file in asked.files:
            yield file.stem, Experiment.from_toml(file)
        return
    chosen = [cell for cell in grid_cells() if asked.only in cell.name]
    if not chosen:
        names = ", ".join(cell.name for cell in grid_cells()[:3])
        raise SpecError("--only", asked.only, f"a part of a network's name, such as {names}")
    for cell in chosen:
        yield cell.name, cell.experiment()


def _compared(label: str, experiment: Experiment, asked: KernelCompareOptions) -> KernelComparison:
    cells = _cells(experiment, asked)
    with (
        executor_for(None, asked.jobs, None) as executor,
        stopped_by_ctrl_c() as stop,
        shown_progress() as show,
    ):
        return compare_kernels(
            experiment,
            asked.kernels,
            label=label,
            replications=asked.replications,
            executor=stored_executor(asked.storing, executor, cells, tables_below=0),
            jobs=asked.jobs,
            on_progress=show,
            cancel=stop,
        )


# --- output ------------------------------------------------------------------------


def _print(found: KernelComparison, asked: KernelCompareOptions, console: Console) -> None:
    print_comparison(found.comparison, console)
    first_difference = found.first_difference
    if first_difference is None:
        text = "no packet differs in replication 0"
    else:
        seen = zip(asked.kernels, (first_difference.ours, first_difference.theirs), strict=True)
        lines = (f"  {name}: {packet or 'nothing more'}" for name, packet in seen)
        text = "\n".join(["replication 0 parts at", *lines])
    console.print(Text(text), soft_wrap=True)
    console.print()


def _json(found: KernelComparison) -> dict[str, Any]:
    first_difference = found.first_difference
    return {
        "experiment": found.label,
        "parts_at": first_difference
        and {
            "t_ns": first_difference.t_ns,
            "is_only_later": first_difference.is_only_later,
            "packets": [_packet(each) for each in (first_difference.ours, first_difference.theirs)],
        },
        **comparison_json(found.comparison),
    }


def _packet(packet: SeenPacket | None) -> dict[str, Any] | None:
    if packet is None:
        return None
    names = ("t_ns", "queue", "event", "sender", "number", "size_bytes")
    return {name: getattr(packet, name) for name in names}
