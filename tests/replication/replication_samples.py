"""Small comparisons that run in milliseconds, and a backend that fails on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell import metrics
from dumbbell.backends import BatchProgress, Cancel, Cost, Job, MemoryLimit, Outcome
from dumbbell.spec import Experiment
from dumbbell.tables import Run

LONG = "16000000s"  # minutes of work


def queue(
    rate: str = "1mbit", duration: str = "30s", pps: float = 150, name: str = "stream"
) -> Any:
    return Experiment.read(
        {
            "duration": duration,
            "links": [{"a": "a", "b": "b", "forward": {"rate": rate}}],
            "flows": [
                {
                    "name": name,
                    "from": "a",
                    "to": "b",
                    "source": {"kind": "poisson", "rate": f"{pps}pps", "size": "exponential 512B"},
                }
            ],
        }
    )


def two_arms() -> dict[str, Experiment]:
    return {"fast": queue("2mbit"), "slow": queue("1mbit")}


def sojourn(run: Run) -> float:
    return metrics.mean_sojourn_s(run, 0)


class NumberingBackend:
    """Gives runs without tables; fails at the (replication, place in the batch) it is told."""

    name = "numbering"
    origin = "kernel"

    def __init__(self, fails_at: set[int]) -> None:
        self.fails_at = fails_at
        self.started: list[int] = []

    def versions(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        return {}

    def check(self, resolved_json: str) -> Cost:
        return Cost(1, 1, 1.0)

    def start(
        self, jobs: Iterator[Job], *, threads: int, cancel: Cancel, memory: MemoryLimit
    ) -> _Batch:
        # Last first: the order of completion must not matter.
        listed = list(enumerate(jobs))[::-1]
        self.started += [job.replication for _, job in listed]
        return _Batch(listed, self.fails_at)


class _Batch:
    def __init__(self, jobs: list[tuple[int, Job]], fails_at: set[int]) -> None:
        self._jobs = jobs
        self._fails_at = fails_at

    def poll(self, timeout_s: float) -> Outcome:
        index, job = self._jobs.pop(0)
        failed = job.replication in self._fails_at
        return Outcome(index, {}, 0, "", error="out of luck" if failed else None)

    @property
    def done(self) -> bool:
        return not self._jobs

    def progress(self) -> BatchProgress:
        return BatchProgress(0, 0, 0, 0.0, 0)
