"""An executor with worker processes on this machine, each with its own Python.

The engine runs without Python and scales over threads. But summaries (`summary_of`) and reading a
guest's files are Python code, of which a process runs one thread at a time.

A worker is a new process, never a fork, and runs its own program, so scripts and notebooks need no
``if __name__ == "__main__"``. It ends with this process, even if this is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import IO

from dumbbell.backends import Cancellation
from dumbbell.compare.executing.batch_size import BatchSize
from dumbbell.compare.executing.executor import FailedTask, FinishedTask, Task, TellDone
from dumbbell.compare.executing.threads import Threads
from dumbbell.compare.executing.wire import Json, Receiver, tasks_as_json
from dumbbell.compare.executing.worker_process import STOPS_WITHIN_S
from dumbbell.errors import RunError

_POLL_S = 0.1
_DRAIN_S = 0.9
_MOST_ATTEMPTS = 2
_MOST_FALSE_STARTS = 3
_BATCH_S = 0.3
_LONGEST_WORDS = 300
_CODE = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from dumbbell.compare.executing import worker_process; worker_process.main()"
)


class Processes:
    """Worker processes, started for each `run` and ended after it."""

    def __init__(self, jobs: int = 0, memory_bytes: int | None = None) -> None:
        """Configure it.

        Args:
            jobs: Processes; 0 for one per core.
            memory_bytes: Memory that all runs may use together; None for the available memory.
        """
        self._jobs = jobs
        self._memory_bytes = memory_bytes

    def check(self, task: Task) -> None:
        """See `Executor`."""
        Threads(self._jobs, self._memory_bytes).check(task)

    def run(
        self,
        tasks: Sequence[Task],
        *,
        cancel: Cancellation | None = None,
        on_progress: TellDone | None = None,
    ) -> Iterator[FinishedTask | FailedTask]:
        """See `Executor`.

        If a worker dies, another one retries its task; if that dies too, the task has failed.

        Raises:
            RunError: No worker can be started.
        """
        if not tasks:
            return
        side_by_side = Threads(self._jobs, self._memory_bytes).side_by_side(tasks)
        pool = _Pool(tasks, min(side_by_side, len(tasks)), self._memory_bytes)
        try:
            while not pool.is_done:
                if cancel is not None and cancel.is_set():
                    yield from pool.stopped()
                    return
                yield from pool.some(_POLL_S)
                if on_progress is not None:
                    on_progress(pool.done)
        except KeyboardInterrupt:
            yield from pool.stopped()
            raise
        finally:
            pool.close()


class _Pool:
    """Workers and the remaining tasks."""

    def __init__(self, tasks: Sequence[Task], most: int, memory_bytes: int | None) -> None:
        self._tasks = tasks
        self._most = most
        self._memory_bytes = None if memory_bytes is None else memory_bytes // most
        self._waiting = deque(range(len(tasks)))
        self._suspects: deque[int] = deque()
        self._attempts: dict[int, int] = {}
        self._size = BatchSize(_BATCH_S)
        self._workers: list[_Worker] = []
        self._heard: queue.SimpleQueue[tuple[_Worker, Json | None]] = queue.SimpleQueue()
        self._false_starts = 0
        self._ended = 0

    @property
    def is_done(self) -> bool:
        return self._ended == len(self._tasks)

    @property
    def done(self) -> float:
        """Number of finished tasks, including fractions of running ones."""
        return self._ended + sum(worker.share for worker in self._workers)

    def some(self, timeout_s: float) -> Iterator[FinishedTask | FailedTask]:
        """Outcomes that arrive within a timeout."""
        self._give_work()
        try:
            worker, message = self._heard.get(timeout=timeout_s)
        except queue.Empty:
            return
        yield from self._take(worker, message)

    def stopped(self) -> Iterator[FinishedTask | FailedTask]:
        """Stop all workers; returns the outcomes that had arrived."""
        self._waiting.clear()
        self._suspects.clear()
        for worker in self._workers:
            worker.stop()
        until_s = time.monotonic() + _DRAIN_S
        while self._workers and (left_s := until_s - time.monotonic()) > 0:
            try:
                worker, message = self._heard.get(timeout=left_s)
            except queue.Empty:
                return
            if message is None:
                self._workers.remove(worker)
                worker.end()
            elif "index" in message:
                yield worker.taken(message)

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.stop()
        while self._workers:
            self._workers.pop().end()

    def _give_work(self) -> None:
        left = len(self._waiting) + len(self._suspects)
        while len(self._workers) < min(self._most, len(self._workers) + left):
            try:
                self._workers.append(_Worker(self._heard))
            except OSError as error:
                raise RunError(f"no worker process can be started: {error}") from None
        # Short tasks are sent before the worker asks, to hide the latency of its answer.
        for in_hand in range(2 if self._size.is_short else 1):
            for worker in self._workers:
                if len(worker.batches) <= in_hand and (batch := self._next_batch()):
                    worker.give(batch, self._tasks, self._memory_bytes)

    def _next_batch(self) -> list[int]:
        if self._suspects:
            return [self._suspects.popleft()]
        if not self._waiting:
            return []
        size = self._size.of(len(self._waiting), self._most)
        return [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]

    def _take(self, worker: _Worker, message: Json | None) -> Iterator[FinishedTask | FailedTask]:
        if message is None:
            yield from self._lost(worker)
        elif "index" in message:
            self._ended += 1
            yield worker.taken(message)
        elif "took_s" in message:
            self._size.took(worker.next_batch(), message["took_s"])
        elif "done" in message:
            worker.share = max(0.0, message["done"] - worker.reported)
        else:
            worker.is_ready = True
            self._false_starts = 0

    def _lost(self, worker: _Worker) -> Iterator[FailedTask]:
        self._workers.remove(worker)
        why = worker.last_words()
        under_way, *others = worker.batches or [[]]
        if not worker.is_ready:
            self._false_starts += 1
            if self._false_starts >= _MOST_FALSE_STARTS:
                raise RunError(f"no worker process can be started: the last one ended {why}")
            others, under_way = [under_way, *others], []
        for index in under_way:
            # Give each of them a worker of its own to find the one that fails.
            self._attempts[index] = self._attempts.get(index, 0) + 1
            if self._attempts[index] < _MOST_ATTEMPTS:
                self._suspects.append(index)
                continue
            self._ended += 1
            yield FailedTask(
                index, RunError(f"the process that ran it ended {why}, and so did the one before")
            )
        for batch in reversed(others):
            self._waiting.extendleft(reversed(batch))


class _Worker:
    """A worker process, and the thread that reads its output."""

    def __init__(self, heard: queue.SimpleQueue[tuple[_Worker, Json | None]]) -> None:
        self.batches: deque[list[int]] = deque()
        """Batches assigned to it; of the first, which is running, the tasks that have not ended."""
        self.reported = 0
        self.share = 0.0
        self.is_ready = False
        self._receiver = Receiver()
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            # Ctrl-C of the terminal goes to the parent, which decides what to do.
            process_group=0,
            env={**os.environ, "PYTHONUTF8": "1"},
        )
        threading.Thread(target=self._listen, args=(heard,), daemon=True).start()

    def give(self, batch: list[int], tasks: Sequence[Task], memory_bytes: int | None) -> None:
        """Append tasks to its queue."""
        self.batches.append(list(batch))
        message = {
            **tasks_as_json(tasks[index] for index in batch),
            "places": batch,
            "memory_bytes": memory_bytes,
        }
        assert self._process.stdin is not None
        # The reading thread notices that it has died.
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def taken(self, message: Json) -> FinishedTask | FailedTask:
        """The outcome of one of its tasks."""
        self.batches[0].remove(message["index"])
        self.reported += 1
        self.share = 0.0
        return self._receiver.outcome(message)

    def next_batch(self) -> int:
        """Move on to the next batch; returns the number of tasks of the last one."""
        self.batches.popleft()
        ended, self.reported, self.share = self.reported, 0, 0.0
        return ended

    def stop(self) -> None:
        """Ask it to end."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def end(self) -> None:
        """Wait for its end, up to a limit, then kill it."""
        try:
            self._process.wait(timeout=STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def last_words(self) -> str:
        """How it ended and its last output, as part of a sentence."""
        self.stop()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=STOPS_WITHIN_S)
        status = self._process.returncode
        how = f"with status {status}"
        if status is not None and status < 0:
            how = f"by {signal.Signals(-status).name}"
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", errors="replace").strip().splitlines()
        self.end()
        return f"{how} ({lines[-1].strip()[:_LONGEST_WORDS]})" if lines else how

    def _listen(self, heard: queue.SimpleQueue[tuple[_Worker, Json | None]]) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers, contextlib.suppress(ValueError):
            for line in answers:
                heard.put((self, json.loads(line)))
        heard.put((self, None))
