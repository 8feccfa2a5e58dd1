"""The study's runs: replications of all settings at once, reduced to numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dumbbell.spec import Experiment
from dumbbell.spec.flent import FlentTest
from dumbbell.stats import Estimate, prediction_interval, student_interval
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.pie_rrul.measures import Floats, measured
from dumbbell.studies.reproduction import replications
from dumbbell.tables import Run

_BETWEEN = "|"


@dataclass(frozen=True, slots=True)
class Arm:
    """Replications of one experiment.

    Attributes:
        values: Measure to a value a replication.
        first: The run of replication 0.
    """

    values: Mapping[str, Floats]
    first: Run

    @property
    def n(self) -> int:
        """How many replications."""
        return int(next(iter(self.values.values())).size)

    def mean(self, measure: str) -> Estimate:
        """Mean over the replications, with its interval."""
        return student_interval(self.values[measure])

    def one_run(self, measure: str) -> Estimate:
        """Where one more run would fall."""
        return prediction_interval(self.values[measure])


def collect(
    options: StudyOptions,
    experiments: Mapping[str, Experiment],
    test: FlentTest,
    runs: int,
    *,
    task: str,
    backend: str = "sim",
) -> dict[str, Arm]:
    """Replications of every arm, paired by their random numbers.

    Args:
        options: Replications if given, threads, progress, cancellation.
        experiments: Arm to what is run; all of one test.
        test: Flent's.
        runs: Replications if the options give none.
        task: Name in the progress.
        backend: Where.

    Raises:
        Interrupted: It was stopped before it was complete.
        RunError: One failed.
    """

    def numbers(done: Mapping[str, Run]) -> dict[str, float]:
        return {
            f"{name}{_BETWEEN}{measure}": value
            for name, run in done.items()
            for measure, value in measured(run, test).items()
        }

    done = replications(
        options,
        experiments,
        numbers,
        at_least=options.replications or runs,
        task=task,
        backend=backend,
        complete=True,
        keep=1,
    )
    by_arm: dict[str, dict[str, Floats]] = {name: {} for name in experiments}
    for key, values in done.values.items():
        name, _, measure = key.rpartition(_BETWEEN)
        by_arm[name][measure] = values
    return {name: Arm(by_arm[name], done.runs[0][name]) for name in experiments}
