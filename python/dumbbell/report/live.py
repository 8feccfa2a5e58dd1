"""The live figure of a study's page: what the simulator in the page is to run, and what moves it.

A study declares it as data, in its ``live.py``; the page carries it as JSON, and the bundle beside
the page (`dumbbell.lab.write_live`) runs it and draws it. Without the bundle the page has its
drawn figure and a line that says how to get the other.

Everything that a slider changes is written down stop by stop: the changes by path are those of the
laboratory (``docs/laboratory.md``), with values in resolved units, or tc text for ``qdisc`` and
``police``.
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
"""Of a change: as a resolved description has it, or tc text."""

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
    """A queue that fills to its rim."""
    CROWD = "crowd"
    """Which buffer more flows do better with, against users; distributions of throughput."""


class ControlKind(Enum):
    """How a person moves a control."""

    SLIDER = "slider"
    SWITCH = "switch"
    """Off and on: two stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStop:
    """A place where a control can stand.

    Attributes:
        value: What it sets, in the control's unit; what curves and published points refer to.
        words: As a person reads it, such as ``0.95``.
        changes: Path to value, for every arm.
        of_arm: The same for one arm each, after those for every arm.
        variant: Place of the experiment that each arm runs, where the control chooses one.
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
        id: In elements' names; lower case letters, digits and ``-``.
        label: What it sets.
        stops: Where it can stand, in order.
        start: Place of the stop at which the page begins.
        kind: How it is moved.
    """

    id: str
    label: str
    stops: Sequence[LiveStop]
    start: int = 0
    kind: ControlKind = ControlKind.SLIDER

    def __post_init__(self) -> None:
        """Refuse what cannot be moved.

        Raises:
            ValueError: Too few stops, a start that is none of them, or a name that is no id.
        """
        _check_id(self.id, "control")
        is_switch = self.kind is ControlKind.SWITCH
        if len(self.stops) < 2 or (is_switch and len(self.stops) != 2):
            raise ValueError(f"control {self.id}: {len(self.stops)} stops; a switch has two")
        if not 0 <= self.start < len(self.stops):
            raise ValueError(f"control {self.id}: start {self.start} of {len(self.stops)} stops")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveArm:
    """One of the things compared; all arms are run for every change.

    Attributes:
        id: In elements' names and in curves.
        label: What a reader calls it.
        variants: Experiments, of which a control may choose one; else the first is run.
        queues: For each variant the names of the queues that are looked at.
    """

    id: str
    label: str
    variants: Sequence[Experiment]
    queues: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        """Refuse an arm without an experiment, or with a queue that its experiment has not.

        Raises:
            ValueError: It is so.
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
        label: What it is.
        x: On the picture's axis across.
        y: On its axis up, one for each x.
        arm: Arm that it belongs to, whose colour it has; empty for none.
        when: Control to the value at which it is shown; always when empty.
        is_published: Points, drawn as diamonds, instead of a line.
        picture: Picture that it stands in, where the form has it in more than one.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    arm: str = ""
    when: Mapping[str, float] = field(default_factory=dict)
    is_published: bool = False
    picture: str = ""

    def __post_init__(self) -> None:
        """Refuse a curve that has not a y for each x.

        Raises:
            ValueError: It is so.
        """
        if len(self.x) != len(self.y):
            raise ValueError(f"curve {self.label!r}: {len(self.x)} x, {len(self.y)} y")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBet:
    """What the reader bets on before it is run: the number at a setting not yet seen.

    Attributes:
        question: What is asked, in a sentence or two.
        settings: Control to the place of the stop that is run for it.
        arm: Whose number it is.
        number: Which of the numbers of the form.
        least: Low end of the scale, in the number's unit.
        most: High end.
        start: Where the mark stands at first.
        unit: As it is shown.
        lesson: What one learns from the outcome, in a sentence.
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
        watch: What to look at first, in a sentence or two.
        arms: What is run.
        controls: What moves it: two or three.
        curves: Theory and what was published.
        bet: What the reader bets on.
        options: Numbers and words that the form asks for (its module says which).
    """

    form: Form
    watch: str
    arms: Sequence[LiveArm]
    controls: Sequence[LiveControl]
    bet: LiveBet
    curves: Sequence[LiveCurve] = ()
    options: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse names that lead nowhere.

        Raises:
            ValueError: Two things have one name, or something names what is not there.
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
        """The control of that name."""
        return next(each for each in self.controls if each.id == name)

    def corners(self) -> Iterator[dict[str, int]]:
        """Control to place of a stop, for the first, starting and last stop of every control."""
        places = [sorted({0, each.start, len(each.stops) - 1}) for each in self.controls]
        for chosen in product(*places):
            yield {each.id: place for each, place in zip(self.controls, chosen, strict=True)}

    def asked(self, arm: LiveArm, places: Mapping[str, int]) -> tuple[Experiment, dict[str, Value]]:
        """The experiment of an arm and the changes to it, as the page makes them.

        Args:
            arm: Of `arms`.
            places: Control to the place of its stop; those left out stand at their start.
        """
        variant = 0
        changes: dict[str, Value] = {}
        for control in self.controls:
            stop = control.stops[places.get(control.id, control.start)]
            variant = variant if stop.variant is None else stop.variant
            changes |= {**stop.changes, **stop.of_arm.get(arm.id, {})}
        # What brings a whole thing comes before what changes something in it.
        return arm.variants[variant], dict(sorted(changes.items(), key=lambda each: len(each[0])))

    def as_json(self) -> dict[str, Any]:
        """For the page."""
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
