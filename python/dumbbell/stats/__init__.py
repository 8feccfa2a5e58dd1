"""Statistics of replicated runs: no number without its uncertainty.

A replication is one independent run and gives one number per quantity. Intervals are over
replications (:func:`student_interval`, :func:`ratio_interval`, :func:`quantile_interval`), except
:func:`batch_means` for one long run. A number published once is compared with
:func:`prediction_interval` or :func:`prediction_quantiles`; "equal" is :func:`equivalence` with a
margin; "everywhere" is a :func:`simultaneous_band`. All random numbers have a fixed seed.

Names are loaded when first used: a single run needs few.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# At once: the module has the name of the function.
from dumbbell.stats.equivalence import Equivalence, equivalence

if TYPE_CHECKING:
    from dumbbell.stats.bands import Band, cdf_difference_band, comparison_range, simultaneous_band
    from dumbbell.stats.distribution import (
        CdfCrossings,
        cdf_crossings,
        crossing_interval,
        ecdf,
        ecdf_at,
        histogram_cdf,
        histogram_quantile,
        weighted_quantile,
    )
    from dumbbell.stats.ellipse import Ellipse, covariance_ellipse
    from dumbbell.stats.errors import StatsError
    from dumbbell.stats.estimate import Estimate, IntervalKind
    from dumbbell.stats.goodness import Coverage, GoodnessOfFit, chi_square_fit, coverage
    from dumbbell.stats.groups import Group, TwoGroups, two_groups
    from dumbbell.stats.intervals import (
        batch_means,
        difference_interval,
        lag_one,
        quantile_interval,
        ratio_interval,
        student_interval,
        welch_interval,
    )
    from dumbbell.stats.joint import JointFit, Together, joint_fit, prediction_fit
    from dumbbell.stats.moments import Moments, merge_moments
    from dumbbell.stats.multiplicity import ScoreTest, combined_z, holm, z_score, z_spread
    from dumbbell.stats.prediction import (
        prediction_interval,
        prediction_quantiles,
        replications_for_prediction,
    )
    from dumbbell.stats.significance import geometric_interval, paired_p_value
    from dumbbell.stats.stopping import StoppingPoint, StoppingRule
    from dumbbell.stats.warm_up import WarmUpCut, warm_up_cut

_MODULE_OF = {
    "Band": "bands",
    "CdfCrossings": "distribution",
    "Coverage": "goodness",
    "Ellipse": "ellipse",
    "Estimate": "estimate",
    "GoodnessOfFit": "goodness",
    "Group": "groups",
    "IntervalKind": "estimate",
    "JointFit": "joint",
    "Moments": "moments",
    "ScoreTest": "multiplicity",
    "StatsError": "errors",
    "StoppingPoint": "stopping",
    "StoppingRule": "stopping",
    "Together": "joint",
    "TwoGroups": "groups",
    "WarmUpCut": "warm_up",
    "batch_means": "intervals",
    "cdf_crossings": "distribution",
    "cdf_difference_band": "bands",
    "chi_square_fit": "goodness",
    "combined_z": "multiplicity",
    "comparison_range": "bands",
    "covariance_ellipse": "ellipse",
    "coverage": "goodness",
    "crossing_interval": "distribution",
    "difference_interval": "intervals",
    "ecdf": "distribution",
    "ecdf_at": "distribution",
    "geometric_interval": "significance",
    "histogram_cdf": "distribution",
    "histogram_quantile": "distribution",
    "holm": "multiplicity",
    "joint_fit": "joint",
    "lag_one": "intervals",
    "merge_moments": "moments",
    "paired_p_value": "significance",
    "prediction_fit": "joint",
    "prediction_interval": "prediction",
    "prediction_quantiles": "prediction",
    "quantile_interval": "intervals",
    "ratio_interval": "intervals",
    "replications_for_prediction": "prediction",
    "simultaneous_band": "bands",
    "student_interval": "intervals",
    "two_groups": "groups",
    "warm_up_cut": "warm_up",
    "weighted_quantile": "distribution",
    "welch_interval": "intervals",
    "z_score": "multiplicity",
    "z_spread": "multiplicity",
}

__all__ = [
    "Band",
    "CdfCrossings",
    "Coverage",
    "Ellipse",
    "Equivalence",
    "Estimate",
    "GoodnessOfFit",
    "Group",
    "IntervalKind",
    "JointFit",
    "Moments",
    "ScoreTest",
    "StatsError",
    "StoppingPoint",
    "StoppingRule",
    "Together",
    "TwoGroups",
    "WarmUpCut",
    "batch_means",
    "cdf_crossings",
    "cdf_difference_band",
    "chi_square_fit",
    "combined_z",
    "comparison_range",
    "covariance_ellipse",
    "coverage",
    "crossing_interval",
    "difference_interval",
    "ecdf",
    "ecdf_at",
    "equivalence",
    "geometric_interval",
    "histogram_cdf",
    "histogram_quantile",
    "holm",
    "joint_fit",
    "lag_one",
    "merge_moments",
    "paired_p_value",
    "prediction_fit",
    "prediction_interval",
    "prediction_quantiles",
    "quantile_interval",
    "ratio_interval",
    "replications_for_prediction",
    "simultaneous_band",
    "student_interval",
    "two_groups",
    "warm_up_cut",
    "weighted_quantile",
    "welch_interval",
    "z_score",
    "z_spread",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"dumbbell.stats.{_MODULE_OF[name]}"), name)
