"""Means on the kernel, with the simulator as control variate.

A few kernel runs measure a mean badly: at this load it varies by ten per cent from run to run. But
the same replication in the simulator varies with it, and the simulator has thousands of
replications to spare. So the kernel's mean is estimated as

    mean over the pairs of (kernel - simulator)  +  mean over all of the simulator's replications

whose expectation is the kernel's, whatever the simulator does, and whose error is small when the
pairs are alike (Law and Kelton, Simulation Modeling and Analysis, section 11.4, with the
coefficient fixed at 1). The two standard errors are added, as if they were fully correlated, and
Student's quantile has the degrees of freedom of the pairs: both on the safe side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scipy.special import stdtrit

from dumbbell.stats import (
    Estimate,
    IntervalKind,
    difference_interval,
    ratio_interval,
    student_interval,
)
from dumbbell.studies.statistical_multiplexing.ensembles import Floats
from dumbbell.studies.statistical_multiplexing.judging import IdealMeans


def ideal_means(kernel: Mapping[str, Floats], sim: Mapping[str, Floats]) -> IdealMeans:
    """The means on the kernel.

    Args:
        kernel: ``T_SM``, ``T_TDM`` (s), ``N_SM``, ``N_TDM``: a value a replication.
        sim: The same, in the same order, of at least as many replications.
    """
    return IdealMeans(
        _mean(kernel["T_SM"], sim["T_SM"]).scaled(1e3),
        _mean(kernel["T_TDM"], sim["T_TDM"]).scaled(1e3),
        _ratio(kernel, sim, "T"),
        _ratio(kernel, sim, "N"),
    )


def note(pairs: int, controls: int) -> str:
    """How such an estimate was made, to stand beside a verdict."""
    return (
        f"{controls} simulated replications, plus kernel less simulator of the {pairs} that were "
        "run on both (control variates)"
    )


def _mean(kernel: Floats, sim: Floats) -> Estimate:
    difference = difference_interval(kernel, sim[: kernel.size])
    simulated = student_interval(sim)
    value = difference.value + simulated.value
    return _with_error(value, difference.standard_error + simulated.standard_error, difference)


def _ratio(kernel: Mapping[str, Floats], sim: Mapping[str, Floats], quantity: str) -> Estimate:
    """TDM's mean over SM's; the errors of the differences by the delta method."""
    values = {}
    error = 0.0
    for arm in ("TDM", "SM"):
        name = f"{quantity}_{arm}"
        difference = difference_interval(kernel[name], sim[name][: kernel[name].size])
        values[arm] = sim[name] + difference.value
        error += difference.standard_error / float(values[arm].mean())
    ratio = ratio_interval(values["TDM"], values["SM"])
    error = ratio.standard_error + error * ratio.value
    return replace(_with_error(ratio.value, error, difference), kind=IntervalKind.RATIO)


def _with_error(value: float, standard_error: float, like: Estimate) -> Estimate:
    """An interval of so many standard errors as that of an estimate has."""
    reach = standard_error * float(stdtrit(like.n - 1, (1 + like.level) / 2))
    return replace(like, value=value, low=value - reach, high=value + reach, kind=IntervalKind.MEAN)
