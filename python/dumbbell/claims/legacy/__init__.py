"""Claims as they were before the rules became types; goes when the last study is converted."""

from dumbbell.claims.legacy.grid import GridPoint, judge_free_parameters
from dumbbell.claims.legacy.judge import (
    judge_hardly_matters,
    judge_ordering,
    judge_published_number,
    judge_stated,
    judge_supremum,
    judge_theory_equals,
    not_testable,
)
from dumbbell.claims.legacy.model import Claim, Judged
from dumbbell.claims.legacy.rules import (
    HARDLY_MATTERS_MARGIN,
    UNINFORMATIVE_HALF_WIDTH,
    Kind,
    rule_text,
)
from dumbbell.claims.verdicts import Verdict

__all__ = [
    "HARDLY_MATTERS_MARGIN",
    "UNINFORMATIVE_HALF_WIDTH",
    "Claim",
    "GridPoint",
    "Judged",
    "Kind",
    "Verdict",
    "judge_free_parameters",
    "judge_hardly_matters",
    "judge_ordering",
    "judge_published_number",
    "judge_stated",
    "judge_supremum",
    "judge_theory_equals",
    "not_testable",
    "rule_text",
]
