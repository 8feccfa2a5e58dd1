"""A read-only view of a judged claim, from which pages, terminal output and files are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dumbbell.claims.decision import Decision
from dumbbell.claims.evidence import Setting
from dumbbell.claims.glyphs import Glyph, Origin, Stated
from dumbbell.claims.model import Amendment, Family, Judged
from dumbbell.claims.rules.base import CountedAs
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import IntervalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimView:
    """A row of the claims table: plain values, no logic.

    Attributes:
        id: The claim's id.
        statement: The claim in a sentence.
        source: Who makes the claim.
        backend: Where it was measured.
        rule: Name of the rule.
        words: The rule in words.
        amended: When the rule was changed after a run.
        margin: Margin of equivalence, or None.
        published: The published number, or None.
        theory: The theoretical value, or None.
        elsewhere: The number measured elsewhere, or None.
        measured: Our measurement, or None.
        low: Lower end of the interval the rule used.
        high: Upper end.
        unit: Unit of all numbers.
        level: Level of the interval, or None.
        interval_kind: What the interval covers, or None.
        n_replications: Number of replications.
        verdict: The verdict.
        depends_on: Parameters that decide the verdict.
        at: Settings that explain all printed levels, the best first.
        p_value: The rule's p-value, where it has one.
        note: Further information for the reader.
        fact: Claims with the same fact count once.
        standing: The count in which it is included.
        chance_of_a_miss: Probability of *not reproduced* if the claim is true, where known.
        family: Which row of small drawings it is part of.
        glyphs: Drawings; not written to files.
    """

    id: str
    statement: str
    source: str
    backend: str
    rule: str
    words: str
    amended: Amendment | None = None
    margin: float | None = None
    published: float | None = None
    theory: float | None = None
    elsewhere: float | None = None
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str
    level: float | None = None
    interval_kind: IntervalKind | None = None
    n_replications: int = 0
    verdict: Verdict
    depends_on: tuple[str, ...] = ()
    at: tuple[Setting, ...] = ()
    p_value: float | None = None
    note: str = ""
    fact: str
    standing: CountedAs = CountedAs.SOURCE
    chance_of_a_miss: float = 0.0
    family: Family | None = None
    glyphs: tuple[Glyph, ...] = field(default=(), compare=False)

    @property
    def verdict_text(self) -> str:
        """The verdict as printed: ``depends on base RTT``, ``explained at load = 4``."""
        match self.verdict:
            case Verdict.DEPENDS_ON:
                return f"{self.verdict.value} {' and '.join(self.depends_on)}"
            case Verdict.EXPLAINED_AT:
                return f"{self.verdict.value} {setting_words(self.at[0])}"
            case _:
                return self.verdict.value

    @property
    def counts(self) -> bool:
        """Whether a headline counts it."""
        return self.standing is not CountedAs.UNCOUNTED


def views_of(judged: Iterable[Judged]) -> list[ClaimView]:
    """The views of judged claims, in their order."""
    return [view_of(one) for one in judged]


def setting_words(setting: Setting) -> str:
    """Such as ``load = 4, base RTT (ms) = 20``."""
    return ", ".join(f"{name} = {_plain(value)}" for name, value in setting.items())


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _first(stated: Iterable[Stated], origin: Origin) -> float | None:
    return next((each.value for each in stated if each.origin is origin), None)


def view_of(judged: Judged) -> ClaimView:
    """The view of a judged claim."""
    claim, decision, rule = judged.claim, judged.decision, judged.claim.rule
    stated = (*rule.stated, *claim.beside)
    found = decision.found
    # A row with several printed levels has no single number; its note lists all of them.
    columns = () if decision.levels or len(rule.stated) > 1 else stated
    return ClaimView(
        id=claim.id,
        statement=claim.statement,
        source=claim.source,
        backend=judged.backend,
        rule=rule.name.value,
        words=rule.words,
        amended=claim.amended,
        margin=decision.margin,
        published=_first(columns, Origin.PUBLISHED),
        theory=_first(columns, Origin.THEORY),
        elsewhere=_first(columns, Origin.ELSEWHERE),
        measured=found.value,
        low=found.low,
        high=found.high,
        unit=rule.unit,
        level=found.level,
        interval_kind=found.kind,
        n_replications=found.n,
        verdict=decision.verdict,
        depends_on=decision.depends_on,
        at=decision.at,
        p_value=decision.p_value,
        note="; ".join(filter(None, (judged.note, decision_words(decision, rule.unit)))),
        fact=claim.fact,
        standing=rule.standing,
        chance_of_a_miss=rule.chance_of_a_miss,
        family=claim.family,
        glyphs=() if decision.verdict is Verdict.NOT_TESTABLE else rule.glyphs(decision),
    )


def decision_words(decision: Decision, unit: str) -> str:
    """Details besides the verdict: at which settings it changes, which levels were missed."""
    parts = [
        f"{turn.verdict.value} at {' / '.join(map(setting_words, turn.settings))}"
        for turn in decision.turns
    ]
    suffix = "" if unit in ("", "1") else f" {unit}"
    if len(decision.at) > 1:
        parts.append(f"as well at {' / '.join(map(setting_words, decision.at[1:]))}")
    if decision.nearest is not None and decision.missed:
        missed = ", ".join(
            f"{each.level} (printed {each.printed:g}{suffix}, one run {each.low:.3g} to "
            f"{each.high:.3g})"
            for each in decision.missed
        )
        parts.append(f"nearest: {setting_words(decision.nearest)}, which misses {missed}")
    elif decision.nearest is not None and decision.verdict is Verdict.NOT_EXPLAINED:
        nearest = setting_words(decision.nearest)
        parts.append(f"nearest: {nearest}, which gives each of them, but not all in one run")
    told = [
        f"{each.parameter} = {' or '.join(map(_plain, each.agree))}"
        for each in decision.identified
        if each.constrains_parameter
    ]
    if told:
        parts.append(f"the printed number tells {', '.join(told)}")
    elif decision.identified:
        parts.append("the printed number tells none of the open choices")
    return "; ".join(parts)
