"""Claims and verdicts: what a measurement supports.

A :class:`Claim` is a sentence somebody published or that theory implies, together with the rule
(:mod:`dumbbell.claims.rules`) by which it will be judged, written before anything is run.
:func:`judge` applies the rule to evidence (:mod:`dumbbell.claims.evidence`) and returns a
:class:`Judged`; only this function can make one. A study exits with status 1 if
:func:`contradicted` (a theory claim fails beyond the familywise error) or :func:`failed_checks` (an
identity that holds by construction is violated) says so.
"""

from dumbbell.claims.contradiction import (
    FAMILYWISE_ERROR,
    contradicted,
    contradicting,
    failed_checks,
)
from dumbbell.claims.decision import (
    Decision,
    Identified,
    MeasuredInterval,
    MissedLevel,
    VerdictRegion,
)
from dumbbell.claims.evidence import (
    Curves,
    Ensemble,
    Fitted,
    Grid,
    GridPoint,
    Levels,
    Pairing,
    Ratio,
    Runs,
    Setting,
    Sides,
)
from dumbbell.claims.facts import Count, Fact, counts_of, facts_of, strongest
from dumbbell.claims.glyphs import Glyph, Origin, Side, Stated
from dumbbell.claims.model import Amendment, Claim, Family, Judged, judge, not_testable
from dumbbell.claims.printed import (
    Account,
    Accounts,
    Arm,
    Cost,
    NumberClaim,
    PrintedNumber,
    PrintedNumbers,
    State,
    TriedArm,
    state_of,
)
from dumbbell.claims.quantities import percentile_range, relative_spread, share_better
from dumbbell.claims.rows import ClaimsFileError, from_json, read_claims, to_json_text, to_rows
from dumbbell.claims.verdicts import Verdict
from dumbbell.claims.view import ClaimView, setting_words, view_of, views_of

__all__ = [
    "FAMILYWISE_ERROR",
    "Account",
    "Accounts",
    "Amendment",
    "Arm",
    "Claim",
    "ClaimView",
    "ClaimsFileError",
    "Cost",
    "Count",
    "Curves",
    "Decision",
    "Ensemble",
    "Fact",
    "Family",
    "Fitted",
    "Glyph",
    "Grid",
    "GridPoint",
    "Identified",
    "Judged",
    "Levels",
    "MeasuredInterval",
    "MissedLevel",
    "NumberClaim",
    "Origin",
    "Pairing",
    "PrintedNumber",
    "PrintedNumbers",
    "Ratio",
    "Runs",
    "Setting",
    "Side",
    "Sides",
    "State",
    "Stated",
    "TriedArm",
    "Verdict",
    "VerdictRegion",
    "contradicted",
    "contradicting",
    "counts_of",
    "facts_of",
    "failed_checks",
    "from_json",
    "judge",
    "not_testable",
    "percentile_range",
    "read_claims",
    "relative_spread",
    "setting_words",
    "share_better",
    "state_of",
    "strongest",
    "to_json_text",
    "to_rows",
    "view_of",
    "views_of",
]
