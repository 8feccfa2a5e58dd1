"""Code that runs on a Dask worker: performs batches of tasks; request and reply are text."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import Any

from distributed import Status, Worker, get_worker

from dumbbell.backends import package_version
from dumbbell.compare.executing.identity import code_sha256
from dumbbell.compare.executing.wire import Sender, tasks_from_json
from dumbbell.compare.executing.worker import outcomes

_SHARE_OF_MEMORY = 0.8
"""Share of a worker's memory that runs may use; above it Dask spills, pauses, and at 0.95 kills it.
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """What must be equal on all machines for equal numbers.

    Attributes:
        version: Version of dumbbell.
        code_sha256: Hash of the native module and of the Python code that determines numbers.
    """

    version: str
    code_sha256: str

    def __str__(self) -> str:
        """As part of a sentence."""
        return f"dumbbell {self.version} (code {self.code_sha256[:12]})"


def own_identity() -> Identity:
    """The identity of this process."""
    return Identity(package_version(), code_sha256())


def identity_as_json() -> dict[str, str]:
    """`own_identity` as JSON, to be called on each worker."""
    return asdict(own_identity())


def do_batch(text: str) -> str:
    """Perform a batch of tasks on the calling thread.

    Args:
        text: JSON: tasks, required identity, memory for a task, and whether tables and summaries
            are wanted.

    Returns:
        JSON: outcomes and their time in seconds; if the identity differs, the worker's identity and
            no outcomes.
    """
    asked = json.loads(text)
    own = identity_as_json()
    if asked["identity"] != own:
        return json.dumps({"refused": own})
    worker = get_worker()
    began_s = time.monotonic()
    sender = Sender()
    done = outcomes(
        tasks_from_json(asked),
        memory_bytes=asked["memory_bytes"] or _memory_bytes(worker),
        with_tables=asked["with_tables"],
        with_numbers=asked["with_numbers"],
        cancel=_Released(worker),
    )
    messages: list[Any] = [sender.message(each) for each in done]
    return json.dumps({"outcomes": messages, "took_s": time.monotonic() - began_s})


def _memory_bytes(worker: Worker) -> int | None:
    limit = worker.memory_manager.memory_limit
    return int(_SHARE_OF_MEMORY * limit / worker.state.nthreads) if limit else None


class _Released:
    """Set once the scheduler no longer wants the task: it was cancelled, or its client has gone.

    Dask itself lets a started task run to its end, which may take hours.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._key = worker.get_current_task()

    def is_set(self) -> bool:
        task = self._worker.state.tasks.get(self._key)
        is_leaving = self._worker.status in (Status.closing, Status.closed, Status.failed)
        return is_leaving or task is None or task.state == "cancelled"
