"""How many tasks a worker is given at a time."""

from __future__ import annotations

import math

MOST = 500
_WEIGHT = 0.5
_GROWTH = 4


class BatchSize:
    """Follows how long tasks take, so that a batch takes a given time.

    Handing out a batch costs the same however many tasks are in it; a batch that is long would be
    waited for at the end, and is lost as a whole with its worker.
    """

    def __init__(self, wanted_s: float) -> None:
        """Begin with batches of one.

        Args:
            wanted_s: A batch's time; a task that takes longer is a batch of its own.
        """
        self._wanted_s = wanted_s
        self._mean_s: float | None = None
        self._last = 1

    @property
    def is_short(self) -> bool:
        """Whether tasks take less than a batch should."""
        return self._mean_s is not None and self._mean_s < self._wanted_s

    def took(self, tasks: int, wall_s: float) -> None:
        """A batch has ended."""
        if tasks:
            mean_s = wall_s / tasks
            before_s = mean_s if self._mean_s is None else self._mean_s
            self._mean_s = _WEIGHT * mean_s + (1 - _WEIGHT) * before_s

    def of(self, waiting: int, workers: int) -> int:
        """Tasks of the next batch.

        Args:
            waiting: Tasks that no worker has, at least 1.
            workers: Among which they are shared: towards the end batches are smaller, so that all
                end at about the same time.
        """
        if self._mean_s is None:
            return 1
        by_time = self._wanted_s / max(self._mean_s, 1e-6)
        fair = math.ceil(waiting / (2 * workers))
        self._last = max(1, min(int(by_time), fair, MOST, _GROWTH * self._last))
        return self._last
