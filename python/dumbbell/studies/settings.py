"""Which of several settings gives all of some printed numbers: a part of a short study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dumbbell.claims import Claim, Grid, GridPoint, Judged, Levels, Runs, judge
from dumbbell.claims.rules import Explained, Level
from dumbbell.replication import Replications
from dumbbell.report import ValueRow, ValueTable
from dumbbell.spec import Experiment
from dumbbell.studies.shape import Amount, Part, Runner
from dumbbell.tables import Run

Found = Replications[tuple[str, str], float]
"""A number for each setting and printed number, by their names for readers."""


@dataclass(frozen=True, kw_only=True)
class Sought:
    """Printed numbers, and the settings of which one is to give them all.

    Attributes:
        id: Id of the claim.
        statement: The claim in one sentence.
        source: Its source.
        printed: Range of each printed number, by its name for readers.
        rounding: Half of the last printed digit.
        unit: Unit of all of them.
        arms: Experiments, by setting and name of the printed number.
        grid: What varies, in words.
        number: Reduces a run to the number: a module-level function, or a partial of one.
        runs: Replications of each experiment.
        title: Heading of the table.
    """

    id: str
    statement: str
    source: str
    printed: Mapping[str, tuple[float, float]]
    rounding: float
    unit: str
    arms: Mapping[tuple[str, str], Experiment]
    grid: str
    number: Callable[[Run], float]
    runs: int
    title: str

    @property
    def settings(self) -> list[str]:
        """The settings, in order."""
        return list(dict.fromkeys(setting for setting, _ in self.arms))

    @property
    def claim(self) -> Claim[Grid[Levels]]:
        """The claim: one setting explains all numbers jointly."""
        levels = {
            name: Level(printed=(low + high) / 2, reading=(high - low) / 2 + self.rounding)
            for name, (low, high) in self.printed.items()
        }
        rule = Explained(levels=levels, grid=self.grid, unit=self.unit)
        return Claim(id=self.id, statement=self.statement, source=self.source, rule=rule)


class Settings(Part[Found]):
    """Every setting, in the simulator, and the claim that one of them explains the print."""

    def __init__(self, sought: Sought) -> None:
        """What is run."""
        self.name = sought.id
        self.sought = sought

    def run(self, runner: Runner) -> Found:
        """See `Part`."""
        sought = self.sought
        amount = Amount[str](sought.runs)
        return runner.replicate(sought.arms, sought.number, amount, task=self.name)

    def judge(self, found: Found) -> Iterable[Judged]:
        """All printed numbers jointly, at each setting."""
        of = self.sought
        points: list[GridPoint[Levels]] = [
            GridPoint(
                {"settings": setting},
                {name: Runs(found.values((setting, name))) for name in of.printed},
            )
            for setting in of.settings
        ]
        yield judge(of.claim, Grid(points), backend="sim")

    def tables(self, found: Found) -> Iterable[ValueTable]:
        """The numbers of each setting, below the printed ones."""
        of = self.sought
        shown = ["{:g} to {:g}".format(*each) for each in of.printed.values()]
        rows = [ValueRow("printed", of.unit, shown)]
        for setting in of.settings:
            cells = [found.estimate((setting, name)) for name in of.printed]
            rows.append(ValueRow(setting, of.unit, cells))
        caption = f"Means over {found.n} runs and half of their 95 % intervals."
        yield ValueTable(of.title, list(of.printed), rows, caption)
