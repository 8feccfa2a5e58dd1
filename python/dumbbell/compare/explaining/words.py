"""What a search found, in sentences and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from dumbbell.compare.explaining.fitting import LEVEL, Explanation, Fit

MOST_NAMED = 4
"""Most settings that a sentence names."""


class Outcome(StrEnum):
    """What the runs of a setting say about it."""

    FITS = "fits"
    UNLIKELY = "unlikely"
    """Outside the 95 % of one more run, but not excluded after the correction."""
    EXCLUDED = "excluded"
    TOO_WIDE = "tests nothing"


def outcome(fit: Fit) -> Outcome:
    """What the runs of a setting say about it."""
    if fit.fits:
        return Outcome.FITS
    if fit.is_excluded:
        return Outcome.EXCLUDED
    return Outcome.UNLIKELY if fit.is_informative else Outcome.TOO_WIDE


def answer(found: Explanation) -> str:
    """Which setting, or which two together, give all printed numbers: a sentence or two."""
    if not found.fits:
        return "There are no runs to hold the printed numbers against."
    fitting = found.explaining
    if not fitting:
        return _nothing(found)
    best, *others = fitting
    n = len(best.trial.choices)
    what = f"{all_numbers(found)} ({p_text(best.joint.p_value)})"
    said = (
        f"The file as it is gives {what}: nothing needs a reason.",
        f"{_capital(best.trial.label)} alone gives {what}{_own(found)}.",
        f"No setting alone gives {all_numbers(found)}; {best.trial.label} together do "
        f"({p_text(best.joint.p_value)}).",
    )[n]
    if others:
        cannot = "it cannot be told" if len(others) == 1 else "they cannot be told"
        said += f" So do {listed(others)}: with {found.replications} runs {cannot} from the first."
    return said


def _own(found: Explanation) -> str:
    own = [each.joint.p_value for each in found.fits if not each.trial.choices]
    return f"; the file as it is does not ({p_text(own[0])})" if own else ""


def _nothing(found: Explanation) -> str:
    best = found.fits[0]
    tried = f"None of the {len(found.fits)} settings tried" if len(found.fits) > 1 else "The file"
    gives = "gives" if len(found.fits) > 1 else "does not give"
    if not any(each.is_informative for each in found.fits):
        return "The runs scatter so widely that no printed number tests any setting."
    missed = ", ".join(each.id for each in best.missed)
    misses = f"misses {missed}" if missed else "misses no number by itself, but all jointly"
    n = len(found.excluded)
    out = "all are" if n == len(found.fits) else f"{n} of them are"
    return (
        f"{tried} {gives} {all_numbers(found)}; {out} excluded at {100 * LEVEL:.0f} %. The "
        f"nearest, {best.trial.label}, {misses} ({p_text(best.joint.p_value)})."
    )


def all_numbers(found: Explanation) -> str:
    """``all 3 printed numbers``."""
    n = len(found.search.printed)
    return "the printed number" if n == 1 else f"all {n} printed numbers"


def listed(fits: Sequence[Fit]) -> str:
    """Labels of some settings."""
    named = "; ".join(each.trial.label for each in fits[:MOST_NAMED])
    left = len(fits) - MOST_NAMED
    return f"{named}; and {left} more" if left > 0 else named


def p_text(p_value: float) -> str:
    """``p = 0.43``."""
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"


def remarks(found: Explanation) -> Iterator[str]:
    """How it was tested, and what was not tried."""
    printed, groups = found.search.printed, found.search.groups
    numbers, runs = _count(len(printed), "number"), _count(len(groups), "run")
    yield (
        f"Chi-square of {numbers} of {runs}, with the scatter of {found.replications} "
        "replications and what print leaves open; p: the chance that one more run is as far off. "
        "Fits: p is 0.05 or more. Excluded: p is below 0.05 after Holm's correction for "
        f"{len(found.fits)} settings. Unlikely: below 0.05 before it only."
    )
    if any(each.trial.is_preview for each in found.fits):
        yield "A run is shorter than the published one: a preview."
    if not found.pairs_tried and found.search.n_pairs:
        yield f"{found.search.n_pairs} pairs of settings were not tried (--pairs always)."
    if found.search.same:
        yield f"The file's own values: {', '.join(found.search.same)}."
    for each in found.not_run[:MOST_NAMED]:
        yield f"Not run: {each.label}: {each.why}"
    if len(found.not_run) > MOST_NAMED:
        yield f"{len(found.not_run) - MOST_NAMED} more were not run."
    if found.interrupted:
        yield "Interrupted: only what had finished is here."


def to_json(found: Explanation) -> dict[str, Any]:
    """Everything, for programs; p-values and statistics are not rounded."""
    return {
        "answer": answer(found),
        "explained": bool(found.explaining),
        "explaining": [each.trial.label for each in found.explaining],
        "excluded": [each.trial.label for each in found.excluded],
        "settings": [_json(each) for each in found.fits],
        "not_run": [{"setting": each.label, "why": each.why} for each in found.not_run],
        "own_values": list(found.search.same),
        "pairs_tried": found.pairs_tried,
        "replications": found.replications,
        "interrupted": found.interrupted,
    }


def _json(fit: Fit) -> dict[str, Any]:
    return {
        "setting": fit.trial.label,
        "values": {
            each.path: each.value for choice in fit.trial.choices for each in choice.settings
        },
        "outcome": outcome(fit).value,
        "chi_square": fit.joint.statistic,
        "freedom": fit.joint.freedom,
        "p_value": fit.joint.p_value,
        "p_corrected": fit.adjusted,
        "numbers": [
            {
                "claim": each.id,
                "unit": each.unit,
                "printed": each.printed,
                "predicted": each.predicted.value,
                "low": each.predicted.low,
                "high": each.predicted.high,
                "is_missed": each.is_missed,
            }
            for each in fit.numbers
        ],
    }


def _count(n: int, what: str) -> str:
    return f"one {what}" if n == 1 else f"{n} {what}s"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
