"""A claim (:class:`Claim`) and its verdict (:class:`Judged`, made by :func:`judge`)."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, replace
from typing import Any, Generic, TypeVar

from dumbbell.claims.decision import Decision, MeasuredInterval
from dumbbell.claims.evidence import is_complete, size_of
from dumbbell.claims.glyphs import Stated
from dumbbell.claims.rules.base import Rule
from dumbbell.claims.verdicts import Verdict

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Family:
    """Claims that differ in one parameter only; the page shows them as one row of small drawings.

    Attributes:
        name: The family's name, unique in its study.
        statement: A sentence that holds for all of them.
        label: Label of this member, such as ``m = 4``.
    """

    name: str
    statement: str
    label: str


@dataclass(frozen=True, slots=True)
class Amendment:
    """A rule that was changed after a run.

    Attributes:
        when: Date, such as ``2026-03-14``.
        what: What was changed and why, in a sentence without a full stop.
    """

    when: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Generic[E]):
    """A statement to be judged and the rule for it, both fixed before any run.

    Attributes:
        id: Short, stable and unique in its study, such as ``sm-mean-sojourn``.
        statement: The claim in one sentence of plain English.
        source: A publication or a theorem.
        rule: How the claim is judged: numbers, unit, level.
        fact: Claims that follow from one another share a fact; by default each is its own.
        beside: Further numbers that are shown with it and decide nothing.
        family: Which family it belongs to, or None.
        amended: When and how its rule was changed after a run, or None.
    """

    id: str
    statement: str
    source: str
    rule: Rule[E]
    fact: str = ""
    beside: tuple[Stated, ...] = ()
    family: Family | None = None
    amended: Amendment | None = None

    def __post_init__(self) -> None:
        """Without a fact, the claim is a fact of its own."""
        if not self.fact:
            # The dataclass is frozen for its users; its constructor may still complete it.
            object.__setattr__(self, "fact", self.id)


_SEAL = object()


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim and its verdict. Only :func:`judge` and :func:`not_testable` make one.

    Attributes:
        claim: The claim.
        backend: Where it was measured: ``sim``, ``kernel`` or ``imported``.
        decision: The verdict and the evidence for it.
        note: Further information for the reader, in a sentence.
    """

    claim: Claim[Any]
    backend: str
    decision: Decision
    note: str = ""
    seal: InitVar[object] = None

    def __post_init__(self, seal: object) -> None:
        """Refuse a verdict that was not made by a rule.

        Raises:
            TypeError: It was not made by :func:`judge`.
        """
        if seal is not _SEAL:
            raise TypeError("a Judged comes from dumbbell.claims.judge, never by hand")

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return self.decision.verdict

    @property
    def found(self) -> MeasuredInterval:
        """The measured number and the interval that the rule used."""
        return self.decision.found

    @property
    def p_value(self) -> float | None:
        """The rule's p-value, where it has one."""
        return self.decision.p_value


def judge(
    claim: Claim[E], evidence: E, *, backend: str = "sim", note: str = "", why_not: str = ""
) -> Judged:
    """Apply a claim's rule to evidence.

    Args:
        claim: The claim and its rule.
        evidence: Of the type that the rule takes, in the rule's unit.
        backend: Where it was measured.
        note: A remark to print with the verdict.
        why_not: A remark for every verdict except *reproduced*, such as a suspected reason.

    Returns:
        *not testable* if a replication gave no number; otherwise the rule's decision.

    Raises:
        ValueError: The evidence has the wrong type or shape for the rule.
    """
    decision = _decided(claim.rule, evidence)
    favourable = decision.verdict in (Verdict.REPRODUCED, Verdict.EXPLAINED_AT)
    remarks = (note, decision.remark, "" if favourable else why_not)
    return Judged(claim, backend, decision, "; ".join(filter(None, remarks)), _SEAL)


def not_testable(claim: Claim[Any], reason: str, *, backend: str = "sim") -> Judged:
    """Record that no run can test a claim.

    Args:
        claim: With any rule.
        reason: Why, in a sentence for the reader.
        backend: Where it would have been measured.
    """
    nothing = Decision(verdict=Verdict.NOT_TESTABLE, found=MeasuredInterval(None))
    return Judged(claim, backend, nothing, reason, _SEAL)


def _decided(rule: Rule[E], evidence: E) -> Decision:
    if not is_complete(evidence):
        return Decision(
            verdict=Verdict.NOT_TESTABLE,
            found=MeasuredInterval(None, n=size_of(evidence)),
            remark="a replication gave no value",
        )
    decision = rule.decide(evidence)
    if decision.found.value is not None and decision.found.n == 1 and not decision.remark:
        unbounded = decision.found.kind is not None and decision.found.low is None
        return (
            replace(decision, remark="one replication has no interval") if unbounded else decision
        )
    return decision
