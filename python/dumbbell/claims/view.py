"""The one narrow view of a judged claim that pages, terminals and files are made from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dumbbell.claims.decision import Decision
from dumbbell.claims.evidence import Setting
from dumbbell.claims.glyphs import Glyph, Origin, Stated, around_margin, around_print, span_of
from dumbbell.claims.legacy.model import Judged as OldJudged
from dumbbell.claims.legacy.rules import Kind
from dumbbell.claims.model import Amendment, Family, Judged
from dumbbell.claims.rules.base import Standing
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import IntervalKind

AnyJudged = Judged | OldJudged
"""Until every study is converted: a verdict of either making."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimView:
    """A row of the claims table: values only, nothing left to decide.

    Attributes:
        id: Of the claim.
        statement: What is claimed.
        source: By whom.
        backend: Where it was measured.
        rule: Name of the rule.
        words: The rule in words.
        amended: When the rule was changed after a run.
        margin: What counted as equal, or None.
        published: The published number, or None.
        theory: What theory says, or None.
        elsewhere: What was measured elsewhere, or None.
        measured: Ours, or None.
        low: Lower end of the interval the rule used.
        high: Upper end.
        unit: Of all of them.
        level: Of the interval, or None.
        interval_kind: What the interval is for, or None.
        n_replications: Behind it.
        verdict: The conclusion.
        depends_on: Parameters that decide.
        at: Settings that explain all printed levels, the best first.
        p_value: Where the rule has one.
        note: What else a reader must know.
        fact: Rows of one fact have it in common.
        standing: In which count it is read out.
        chance_of_a_miss: Of *not reproduced* although it is true, where known.
        family: Which small multiple it is part of.
        glyphs: Drawings; not in files.
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
    standing: Standing = Standing.SOURCE
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
        return self.standing is not Standing.UNCOUNTED


def view_of(judged: AnyJudged) -> ClaimView:
    """The view of a verdict."""
    return _old_view(judged) if isinstance(judged, OldJudged) else _view(judged)


def views_of(judged: Iterable[AnyJudged]) -> list[ClaimView]:
    """The views of verdicts, in their order."""
    return [view_of(one) for one in judged]


def setting_words(setting: Setting) -> str:
    """Such as ``load = 4, base RTT (ms) = 20``."""
    return ", ".join(f"{name} = {_plain(value)}" for name, value in setting.items())


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _first(stated: Iterable[Stated], origin: Origin) -> float | None:
    return next((each.value for each in stated if each.origin is origin), None)


def _view(judged: Judged) -> ClaimView:
    claim, decision, rule = judged.claim, judged.decision, judged.claim.rule
    stated = (*rule.stated, *claim.beside)
    found = decision.found
    # Of several printed levels none is the number of the row; its note has them all.
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
    """What a decision has to say besides its verdict: where it turns, what was missed."""
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
    told = [
        f"{each.parameter} = {' or '.join(map(_plain, each.agree))}"
        for each in decision.identified
        if each.is_told
    ]
    if told:
        parts.append(f"the printed number tells {', '.join(told)}")
    elif decision.identified:
        parts.append("the printed number tells none of the open choices")
    return "; ".join(parts)


_OLD_STANDING = {Kind.THEORY_EQUALS: Standing.THEORY}
_OLD_INTERVAL = {
    Kind.SUPREMUM: IntervalKind.EXTREMES,
    Kind.FREE_PARAMETERS: IntervalKind.WHOLE_GRID,
    Kind.ORDERING: IntervalKind.BAND,
    Kind.PUBLISHED_NUMBER: IntervalKind.PREDICTION,
}


def _old_view(judged: OldJudged) -> ClaimView:
    claim = judged.claim
    return ClaimView(
        id=claim.id,
        statement=claim.statement,
        source=claim.source,
        backend=judged.backend,
        rule=claim.kind.value,
        words=claim.rule,
        margin=claim.margin,
        published=claim.published,
        theory=claim.theory,
        measured=judged.measured,
        low=judged.low,
        high=judged.high,
        unit=claim.unit,
        level=claim.level,
        interval_kind=_OLD_INTERVAL.get(claim.kind, IntervalKind.MEAN),
        n_replications=judged.n_replications,
        verdict=judged.verdict,
        depends_on=() if judged.depends_on is None else (judged.depends_on,),
        p_value=judged.p_value,
        note=judged.note,
        fact=claim.id,
        standing=_OLD_STANDING.get(claim.kind, Standing.SOURCE),
        glyphs=_old_glyphs(judged),
    )


def _old_glyphs(judged: OldJudged) -> tuple[Glyph, ...]:
    claim = judged.claim
    marks = tuple(
        Stated(value, origin)
        for value, origin in ((claim.published, Origin.PUBLISHED), (claim.theory, Origin.THEORY))
        if value is not None
    )
    if judged.measured is None or judged.low is None or not marks:
        return ()
    centre = marks[0].value
    if claim.margin:
        reach = around_margin(claim.margin)
        shaded = (centre - claim.margin, centre + claim.margin)
    elif claim.kind is Kind.PUBLISHED_NUMBER:
        reach, shaded = around_print(centre, judged.low, judged.high), None
    else:
        reach, shaded = span_of(centre, judged.measured, judged.low, judged.high), None
    return (
        Glyph(
            centre=centre,
            reach=reach,
            measured=judged.measured,
            low=judged.low,
            high=judged.high,
            marks=marks,
            shaded=shaded,
        ),
    )
