"""The live figure of a study's page: what the in-page simulator runs, and its controls.

A study declares it as data in its ``live.py``. The page carries it as JSON, and the bundle beside
the page (`dumbbell.lab.write_live`) runs and draws it. Without the bundle the page shows its static
figure and explains how to get the live one.

Every change made by a slider is listed stop by stop. Changes by path are those of the laboratory
(``docs/laboratory.md``), with values in resolved units, or tc text for ``qdisc`` and ``police``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from itertools import product
from typing import Any, TypeAlias

from dumbbell.spec import Experiment

Value: TypeAlias = "str | int | float | bool | Mapping[str, Any]"
"""Value of a change: as in a resolved description, or tc text."""

_ID = re.compile(r"[a-z][a-z0-9-]*")


class Form(StrEnum):
    """The kind of picture; each is drawn by a module of ``lab/live``."""

    BUCKET = "bucket"
    """The level of a token bucket, of a shaper and of a policer."""
    CLIMB = "climb"
    """Time in the system against load: operating points on curves that rise as 1/(1 - load)."""
    ELLIPSE = "ellipse"
    """Throughput against delay: the mean and two standard deviations around it."""
    TANK = "tank"
    """A queue that fills up to its limit."""
    CROWD = "crowd"
    """The buffer size that is better for more flows, against users; distributions of throughput."""


class ControlKind(Enum):
    """Type of a control."""

    SLIDER = "slider"
    SWITCH = "switch"
    """Off and on: two stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStop:
    """A position of a control.

    Attributes:
        value: Value in the control's unit; curves and published points refer to it.
        words: Printed value, such as ``0.95``.
        changes: Path to value, applied to every arm.
        of_arm: Path to value for individual arms, applied after those for every arm.
        variant: Index of the variant that each arm runs, if the control selects one.
    """

    value: float
    words: str
    changes: Mapping[str, Value] = field(default_factory=dict)
    of_arm: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    variant: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveControl:
    """A slider or a switch.

    Attributes:
        id: Used in HTML ids; lower case letters, digits and ``-``.
        label: What it sets.
        stops: Its positions, in order.
        start: Index of the initial stop.
        kind: Type of control.
    """

    id: str
    label: str
    stops: Sequence[LiveStop]
    start: int = 0
    kind: ControlKind = ControlKind.SLIDER

    def __post_init__(self) -> None:
        """Refuse an unusable control.

        Raises:
            ValueError: Too few stops, a start index out of range, or an invalid id.
        """
        _check_id(self.id, "control")
        is_switch = self.kind is ControlKind.SWITCH
        if len(self.stops) < 2 or (is_switch and len(self.stops) != 2):
            raise ValueError(f"control {self.id}: {len(self.stops)} stops; a switch has two")
        if not 0 <= self.start < len(self.stops):
            raise ValueError(f"control {self.id}: start {self.start} of {len(self.stops)} stops")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveArm:
    """One of the alternatives compared; all arms are run for every change.

    Attributes:
        id: Used in HTML ids and in curves.
        label: Its name on the page.
        variants: Experiments; a control may select one, otherwise the first is run.
        queues: For each variant, the names of the queues observed.
    """

    id: str
    label: str
    variants: Sequence[Experiment]
    queues: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        """Refuse an arm without an experiment, or with a queue missing from its experiment.

        Raises:
            ValueError: The arm is invalid.
        """
        _check_id(self.id, "arm")
        if not self.variants or len(self.variants) != len(self.queues):
            raise ValueError(f"arm {self.id}: as many lists of queues as experiments, at least one")
        for experiment, names in zip(self.variants, self.queues, strict=True):
            missing = [name for name in names if name not in experiment.queue_names]
            if missing or not names:
                known = ", ".join(experiment.queue_names)
                raise ValueError(f"arm {self.id}: queues {missing}, known are {known}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCurve:
    """A line of theory, or published points.

    Attributes:
        label: Its label.
        x: x coordinates on the picture.
        y: y coordinates, one for each x.
        arm: The arm whose colour it uses; empty for none.
        when: Maps a control to the value at which the curve is shown; always shown when empty.
        is_published: Points, drawn as diamonds, instead of a line.
        picture: Picture it is drawn in, if the form has more than one.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    arm: str = ""
    when: Mapping[str, float] = field(default_factory=dict)
    is_published: bool = False
    picture: str = ""

    def __post_init__(self) -> None:
        """Refuse a curve whose x and y differ in length.

        Raises:
            ValueError: The lengths differ.
        """
        if len(self.x) != len(self.y):
            raise ValueError(f"curve {self.label!r}: {len(self.x)} x, {len(self.y)} y")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBet:
    """A prediction by the reader before the run: the number at a setting not yet shown.

    Attributes:
        question: The question, in a sentence or two.
        settings: Maps a control to the index of the stop that is run.
        arm: The arm the number is taken from.
        number: Which number of the form is predicted.
        least: Low end of the scale, in the number's unit.
        most: High end.
        start: Initial position of the mark.
        unit: Unit, as shown.
        lesson: What the outcome shows, in a sentence.
    """

    question: str
    settings: Mapping[str, int]
    arm: str
    number: str
    least: float
    most: float
    start: float
    unit: str
    lesson: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveHero:
    """A study's live figure.

    Attributes:
        form: Kind of picture.
        watch: What to observe first, in a sentence or two.
        arms: The arms to run.
        controls: Two or three controls.
        curves: Theory and published values.
        bet: The reader's prediction.
        options: Further parameters of the form (see its module).
    """

    form: Form
    watch: str
    arms: Sequence[LiveArm]
    controls: Sequence[LiveControl]
    bet: LiveBet
    curves: Sequence[LiveCurve] = ()
    options: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse duplicate or undefined names.

        Raises:
            ValueError: A name is used twice or refers to nothing.
        """
        controls, arms = [each.id for each in self.controls], [each.id for each in self.arms]
        for names, what in ((controls, "controls"), (arms, "arms")):
            if not names or len(set(names)) != len(names):
                raise ValueError(f"{what} must be there and have different names, not {names}")
        used = [*self.bet.settings, *(name for each in self.curves for name in each.when)]
        unknown = [name for name in used if name not in controls]
        named = [self.bet.arm, *(each.arm for each in self.curves if each.arm)]
        named += [arm for each in self.controls for stop in each.stops for arm in stop.of_arm]
        unknown += [name for name in named if name not in arms]
        if unknown:
            raise ValueError(f"there is no {', '.join(unknown)}: {controls}, {arms}")
        for control, place in self.bet.settings.items():
            if not 0 <= place < len(self.control(control).stops):
                raise ValueError(f"bet: {control} has no stop {place}")
        many = {len(arm.variants) for arm in self.arms}
        chosen = {s.variant for each in self.controls for s in each.stops if s.variant is not None}
        if len(many) > 1 or not chosen <= set(range(min(many))):
            raise ValueError(f"variants {sorted(chosen)} are asked for, arms have {sorted(many)}")

    def control(self, name: str) -> LiveControl:
        """Return the control of that name."""
        return next(each for each in self.controls if each.id == name)

    def corners(self) -> Iterator[dict[str, int]]:
        """Map each control to a stop's index, for the first, initial and last stop of every
        control.
        """
        places = [sorted({0, each.start, len(each.stops) - 1}) for each in self.controls]
        for chosen in product(*places):
            yield {each.id: place for each, place in zip(self.controls, chosen, strict=True)}

    def asked(self, arm: LiveArm, places: Mapping[str, int]) -> tuple[Experiment, dict[str, Value]]:
        """Return the experiment of an arm and the changes to it, as the page applies them.

        Args:
            arm: One of `arms`.
            places: Maps a control to the index of its stop; controls left out are at their start.
        """
        variant = 0
        changes: dict[str, Value] = {}
        for control in self.controls:
            stop = control.stops[places.get(control.id, control.start)]
            variant = variant if stop.variant is None else stop.variant
            changes |= {**stop.changes, **stop.of_arm.get(arm.id, {})}
        # A change that adds an object precedes the changes to its fields.
        return arm.variants[variant], dict(sorted(changes.items(), key=lambda each: len(each[0])))

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form for the page."""
        return {
            "form": self.form,
            "watch": self.watch,
            "arms": [_arm(each) for each in self.arms],
            "controls": [_control(each) for each in self.controls],
            "curves": [_curve(each) for each in self.curves],
            "bet": {
                "question": self.bet.question,
                "settings": dict(self.bet.settings),
                "arm": self.bet.arm,
                "number": self.bet.number,
                "least": self.bet.least,
                "most": self.bet.most,
                "start": self.bet.start,
                "unit": self.bet.unit,
                "lesson": self.bet.lesson,
            },
            "options": dict(self.options),
        }


def _check_id(name: str, what: str) -> None:
    if not _ID.fullmatch(name):
        raise ValueError(f"{what} {name!r}: lower case letters, digits and '-', as in 'load'")


def _arm(arm: LiveArm) -> dict[str, Any]:
    variants = [
        {
            "resolved": experiment.resolved(),
            "queues": [experiment.queue_names.index(name) for name in names],
        }
        for experiment, names in zip(arm.variants, arm.queues, strict=True)
    ]
    return {"id": arm.id, "label": arm.label, "variants": variants}


def _control(control: LiveControl) -> dict[str, Any]:
    return {
        "id": control.id,
        "label": control.label,
        "kind": control.kind.value,
        "start": control.start,
        "stops": [
            {
                "value": stop.value,
                "words": stop.words,
                "changes": list(stop.changes.items()),
                "of_arm": {arm: list(changes.items()) for arm, changes in stop.of_arm.items()},
                "variant": stop.variant,
            }
            for stop in control.stops
        ],
    }


def _curve(curve: LiveCurve) -> dict[str, Any]:
    return {
        "label": curve.label,
        "x": list(curve.x),
        "y": list(curve.y),
        "arm": curve.arm,
        "when": dict(curve.when),
        "is_published": curve.is_published,
        "picture": curve.picture,
    }
