"""The simulator under the kernel's name, for tests of what surrounds a backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dumbbell.backends import Batch, Cost, Job, Outcome
from dumbbell.backends.sim import BACKEND as SIMULATOR


class PretendedKernel:
    """The simulator under the kernel's name, with what only the kernel's runs say of themselves."""

    name = "kernel"
    origin = "kernel"

    def versions(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**SIMULATOR.versions(spec), "kernel": "6.1.0-pretended"}

    def check(self, resolved_json: str) -> Cost:
        return SIMULATOR.check(resolved_json)

    def start(self, jobs: Iterator[Job], *, threads: int, cancel: Any, memory: Any) -> Batch:
        return _WithMeta(SIMULATOR.start(jobs, threads=threads, cancel=cancel, memory=memory))


class _WithMeta:
    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def poll(self, timeout_s: float) -> Outcome | None:
        done = self._batch.poll(timeout_s)
        if done is None:
            return None
        return replace(done, meta={"longest_lateness_ns": 512, "unknown_queues": []})

    @property
    def done(self) -> bool:
        return self._batch.done

    def progress(self) -> Any:
        return self._batch.progress()


BACKEND = PretendedKernel()
