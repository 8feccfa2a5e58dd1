"""A section of a dossier: its question, its experiment, and its expectations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.suite import Suite


@dataclass(frozen=True, slots=True)
class Expectation:
    """An expectation of a controller in one cell: a ``[[claim]]`` of the section's file.

    Attributes:
        id: Short and unique in the section.
        statement: The expectation in a sentence.
        quantity: Path of the number that decides it.
        rule: The claim's kind and keys, as ``{"kind": "share", "side": "at least", ...}``.
        where: The cell: settings by path; the file's base experiment if empty.
        label: Label of the cell in figures and tables.
        source: Source of the threshold; ours if empty.
        amended: When and how it was changed after it had been run: ``when`` and ``what``; empty if
            it was not.
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
    """The figure of a section: one quantity, with one row per expectation about it.

    Attributes:
        quantity: Last part of the paths: ``utilization``.
        title: Title of the axis, without the unit.
    """

    quantity: str
    title: str


@dataclass(frozen=True, slots=True)
class Harm:
    """A measurement of the harm that a controller does to a rival, and of the rival's harm to
    itself.

    Attributes:
        rival: The harmed controller.
        label: Label of the cell, such as ``1 BDP``.
        quantity: Path of the rival's throughput.
        alone: The cell in which the rival is alone.
        own: The cell in which it competes with itself.
        beside: The cell in which it competes with the judged controller.
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
        expectations: The expectations, in order.
        harms: The cells for the table of harm.
    """

    document: Mapping[str, Any]
    expectations: Sequence[Expectation]
    harms: Sequence[Harm] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a dossier.

    Attributes:
        id: Name of its file and folder.
        suite: Id of its suite.
        reference: Reference in its suite: the number of a section of RFC 9743, or a test's name.
        title: Subject in a few words.
        short: Subject in a word or two, for labels on a phone.
        question: The question in plain words.
        trouble: Completes "deploy with care ..." for a controller that fails here: ``where ...``.
        drawn: Its figure.
        trial: Makes the experiment for a controller; None if the section does not apply to it.
        not_covered: What it does not cover.
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
    not_covered: str

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
        """Label in figures."""
        return f"{self.reference} {self.short}".strip()
