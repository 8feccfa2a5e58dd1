"""What a Dask worker does for `dumbbell.compare.executing.dask`: batches of tasks, text to text."""

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
"""Of what Dask lets a worker use before it spills, pauses and, at 0.95, kills it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What must be the same on all machines for the numbers to be the same.

    Attributes:
        version: Of dumbbell.
        code_sha256: Of its native module and of the Python code that makes numbers of runs.
    """

    version: str
    code_sha256: str

    def __str__(self) -> str:
        """For a sentence."""
        return f"dumbbell {self.version} (code {self.code_sha256[:12]})"


def own_identity() -> Identity:
    """Of this process."""
    return Identity(package_version(), code_sha256())


def identity_as_json() -> dict[str, str]:
    """`own_identity`, to be asked of each worker."""
    return asdict(own_identity())


def do_batch(text: str) -> str:
    """Do a batch of tasks on the worker's thread that this is called on.

    Args:
        text: JSON: tasks, the identity that is asked for, how much memory a task may use, and
            whether tables and summaries are to come back.

    Returns:
        JSON: outcomes and the time they took in seconds; or, where the identity is another,
        that identity and no outcomes.
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
    """Set once the scheduler wants the task no more: it was cancelled, or who asked has gone.

    Dask itself lets a task that has begun run to its end, which may be hours away.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._key = worker.get_current_task()

    def is_set(self) -> bool:
        task = self._worker.state.tasks.get(self._key)
        is_leaving = self._worker.status in (Status.closing, Status.closed, Status.failed)
        return is_leaving or task is None or task.state == "cancelled"
