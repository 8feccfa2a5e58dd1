"""Claims about scenarios whose source leaves parameters out: judged over a small grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dumbbell.claims.legacy.model import Claim, Judged
from dumbbell.claims.legacy.rules import Kind
from dumbbell.claims.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class GridPoint:
    """One setting of the free parameters and the verdict there.

    Attributes:
        parameters: Name (with its unit, as a reader would write it) to value.
        judged: The claim judged at this setting by the judge of its own kind.
    """

    parameters: Mapping[str, float | str]
    judged: Judged


def judge_free_parameters(
    claim: Claim, points: Sequence[GridPoint], *, backend: str = "sim", note: str = ""
) -> Judged:
    """Combine the verdicts over a grid: reproduced only when it holds on all of it.

    The first point is the nominal one: its measured value is reported, with the interval
    stretched over the whole grid. When the grid splits into reproduced and not reproduced, the
    verdict names the fewest parameters that decide, and the note says where it turns.

    Args:
        claim: Of kind ``depends on free parameters``.
        points: The whole grid, every point with the same parameter names.
        backend: Where it was measured.
        note: A remark to keep beside the verdict.

    Raises:
        ValueError: Another kind, an empty grid, or points that name different parameters.
    """
    if claim.kind is not Kind.FREE_PARAMETERS:
        raise ValueError(
            f"claim {claim.id}: kind is {claim.kind.value!r}; this judge takes "
            f"{Kind.FREE_PARAMETERS.value!r}"
        )
    if not points:
        raise ValueError(f"claim {claim.id}: the grid is empty")
    names = list(points[0].parameters)
    if any(list(point.parameters) != names for point in points):
        raise ValueError(f"claim {claim.id}: every grid point must name {', '.join(names)}")

    verdicts = {point.judged.verdict for point in points}
    depends_on, where = None, ""
    if len(verdicts) == 1 and Verdict.DEPENDS_ON not in verdicts:
        verdict = next(iter(verdicts))
    elif {Verdict.REPRODUCED, Verdict.NOT_REPRODUCED} <= verdicts:
        verdict = Verdict.DEPENDS_ON
        deciding = _deciding_parameters(points, names)
        depends_on, where = " and ".join(deciding), _where_it_turns(points, deciding)
    else:
        # Nothing on the grid contradicts the rest, but not all of it could be decided.
        verdict = Verdict.INCONCLUSIVE
    nominal = points[0].judged
    return Judged(
        claim=claim,
        backend=backend,
        measured=nominal.measured,
        low=min((p.judged.low for p in points if p.judged.low is not None), default=None),
        high=max((p.judged.high for p in points if p.judged.high is not None), default=None),
        n_replications=min(point.judged.n_replications for point in points),
        verdict=verdict,
        depends_on=depends_on,
        note="; ".join(part for part in (note, where) if part),
    )


def _deciding_parameters(points: Sequence[GridPoint], names: Sequence[str]) -> tuple[str, ...]:
    """The fewest parameters of which the verdict is a function (in the grid's order)."""
    for size in range(1, len(names)):
        for subset in combinations(names, size):
            found: dict[tuple[float | str, ...], set[Verdict]] = {}
            for point in points:
                # A point that could not be decided is no evidence about what decides.
                if point.judged.verdict in (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED):
                    setting = tuple(point.parameters[name] for name in subset)
                    found.setdefault(setting, set()).add(point.judged.verdict)
            if all(len(verdicts) == 1 for verdicts in found.values()):
                return subset
    return tuple(names)


def _where_it_turns(points: Sequence[GridPoint], deciding: Sequence[str]) -> str:
    """One clause per verdict: the settings at which it was given.

    Of the deciding parameters, but where nothing could be decided: that is no matter of theirs.
    """
    decided = [Verdict.REPRODUCED.value, Verdict.NOT_REPRODUCED.value]
    settings: dict[str, list[str]] = {}
    for point in points:
        verdict = point.judged.verdict.value
        named = deciding if verdict in decided else list(point.parameters)
        setting = ", ".join(f"{name} = {_plain(point.parameters[name])}" for name in named)
        at = settings.setdefault(verdict, [])
        if setting not in at:
            at.append(setting)
    in_order = [*decided, *(verdict for verdict in settings if verdict not in decided)]
    return "; ".join(f"{verdict} at {' / '.join(settings[verdict])}" for verdict in in_order)


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
