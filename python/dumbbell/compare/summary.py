"""Reduce a run to its summary: the numbers that describe it."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dumbbell.compare.measures import MEASURES, MeasureSubject, Subject, measures_of
from dumbbell.compare.quantity import Quantity
from dumbbell.errors import DumbbellError, SpecError
from dumbbell.metrics.ccperf import RecordedFlows, recorded_flows
from dumbbell.spec import Resolved
from dumbbell.spec.program_list import programs_of
from dumbbell.spec.refusal import nearest
from dumbbell.spec.source_forms import FORMS
from dumbbell.tables import Run

Floats: TypeAlias = NDArray[np.float64]
_MEMBER = re.compile(r"(?P<base>.+)-(?P<number>[1-9][0-9]*)")
SENDS_TRANSFERS = frozenset(kind for kind, form in FORMS.items() if form.sends == "transfers")
"""Kinds of sources whose flows have completion times."""


@dataclass(frozen=True, eq=False, slots=True)
class Summary:
    """The numbers of a run.

    Attributes:
        quantities: The quantities, in the order of tables; one object is shared by runs of one
            description.
        numbers: Value of each quantity, shape (quantities,); NaN where undefined.
        groups: Names of the flows in each group of equal flows.
    """

    quantities: tuple[Quantity, ...]
    numbers: Floats
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def values(self) -> Mapping[Quantity, float]:
        """Values by quantity; a view without data of its own."""
        return _Values(_layout(self.quantities), self.numbers)

    def __getitem__(self, quantity: Quantity | str) -> float:
        """A number by its quantity or path.

        Raises:
            SpecError: The run has no such number.
        """
        wanted = Quantity.parse(quantity) if isinstance(quantity, str) else quantity
        if wanted not in self.values:
            paths = [each.path for each in self.values]
            allowed = "a flow, queue, probe or program of the run by its name"
            raise SpecError("quantity", wanted.path, allowed, nearest(wanted.path, paths))
        return self.values[wanted]

    def names(self, of: MeasureSubject) -> list[str]:
        """Names of the flows, groups, queues, probes or programs that it describes."""
        return [name for kind, name in _layout(self.quantities).subjects if kind is of]

    def of(self, of: MeasureSubject, name: str = "") -> dict[str, float]:
        """Values by measure, for one flow, group, queue, probe or program, or the network."""
        places = _layout(self.quantities).subjects.get((of, name), ())
        return {self.quantities[at].metric: float(self.numbers[at]) for at in places}


class _Values(Mapping[Quantity, float]):
    """Values by quantity, without a dictionary: there may be a hundred thousand summaries.

    A number of a group of one (`groups_of_one`) is found but not listed: it is the number of its
    flow.
    """

    __slots__ = ("_layout", "_numbers")

    def __init__(self, layout: _Layout, numbers: Floats) -> None:
        self._layout, self._numbers = layout, numbers

    def __getitem__(self, quantity: Quantity) -> float:
        place = self._layout.place(quantity)
        return math.nan if place is None else float(self._numbers[place])

    def __iter__(self) -> Iterator[Quantity]:
        return iter(self._layout.quantities)

    def __len__(self) -> int:
        return len(self._layout.quantities)


@dataclass(frozen=True, eq=False, slots=True)
class _Layout:
    """Positions of quantities' numbers."""

    quantities: tuple[Quantity, ...]
    places: Mapping[Quantity, int]
    subjects: Mapping[tuple[MeasureSubject, str], Sequence[int]]
    """Positions of all numbers of one flow, group, queue, probe or program."""
    alone: Mapping[str, str]
    """`groups_of_one`."""

    def place(self, quantity: Quantity) -> int | None:
        """Position of a number; None if a group of one lacks it, such as Jain's index.

        Raises:
            KeyError: There is no such number.
        """
        if quantity in self.places or quantity.of is not MeasureSubject.FLOWS:
            return self.places[quantity]
        metric = _OF_ONE.get(quantity.metric, quantity.metric)
        flow = Quantity(MeasureSubject.FLOW, self.alone[quantity.name], metric)
        if (MeasureSubject.FLOW, metric) not in MEASURES:
            return None
        return self.places[flow]

    @classmethod
    def of(cls, quantities: tuple[Quantity, ...]) -> _Layout:
        subjects: dict[tuple[MeasureSubject, str], list[int]] = {}
        for place, each in enumerate(quantities):
            subjects.setdefault((each.of, each.name), []).append(place)
        places = {quantity: place for place, quantity in enumerate(quantities)}
        flows = [name for of, name in subjects if of is MeasureSubject.FLOW]
        groups = [name for of, name in subjects if of is MeasureSubject.FLOWS]
        return cls(quantities, places, subjects, groups_of_one(flows, groups))


_known_layouts: dict[int, _Layout] = {}
"""By identity: hashing a hundred quantities for each number of each run takes too long."""
_MOST_KNOWN = 256


def _layout(quantities: tuple[Quantity, ...]) -> _Layout:
    known = _known_layouts.get(id(quantities))
    if known is not None and known.quantities is quantities:
        return known
    if len(_known_layouts) >= _MOST_KNOWN:
        _known_layouts.clear()
    # An entry keeps its object alive, so that its id is not reused.
    found = _known_layouts[id(quantities)] = _Layout.of(quantities)
    return found


