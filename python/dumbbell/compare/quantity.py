"""A number of a run, by the path that figures, sweeps, claims and exports share."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dumbbell.compare.measures import MEASURES, Measure, MeasureSubject, measures_of
from dumbbell.errors import SpecError
from dumbbell.spec.refusal import nearest, one_of

_PATH = re.compile(r"(?P<of>[a-z]+)(?:\[(?P<name>[^\]]*)\])?\.(?P<metric>\w+)")
_EXAMPLES = "'flow[bulk].goodput_bps', 'queue[a->b].mean_sojourn_s' or 'network.jain_index'"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a run.

    Attributes:
        of: What it describes.
        name: Name of the flow, group, queue, probe or program; empty for the network.
        metric: A name of `MEASURES`.
    """

    of: MeasureSubject
    name: str
    metric: str

    @property
    def measure(self) -> Measure:
        """Its measure."""
        return MEASURES[self.of, self.metric]

    @property
    def unit(self) -> str:
        """Unit of its value."""
        return self.measure.unit

    @property
    def path(self) -> str:
        """``flow[bulk].goodput_bps``; `parse` reads it back."""
        name = "" if self.of is MeasureSubject.NETWORK else f"[{self.name}]"
        return f"{self.of.value}{name}.{self.metric}"

    @property
    def words(self) -> str:
        """``bulk: goodput``, for a table or a sentence."""
        words = self.measure.words
        return f"{self.name}: {words}" if self.name else words

    def __str__(self) -> str:
        """The path."""
        return self.path

    @classmethod
    def parse(cls, path: str) -> Quantity:
        """Parse a path.

        Raises:
            SpecError: It is not a quantity's path.
        """
        match = _PATH.fullmatch(path.strip())
        kinds = [each.value for each in MeasureSubject]
        if match is None:
            raise SpecError("quantity", path, f"a path such as {_EXAMPLES}")
        if match["of"] not in kinds:
            raise SpecError("quantity", path, one_of(kinds), nearest(match["of"], kinds))
        of, name = MeasureSubject(match["of"]), match["name"] or ""
        if bool(name) != (of is not MeasureSubject.NETWORK):
            raise SpecError("quantity", path, f"a path such as {_EXAMPLES}")
        known = [each.name for each in measures_of(of)]
        if match["metric"] not in known:
            raise SpecError("quantity", path, one_of(known), nearest(match["metric"], known))
        return cls(of, name, match["metric"])
