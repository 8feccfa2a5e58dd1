"""Number of tasks per batch."""

from __future__ import annotations

import math

MOST = 500
_WEIGHT = 0.5
_GROWTH = 4


class BatchSize:
    """Adapts the batch size to measured task times, so that each batch takes a given time.

    Sending a batch has a fixed cost. But long batches delay the end, and a worker that dies loses
    its whole batch.
    """

    def __init__(self, wanted_s: float) -> None:
        """Start with batches of one task.

        Args:
            wanted_s: Target time of a batch; a longer task is a batch by itself.
        """
        self._wanted_s = wanted_s
        self._mean_s: float | None = None
        self._last = 1

    @property
    def is_short(self) -> bool:
        """Whether tasks are shorter than the target."""
        return self._mean_s is not None and self._mean_s < self._wanted_s

    def took(self, tasks: int, wall_s: float) -> None:
        """Record that a batch has ended."""
        if tasks:
            mean_s = wall_s / tasks
            before_s = mean_s if self._mean_s is None else self._mean_s
            self._mean_s = _WEIGHT * mean_s + (1 - _WEIGHT) * before_s

    def of(self, waiting: int, workers: int) -> int:
        """Number of tasks for the next batch.

        Args:
            waiting: Number of unassigned tasks, at least 1.
            workers: Number of workers that share them: near the end batches get smaller, so that
                all workers end at about the same time.
        """
        if self._mean_s is None:
            return 1
        by_time = self._wanted_s / max(self._mean_s, 1e-6)
        fair = math.ceil(waiting / (2 * workers))
        self._last = max(1, min(int(by_time), fair, MOST, _GROWTH * self._last))
        return self._last