def summary_of(run: Run) -> Summary:
    """Compute all numbers of a run.

    Only flows that send transfers have completion times; equal flows (`equal_flows`) are listed
    both as a group and one by one.

    Raises:
        DumbbellError: The run was imported and has no description.
    """
    if run.spec is None:
        raise DumbbellError("a summary needs the description, which an imported run has not")
    described = Resolved(run.spec)
    found = dict(_numbers(run, described))
    names = run.flow_names
    groups = tuple(
        (name, tuple(names[index] for index in members))
        for name, members in equal_flows(described.mapping).items()
    )
    quantities, of_names = shared(tuple(found), groups)
    return Summary(quantities, np.array([*found.values()], dtype=np.float64), of_names)


@lru_cache(maxsize=64)
def shared(
    quantities: tuple[Quantity, ...], groups: tuple[tuple[str, tuple[str, ...]], ...]
) -> tuple[tuple[Quantity, ...], Mapping[str, tuple[str, ...]]]:
    """Share equal objects: a hundred thousand summaries then hold numbers only."""
    return quantities, dict(groups)


def equal_flows(spec: Mapping[str, Any]) -> dict[str, list[int]]:
    """Groups of flows that differ only in the number after their name.

    Args:
        spec: A resolved description, in which a flow ``download`` with ``count = 10`` was expanded
            to ``download-1`` to ``download-10``.

    Returns:
        Indices of the flows of each group, such as ``download``; without groups of one.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for index, flow in enumerate(spec["flows"]):
        member = _MEMBER.fullmatch(flow["name"])
        if member is not None:
            rest = {key: value for key, value in flow.items() if key != "name"}
            alike = json.dumps(rest, sort_keys=True)
            groups.setdefault((member["base"], alike), []).append(index)
    found: dict[str, list[int]] = {}
    for (base, _), members in groups.items():
        if len(members) > 1:
            found.setdefault(base, members)
    return found


def groups_of_one(flows: Sequence[str], groups: Collection[str]) -> dict[str, str]:
    """For groups of one flow: the group's name, and the flow's.

    A flow is a group by its own name; with ``count = 1``, ``download`` is the group of
    ``download-1``. So ``flows[download].total_goodput_bps`` is defined for any count.

    Args:
        flows: Names of all flows.
        groups: Names of groups with several flows (`equal_flows`).
    """
    found = {name: name for name in flows if name not in groups}
    members = {name: match for name in flows if (match := _MEMBER.fullmatch(name)) is not None}
    of_base = Counter(match["base"] for match in members.values())
    for name, match in members.items():
        if of_base[match["base"]] == 1 and match["base"] not in groups:
            found.setdefault(match["base"], name)
    return found


def named_groups(spec: Mapping[str, Any]) -> dict[str, list[int]]:
    """Indices of the flows of every group name, including groups of one.

    Args:
        spec: A resolved description.
    """
    groups = equal_flows(spec)
    places = {flow["name"]: [place] for place, flow in enumerate(spec["flows"])}
    alone = groups_of_one(list(places), groups)
    return groups | {name: places[flow] for name, flow in alone.items()}


_OF_ONE = {"total_goodput_bps": "goodput_bps"}
"""Measures of a group that have another name for a single flow."""


def _numbers(run: Run, described: Resolved) -> Iterator[tuple[Quantity, float]]:
    kinds = [flow.source.kind for flow in described.flows]
    recorded = recorded_flows(run)
    programs = {each["name"]: each["kind"] for each in programs_of(described.mapping)}
    for of, name, subject, flows in _subjects(run, described):
        sends = any(kinds[flow] in SENDS_TRANSFERS for flow in flows)
        is_recorded = _is_recorded(of, subject, recorded)
        for measure in measures_of(of):
            if measure.of_recorded and not is_recorded:
                continue
            if of is MeasureSubject.PROGRAM and programs[name] not in measure.of_kinds:
                continue
            if sends or not measure.of_transfers:
                yield Quantity(of, name, measure.name), measure.compute(run, subject)


def _is_recorded(of: MeasureSubject, subject: Subject, recorded: RecordedFlows) -> bool:
    """Whether a flow, queue or network has the rows of CCPerf's tables."""
    if of is MeasureSubject.NETWORK:
        return recorded.are_all
    if of is MeasureSubject.QUEUE:
        return subject in recorded.bottlenecks
    return of is MeasureSubject.FLOW and subject in recorded.flows


def _subjects(
    run: Run, described: Resolved
) -> Iterator[tuple[MeasureSubject, str, Subject, Sequence[int]]]:
    """The subjects: kind, name, the metric's argument, and the flows concerned."""
    flows = range(len(run.flow_names))
    yield MeasureSubject.NETWORK, "", (), flows
    for base, members in equal_flows(described.mapping).items():
        yield MeasureSubject.FLOWS, base, members, members
    for index, name in enumerate(run.flow_names):
        yield MeasureSubject.FLOW, name, index, (index,)
    for index, name in enumerate(run.probe_names):
        yield MeasureSubject.PROBE, name, index, ()
    for index, name in enumerate(run.program_names):
        yield MeasureSubject.PROGRAM, name, index, ()
    for index, name in enumerate(run.queue_names):
        yield MeasureSubject.QUEUE, name, index, ()
