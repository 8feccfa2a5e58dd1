"""Compare a log with simulated runs: of an experiment, or from a folder with a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.errors import SpecError
from dumbbell.metrics.logs.number import LogNumber
from dumbbell.metrics.logs.run_numbers import SAME, Counterpart, counterpart, run_numbers
from dumbbell.printable import printable

if TYPE_CHECKING:
    from dumbbell.cli.analyze.logs import AnalyzedLog
    from dumbbell.spec import Experiment, Setting
    from dumbbell.tables import Run

DEFAULT_REPLICATIONS = 5
FEWEST_REPLICATIONS = 2


@dataclass(frozen=True, slots=True)
class ComparisonOptions:
    """Options of the comparison.

    Attributes:
        source: An experiment's file, or a folder written by ``dumbbell run --out``.
        names: Names of the probe, flow or queue; empty for the only one.
        replications: Number of runs of an experiment.
        settings: Values that replace those of the file.
        instead: Controllers that replace those of its flows.
        jobs: Threads; 0 for one per core.
        yes: Whether to skip the confirmation of runs that take hours.
    """

    source: Path
    names: Sequence[str] = ()
    replications: int = DEFAULT_REPLICATIONS
    settings: Sequence[Setting] = ()
    instead: Mapping[str, str] = field(default_factory=dict)
    jobs: int = 0
    yes: bool = False


@dataclass(frozen=True, slots=True)
class SimulatedNumber:
    """A number of simulated runs with the same definition as the log's number.

    Attributes:
        simulated: Mean over the runs.
        low: Lower end of the 95 % prediction interval for one more run; NaN for a single run.
        high: Upper end of that interval.
        measured: Value in the log.
        definition: The common definition.
    """

    simulated: float
    low: float
    high: float
    measured: float
    definition: str

    @property
    def is_inside(self) -> bool:
        """Whether the measurement lies in the prediction interval."""
        return bool(self.low <= self.measured <= self.high)


@dataclass(frozen=True, slots=True)
class SimulatedLog:
    """The simulated numbers for a log.

    Attributes:
        said: A sentence that describes them.
        runs: Number of runs.
        compared: The flow, queue or connection of the log that is compared.
        same: Numbers by name.
    """

    said: str
    runs: int
    compared: str
    same: Mapping[str, SimulatedNumber]

    def of(self, number: LogNumber) -> SimulatedNumber | None:
        """The simulated number for one of the log's; None if the runs have none with its
        definition.
        """
        return self.same.get(number.name) if number.of == self.compared else None


def set_beside(analyzed: Sequence[AnalyzedLog], beside: ComparisonOptions) -> list[AnalyzedLog]:
    """Simulate the runs for each log.

    Raises:
        SpecError: The runs have no such probe, flow or queue, or the file or folder is not valid.
        RunError: A run failed.
    """
    runs = runs_of(beside)
    return [replace(each, beside=_simulated(each, runs, beside)) for each in analyzed]


def _simulated(each: AnalyzedLog, runs: Sequence[Run], beside: ComparisonOptions) -> SimulatedLog:
    from dumbbell.stats import prediction_interval

    format_ = each.log.format
    of = counterpart(runs[0], format_, beside.names)
    found = [run_numbers(run, format_, of) for run in runs]
    compared = _compared(each, of)
    same = {}
    for number in each.numbers:
        values = [numbers[number.name] for numbers in found if number.name in numbers]
        if number.of != compared or len(values) != len(runs):
            continue
        low = high = float("nan")
        if len(values) > 1:
            interval = prediction_interval(values)
            low, high = max(interval.low, 0.0), interval.high
        definition = SAME[format_][number.name]
        mean = float(np.mean(values))
        same[number.name] = SimulatedNumber(mean, low, high, number.value, definition)
    if not same:
        allowed = f"a run with numbers of {format_.value}: {', '.join(SAME[format_])}"
        raise SpecError("--beside", beside.source, allowed)
    count = f"{len(runs)} simulated runs" if len(runs) > 1 else "the run"
    name = f"{printable(compared)} beside " if compared else "beside "
    said = f"{name}{of} of {count} of {printable(str(beside.source))}"
    if len(runs) > 1 and all(each.low == each.high for each in same.values()):
        said += "; the runs are all alike, as nothing in them is random"
    return SimulatedLog(said, len(runs), compared, same)


def _compared(each: AnalyzedLog, of: Counterpart) -> str:
    """The part of the log to compare: its first flow, or the sum of all flows."""
    subjects = list(dict.fromkeys(number.of for number in each.numbers))
    names = set(SAME[each.log.format])
    having = [s for s in subjects if any(n.of == s and n.name in names for n in each.numbers)]
    if len(of.names) > 1 and "all flows" in having:
        return "all flows"
    return having[0] if having else ""


def runs_of(
    beside: ComparisonOptions, changed: Callable[[Experiment], Experiment] | None = None
) -> list[Run]:
    """The run in the folder, or runs of the experiment.

    Args:
        beside: The options.
        changed: Settings that enable the needed records, for an experiment.

    Raises:
        SpecError: The file or folder is not valid, or an option does not apply to a finished run.
        RunError: A run failed.
    """
    if beside.source.is_dir():
        from dumbbell.tables import read_parquet

        for option, value in (("--set", beside.settings), ("--instead", beside.instead)):
            if value:
                allowed = "with an experiment's file; the run in a folder cannot be changed"
                raise SpecError(option, beside.source, allowed)
        return [read_parquet(beside.source)]
    if beside.replications < FEWEST_REPLICATIONS:
        allowed = f"{FEWEST_REPLICATIONS} and more: one has no interval"
        raise SpecError("--replications", beside.replications, allowed)
    return _made(beside, changed)


def beside_experiment(beside: ComparisonOptions) -> Experiment:
    """The experiment of the file with values and controllers replaced.

    The file may name an unknown controller if it is replaced.

    Raises:
        SpecError: The file describes no experiment, or an option is not allowed.
    """
    from dumbbell.cli.common.replaced_controllers import named_controllers, with_controllers
    from dumbbell.cli.run.planning import Document

    document = Document.read(beside.source)
    table, replaced = named_controllers(document.table, beside.instead)
    experiment = replace(document, table=table).experiment(beside.settings)
    rest = {name: other for name, other in beside.instead.items() if name not in replaced}
    experiment, _ = with_controllers(experiment, rest)
    return experiment


def _made(
    beside: ComparisonOptions, changed: Callable[[Experiment], Experiment] | None
) -> list[Run]:
    from dumbbell.backends import BatchProgress, run_many
    from dumbbell.cli.common.confirmation import agree_to_replications
    from dumbbell.cli.terminal.progress import shown_progress
    from dumbbell.cli.terminal.signals import stopped_by_ctrl_c
    from dumbbell.replication import Interrupted, Progress

    experiment = beside_experiment(beside)
    experiment = experiment if changed is None else changed(experiment)
    total = beside.replications
    agree_to_replications(experiment, total, jobs=beside.jobs, yes=beside.yes)
    runs: dict[int, Run] = {}
    with stopped_by_ctrl_c() as stop, shown_progress() as show:

        def tell(progress: BatchProgress) -> None:
            show(Progress(experiment.name, min(progress.done, float(total)), float(total), "runs"))

        jobs = [(experiment, number) for number in range(total)]
        for number, run in run_many(jobs, jobs=beside.jobs, cancel=stop, on_progress=tell):
            runs[number] = run
        if stop.is_set():
            raise Interrupted("stopped; nothing was written")
    return [runs[number] for number in sorted(runs)]
