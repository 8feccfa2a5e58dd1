"""Claims and verdicts: what a careful reader may conclude from a measurement.

A :class:`Claim` is a sentence somebody published or that theory implies, together with the rule
by which it will be judged, written before anything is run. One judge function per kind of claim
applies that rule to an interval and returns a :class:`Judged`. :func:`contradicted` decides the
exit status of a whole study: does any theory claim fail, beyond a familywise error?
"""

from dumbbell.claims.contradiction import FAMILYWISE_ERROR, contradicted, contradicting
from dumbbell.claims.grid import GridPoint, judge_free_parameters
from dumbbell.claims.judge import (
    judge_hardly_matters,
    judge_ordering,
    judge_published_number,
    judge_stated,
    judge_supremum,
    judge_theory_equals,
    not_testable,
)
from dumbbell.claims.model import Claim, Judged, Verdict
from dumbbell.claims.quantities import percentile_range, share_better
from dumbbell.claims.rows import from_rows, read_claims, to_json_text, to_rows
from dumbbell.claims.rules import (
    HARDLY_MATTERS_MARGIN,
    UNINFORMATIVE_HALF_WIDTH,
    Kind,
    rule_text,
)

__all__ = [
    "FAMILYWISE_ERROR",
    "HARDLY_MATTERS_MARGIN",
    "UNINFORMATIVE_HALF_WIDTH",
    "Claim",
    "GridPoint",
    "Judged",
    "Kind",
    "Verdict",
    "contradicted",
    "contradicting",
    "from_rows",
    "judge_free_parameters",
    "judge_hardly_matters",
    "judge_ordering",
    "judge_published_number",
    "judge_stated",
    "judge_supremum",
    "judge_theory_equals",
    "not_testable",
    "percentile_range",
    "read_claims",
    "rule_text",
    "share_better",
    "to_json_text",
    "to_rows",
]
