"""The rules, one file each: decision, wording and drawing.

=====================  =============================================================
rule                   takes
=====================  =============================================================
`Equals`               `Runs`, `Ratio`, `Sides` or a finished `Estimate`
`Published`            `Runs` of the published length, sampling and start
`PublishedInEnsemble`  `Ensemble`
`Agreement`            `Sides`
`Ordering`             `Curves`
`Equivalent`           `Runs` (of differences), `Ratio`, `Sides`, `Estimate`, `Curves`
`Share`, `Spread`      `Runs`, `Ratio`, `Estimate`
`Supremum`             `Runs` (exact maxima)
`Direction`            `Grid` of what the inner rule takes
`Explained`            `Grid` of `Levels`
`Preview`              what the full run's rule takes
`Calibration`          `Fitted`
`Check`                `Runs`
=====================  =============================================================
"""

from dumbbell.claims.rules.agreement import Agreement
from dumbbell.claims.rules.base import CountedAs, Rule, RuleName
from dumbbell.claims.rules.calibration import Calibration
from dumbbell.claims.rules.check import Check
from dumbbell.claims.rules.direction import Direction
from dumbbell.claims.rules.ensemble import PublishedInEnsemble
from dumbbell.claims.rules.equals import Equals
from dumbbell.claims.rules.equivalent import Equivalent
from dumbbell.claims.rules.explained import Explained, Joint, Level
from dumbbell.claims.rules.ordering import Ordering
from dumbbell.claims.rules.prediction import Law
from dumbbell.claims.rules.preview import Preview, Shortfall
from dumbbell.claims.rules.published import Published
from dumbbell.claims.rules.share import Share
from dumbbell.claims.rules.spread import Spread
from dumbbell.claims.rules.supremum import Supremum

__all__ = [
    "Agreement",
    "Calibration",
    "Check",
    "CountedAs",
    "Direction",
    "Equals",
    "Equivalent",
    "Explained",
    "Joint",
    "Law",
    "Level",
    "Ordering",
    "Preview",
    "Published",
    "PublishedInEnsemble",
    "Rule",
    "RuleName",
    "Share",
    "Shortfall",
    "Spread",
    "Supremum",
]
