"""Helpers for tests of rules: a claim, its verdict, and runs with a known spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from dumbbell.claims import Claim, Runs, Verdict, judge
from dumbbell.claims.rules import Rule

YES, NO, MAYBE = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.INCONCLUSIVE


def claim(rule: Rule[Any], **changes: Any) -> Claim[Any]:
    return Claim(id="c", statement="s", source="t", rule=rule, **changes)


def verdict(rule: Rule[Any], evidence: Any) -> Verdict:
    return judge(claim(rule), evidence).verdict


def runs(centre: float, sd: float, n: int) -> Runs:
    """Runs with exactly that mean and standard deviation."""
    x = np.linspace(-1, 1, n)
    return Runs(centre + sd * x / x.std(ddof=1))
