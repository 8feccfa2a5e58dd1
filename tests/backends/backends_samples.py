"""Experiments to run, and a backend with controllable behaviour."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dumbbell.backends import BatchProgress, Cancel, Cost, Job, MemoryLimit, Outcome
from dumbbell.spec import Experiment


def one_queue(duration: str = "20s", seed: int = 1, pps: float = 220.0, **more: Any) -> Experiment:
    return Experiment.read(
        {
            "name": "one-queue",
            "duration": duration,
            "seed": seed,
            "links": [{"a": "a", "b": "b", "forward": {"rate": "1mbit"}}],
            "flows": [
                {
                    "name": "stream",
                    "from": "a",
                    "to": "b",
                    "source": {"kind": "poisson", "rate": f"{pps}pps", "size": "exponential 512B"},
                }
            ],
            **more,
        }
    )


class ScriptedBackend:
    """Runs nothing: gives what ``answer`` says for each job."""

    name = "scripted"
    origin = "kernel"

    def __init__(self, answer: Callable[[int, Job], Outcome], cost: Cost | None = None) -> None:
        self.answer = answer
        self.cost = cost or Cost(1, 1, 1.0)
        self.threads = 0

    def versions(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"scripted": "7"}

    def check(self, resolved_json: str) -> Cost:
        return self.cost

    def start(
        self, jobs: Iterator[Job], *, threads: int, cancel: Cancel, memory: MemoryLimit
    ) -> ScriptedBatch:
        self.threads = threads
        return ScriptedBatch(jobs, self.answer, cancel)


class ScriptedBatch:
    def __init__(
        self, jobs: Iterator[Job], answer: Callable[[int, Job], Outcome], cancel: Cancel
    ) -> None:
        self._jobs = jobs
        self._answer = answer
        self._cancel = cancel
        self._index = 0
        self._exhausted = False

    def poll(self, timeout_s: float) -> Outcome | None:
        job = next(self._jobs, None)
        if job is None:
            self._exhausted = True
            return None
        self._index += 1
        return self._answer(self._index - 1, job)

    @property
    def done(self) -> bool:
        return self._exhausted or self._cancel.is_set()

    def progress(self) -> BatchProgress:
        return BatchProgress(self._index, self._index, 0, 0.0, 0)


def succeeds(index: int, job: Job) -> Outcome:
    return Outcome(index, {}, 3, "ab")


def fails_at(*indices: int) -> Callable[[int, Job], Outcome]:
    def answer(index: int, job: Job) -> Outcome:
        if index in indices:
            return Outcome(index, {}, 0, "", error="the wheel fell off")
        return succeeds(index, job)

    return answer
