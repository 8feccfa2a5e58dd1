"""Domain randomisation: drawing the parameters of an experiment for each episode.

The parameters are given as in ``[sweep]`` of a file (`dumbbell.compare.sweeps`): lists of equally
likely values, and ranges, uniform in the value or in its logarithm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from numpy.random import Generator

from dumbbell.errors import SpecError
from dumbbell.spec import Experiment, Setting, separate_settings_applied
from dumbbell.spec.experiment import context
from dumbbell.spec.questions import parted
from dumbbell.spec.sweep_tables import AxisTable, SweepTable
from dumbbell.spec.toml_file import load

FROM_FILE: Final = "sweep"
"""In place of a table: that of the file."""

Randomise: TypeAlias = Mapping[str, Any] | Literal["sweep"] | None
"""Path to values, as in ``[sweep]``; `FROM_FILE`; or None for a fixed experiment."""

_ANY_STEPS: Final = 2


@dataclass(frozen=True)
class _Drawn:
    """Values of a path.

    Attributes:
        path: Path at which the values are set.
        table: The table as written.
        is_range: Whether values are drawn from a continuous range.
    """

    path: str
    table: AxisTable
    is_range: bool

    def setting(self, share: float) -> Setting:
        if self.is_range:
            value = self.table.value_at(share)
        else:
            values = self.table.given()
            value = values[int(share * len(values))]
        text = self.table.text
        return Setting(self.path, text.replace("{}", str(value)) if text else value)


@dataclass(frozen=True)
class Experiments:
    """A fixed or randomised experiment.

    Attributes:
        described: The description of the file.
        folder: Folder of its relative paths.
        drawn: For each random draw the parameters that it sets.
    """

    described: Mapping[str, Any]
    folder: Path
    drawn: tuple[tuple[_Drawn, ...], ...]

    @classmethod
    def read(cls, source: str | Path, randomise: Randomise = None) -> Experiments:
        """Of a file or of text in TOML.

        Args:
            source: A path, or text.
            randomise: Parameters to draw.

        Raises:
            SpecError: The file cannot be read, or a parameter does not exist.
        """
        document, folder = load(source)
        described, asked = parted(document)
        if randomise is None:
            return cls(described, folder, ())
        if not isinstance(randomise, str):
            return cls(described, folder, tuple(_drawn(randomise)))
        if randomise != FROM_FILE:
            allowed = f"a table of paths and their values, or {FROM_FILE!r} for that of the file"
            raise SpecError("randomise", randomise, allowed, FROM_FILE)
        if FROM_FILE not in asked:
            raise SpecError("randomise", FROM_FILE, "a file with a table [sweep]")
        return cls(described, folder, tuple(_drawn(asked[FROM_FILE])))

    def draw(self, random: Generator) -> Experiment:
        """Draw an experiment.

        Raises:
            SpecError: The drawn values do not make a valid experiment.
        """
        settings = [
            setting
            for together in self.drawn
            for share in [random.random()]
            for setting in (each.setting(share) for each in together)
        ]
        chosen = separate_settings_applied(self.described, settings)
        return Experiment.read(chosen, context(self.folder, False))


def _drawn(randomise: Mapping[str, Any]) -> Iterator[tuple[_Drawn, ...]]:
    ranges = {path for path, value in randomise.items() if _is_range(value)}
    filled = {
        path: {"steps": _ANY_STEPS, **value} if path in ranges else value
        for path, value in randomise.items()
    }
    table = SweepTable.read(filled)
    for path, axis in table.crossed.items():
        yield (_Drawn(path, axis, path in ranges),)
    for zipped in table.zipped:
        yield tuple(_Drawn(path, axis, False) for path, axis in zipped.items())


def _is_range(value: object) -> bool:
    return isinstance(value, Mapping) and "from" in value and "steps" not in value
