"""Means on the kernel, with the simulator as control variate.

Few kernel runs give an imprecise mean: at this load it varies by ten per cent from run to run. The
same replication in the simulator is strongly correlated with it, and the simulator can run
thousands of replications. The kernel's mean is therefore estimated as

    mean over the pairs of (kernel - simulator)  +  mean over all of the simulator's replications

Its expectation is the kernel's mean, whatever the simulator does, and its error is small if the
pairs are strongly correlated (Law and Kelton, Simulation Modeling and Analysis, section 11.4, with
the coefficient fixed at 1). The two standard errors are added as if fully correlated, and Student's
quantile has the degrees of freedom of the pairs: both choices are conservative.
"""

from __future__ import annotations

from dataclasses import replace

from scipy.special import stdtrit

from dumbbell.stats import (
    Estimate,
    IntervalKind,
    difference_interval,
    ratio_interval,
    student_interval,
)
from dumbbell.studies.statistical_multiplexing.claims import IdealMeans
from dumbbell.studies.statistical_multiplexing.measures import Floats, Ideal


def ideal_means(kernel: Ideal, sim: Ideal) -> IdealMeans:
    """Return the means on the kernel.

    Args:
        kernel: Replications on the kernel.
        sim: The same replications in the simulator, and further ones.
    """
    return IdealMeans(
        _mean(kernel, sim, "SM").scaled(1e3),
        _mean(kernel, sim, "TDM").scaled(1e3),
        _ratio(kernel, sim, "sojourn_s"),
        _ratio(kernel, sim, "queue_pkts"),
    )


def gain(kernel: Ideal, sim: Ideal) -> Estimate:
    """Return the mean time in the system of TDM over that of SM, on the kernel."""
    return _ratio(kernel, sim, "sojourn_s")


def note(pairs: int, controls: int) -> str:
    """Return a remark on the method of such an estimate, shown beside a verdict."""
    return (
        f"{controls} simulated replications, plus kernel less simulator of the {pairs} that were "
        "run on both (control variates)"
    )


def _pair(kernel: Ideal, sim: Ideal, arm: str, quantity: str) -> tuple[Estimate, Floats]:
    """Return kernel minus simulator over common replications, and all of the simulator's values."""
    measured, simulated = kernel.values(arm, quantity), sim.values(arm, quantity)
    return difference_interval(measured, simulated[: measured.size]), simulated


def _mean(kernel: Ideal, sim: Ideal, arm: str) -> Estimate:
    difference, values = _pair(kernel, sim, arm, "sojourn_s")
    simulated = student_interval(values)
    value = difference.value + simulated.value
    return _with_error(value, difference.standard_error + simulated.standard_error, difference)


def _ratio(kernel: Ideal, sim: Ideal, quantity: str) -> Estimate:
    """Return TDM's mean over SM's; the errors of the differences by the delta method."""
    (above, tdm), (below, sm) = (_pair(kernel, sim, arm, quantity) for arm in ("TDM", "SM"))
    tdm, sm = tdm + above.value, sm + below.value
    ratio = ratio_interval(tdm, sm)
    relative = above.standard_error / float(tdm.mean()) + below.standard_error / float(sm.mean())
    error = ratio.standard_error + relative * ratio.value
    return replace(_with_error(ratio.value, error, above), kind=IntervalKind.RATIO)


def _with_error(value: float, standard_error: float, like: Estimate) -> Estimate:
    """Return an interval of the given standard error, of the same kind as that of an estimate."""
    reach = standard_error * float(stdtrit(like.n - 1, (1 + like.level) / 2))
    return replace(like, value=value, low=value - reach, high=value + reach, kind=IntervalKind.MEAN)
