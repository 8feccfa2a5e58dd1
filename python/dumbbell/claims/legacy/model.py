"""The values: what is claimed (:class:`Claim`) and what came of it (:class:`Judged`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dumbbell.claims.legacy.rules import Kind, rule_text
from dumbbell.claims.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement to be judged and the rule for it, both fixed before any run.

    Attributes:
        id: Short, stable and unique in its study, such as ``sm-mean-sojourn``.
        statement: The claim in one sentence of plain English.
        source: Where it is made: a publication, or the theorem.
        kind: Which row of the table of rules applies.
        unit: Unit of ``published``, ``theory``, ``margin`` and every measured number
            (``ms``, ``packets``, ``1`` for a ratio).
        published: The published number, or None.
        theory: What theory says, or None.
        margin: Half-width of the band inside which two numbers count as equal, in ``unit``;
            None for kinds that use none. For ``supremum`` it is the time of one packet.
        level: Confidence (or prediction) level of the interval the claim is held against.
        rule: The rule in words; when left empty the standard text of the kind is used.
    """

    id: str
    statement: str
    source: str
    kind: Kind
    unit: str
    published: float | None = None
    theory: float | None = None
    margin: float | None = None
    level: float = 0.95
    rule: str = ""

    def __post_init__(self) -> None:
        """Check the numbers and fill in the standard rule text.

        Raises:
            ValueError: A number is not finite, the margin is negative, or the level is not
                strictly between 0 and 1.
        """
        for name in ("published", "theory", "margin"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"claim {self.id}: {name} is {value}; a finite number or None")
        if self.margin is not None and self.margin < 0:
            raise ValueError(f"claim {self.id}: margin is {self.margin}; not negative")
        if not 0 < self.level < 1:
            raise ValueError(f"claim {self.id}: level is {self.level}; between 0 and 1, as 0.95")
        if not self.rule:
            # The dataclass is frozen for its users; completing it while it is made is not change.
            object.__setattr__(
                self, "rule", rule_text(self.kind, self.margin, self.unit, self.level)
            )


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim and its verdict.

    Attributes:
        claim: What was claimed.
        backend: Where it was measured: ``sim``, ``kernel`` or ``imported``.
        measured: Point estimate in ``claim.unit``, or None.
        low: Lower end of the interval the rule used, or None.
        high: Upper end.
        n_replications: Independent runs behind the interval.
        verdict: The conclusion.
        depends_on: Parameter whose value decides, with ``Verdict.DEPENDS_ON`` only.
        p_value: For ``theory equals``: the p-value of "theory holds within the margin", small
            when the measurement contradicts it. None for other kinds.
        note: Anything a reader must know besides, in a sentence.
    """

    claim: Claim
    backend: str
    measured: float | None
    low: float | None
    high: float | None
    n_replications: int
    verdict: Verdict
    depends_on: str | None = None
    p_value: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse a parameter without the verdict that names it, and the reverse."""
        if (self.depends_on is not None) != (self.verdict is Verdict.DEPENDS_ON):
            raise ValueError(
                f"claim {self.claim.id}: depends_on={self.depends_on!r} with verdict "
                f"{self.verdict.value!r}; the two belong together"
            )

    @property
    def verdict_text(self) -> str:
        """The verdict as printed: ``reproduced``, ``depends on base RTT``."""
        if self.depends_on is None:
            return self.verdict.value
        return f"{self.verdict.value} {self.depends_on}"
