"""A section of a dossier: its question, its experiment, and what it asks of a controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dumbbell.judge.asked import JudgeRequest
from dumbbell.judge.suite import Suite


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that is asked of a controller in one cell: a ``[[claim]]`` of the section's file.

    Attributes:
        id: Short and unique in the section.
        statement: What is asked, in a sentence.
        quantity: Path of the number that decides.
        rule: Kind of claim and its keys, as ``{"kind": "share", "side": "at least", ...}``.
        where: The cell: values of settings by path; the base of the file where empty.
        label: Of the cell, in figures and tables.
        source: Who says so; a threshold of ours where empty.
        amended: When and how it was changed after it had been run: ``when`` and ``what``; empty
            where it was not.
    """

    id: str
    statement: str
    quantity: str
    rule: Mapping[str, Any]
    where: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    source: str = ""
    amended: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SectionFigure:
    """The figure of a section: one quantity, a row an expectation that is about it.

    Attributes:
        quantity: How the paths end: ``utilization``.
        title: Of the axis, without the unit.
    """

    quantity: str
    title: str


@dataclass(frozen=True, slots=True)
class Harm:
    """What one controller does to another, compared with what that does to itself.

    Attributes:
        rival: The one that is harmed.
        label: Of the cell, such as ``1 BDP``.
        quantity: Path of the rival's throughput.
        alone: The cell in which it is alone.
        own: That beside its own kind.
        beside: That beside the controller.
    """

    rival: str
    label: str
    quantity: str
    alone: Mapping[str, Any]
    own: Mapping[str, Any]
    beside: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Trial:
    """The experiment of a section for one controller.

    Attributes:
        document: The description, without claims.
        expectations: What is asked, in order.
        harms: What a table of harm is made from.
    """

    document: Mapping[str, Any]
    expectations: Sequence[Expectation]
    harms: Sequence[Harm] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a dossier.

    Attributes:
        id: Name of its file and folder.
        suite: What it is of.
        reference: Where its suite has it: the number of a section of RFC 9743, or a test's name.
        title: What it is about, in a few words.
        short: The same in a word or two, for the labels of a figure on a phone.
        question: In plain words.
        trouble: Where one should not deploy a controller that fails here: ``where ...``.
        drawn: Its figure.
        trial: Makes the experiment for a controller; None where it has nothing to ask of it.
        unsaid: What it cannot say.
    """

    id: str
    suite: Suite
    reference: str
    title: str
    short: str
    question: str
    trouble: str
    drawn: SectionFigure
    trial: Callable[[JudgeRequest], Trial | None]
    unsaid: str

    @property
    def cited(self) -> str:
        """Such as ``RFC 9743 section 6.3``."""
        return self.suite.cited.format(self.reference)

    @property
    def heading(self) -> str:
        """Reference and title."""
        return f"{self.reference} {self.title}"

    @property
    def label(self) -> str:
        """Of a figure's axis."""
        return f"{self.reference} {self.short}".strip()
