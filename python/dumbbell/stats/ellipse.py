"""The covariance ellipse of paired samples, for plots of throughput against latency."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats.errors import Floats, StatsError, sample


@dataclass(frozen=True, slots=True)
class Ellipse:
    """All points within this number of standard deviations of the mean, by the samples' covariance.

    It describes a bivariate normal distribution with the moments of the samples. If the samples are
    not normal, it may include impossible values, such as a throughput above a link's rate.

    Attributes:
        centre: Means (x, y).
        axes: Half-lengths of the longer and the shorter axis, in the units of the samples.
        angle_rad: Angle from the x axis to the longer axis, in (-pi/2, pi/2].
        half_extent: Half of the width and half of the height of the bounding box.
    """

    centre: tuple[float, float]
    axes: tuple[float, float]
    angle_rad: float
    half_extent: tuple[float, float]

    @property
    def x_range(self) -> tuple[float, float]:
        """Leftmost and rightmost x."""
        return self.centre[0] - self.half_extent[0], self.centre[0] + self.half_extent[0]

    @property
    def y_range(self) -> tuple[float, float]:
        """Lowest and highest y."""
        return self.centre[1] - self.half_extent[1], self.centre[1] + self.half_extent[1]

    def outline(self, points: int = 90) -> tuple[Floats, Floats]:
        """Points on the ellipse, closed by the first point; two arrays of shape (points + 1,)."""
        turn = np.linspace(0.0, 2.0 * math.pi, points + 1)
        along, across = self.axes[0] * np.cos(turn), self.axes[1] * np.sin(turn)
        cos, sin = math.cos(self.angle_rad), math.sin(self.angle_rad)
        x = self.centre[0] + along * cos - across * sin
        y = self.centre[1] + along * sin + across * cos
        return x, y


def covariance_ellipse(x: ArrayLike, y: ArrayLike, n_sd: float = 2.0) -> Ellipse:
    """The ellipse of ``n_sd`` standard deviations (Flent's plot ``ellipsis`` draws 2).

    Args:
        x: Samples, shape (n,), n at least 3, all finite.
        y: The paired samples, same shape.
        n_sd: Standard deviations from the centre to the edge.

    Raises:
        StatsError: Too few samples, a value that is not finite, or different shapes.
    """
    xs, ys = sample(x, "x", 3), sample(y, "y", 3)
    if xs.shape != ys.shape:
        raise StatsError(f"x has {xs.size} values and y {ys.size}")
    covariance = np.cov(xs, ys)
    variances, vectors = np.linalg.eigh(covariance)
    lengths = n_sd * np.sqrt(np.maximum(variances, 0.0))
    angle = math.atan2(vectors[1, 1], vectors[0, 1])
    if angle <= -math.pi / 2 or angle > math.pi / 2:
        angle -= math.copysign(math.pi, angle)
    return Ellipse(
        (float(xs.mean()), float(ys.mean())),
        (float(lengths[1]), float(lengths[0])),
        angle,
        (n_sd * math.sqrt(covariance[0, 0]), n_sd * math.sqrt(covariance[1, 1])),
    )
