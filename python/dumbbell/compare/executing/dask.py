"""An executor for Dask: processes of this machine, or workers of a scheduler on any machines.

Needs the extra ``cluster``. Workers need only dumbbell, of the same version and with the same code;
others are refused, since their numbers might differ. Descriptions and numbers are exchanged by
value, as JSON: `dumbbell.compare.executing.wire`.

The scheduler gets just enough batches to keep all workers busy: even with a hundred thousand short
runs it holds only a few dozen Dask tasks.
"""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from dumbbell.backends import Cancellation, get_backend
from dumbbell.backends.guard import threads_that_fit, usable_threads
from dumbbell.compare.executing.batch_size import BatchSize
from dumbbell.compare.executing.dask_address import NoSchedulerError, check_scheduler
from dumbbell.compare.executing.dask_local import local_scheduler
from dumbbell.compare.executing.executor import FailedTask, FinishedTask, Task, TellDone
from dumbbell.compare.executing.wire import Receiver, tasks_as_json
from dumbbell.errors import EXIT_BAD_INPUT, DumbbellError, MissingExtraError, RunError, SpecError

if TYPE_CHECKING:
    from distributed import Client, Future

LOCAL = "local"
PATIENCE_S = 300.0
"""How long to wait without any worker: a cluster starts jobs when it has room for them."""
CONNECT_S = 10.0
_BACKENDS = ("sim",)
_BATCH_S = 0.5
_IN_FLIGHT = 3
"""Batches per thread: one running, one waiting on the worker, one in transit."""
_LOOK_S = 2.0
_POLL_S = 0.1
_GET_S = 0.5
_LEAVE_S = 1.0


class ClusterError(DumbbellError):
    """The cluster cannot be used, or has become unusable."""


class WorkerRefusedError(ClusterError):
    """A worker that would return different numbers, or none."""

    exit_code = EXIT_BAD_INPUT


def check_backend(name: str) -> None:
    """Check that workers can run a backend.

    Raises:
        SpecError: They cannot.
    """
    if name not in _BACKENDS:
        allowed = f"{', '.join(_BACKENDS)} on a cluster: its workers hold no kernel"
        raise SpecError("--backend", name, allowed)


class Dask:
    """Runs tasks on the workers of a Dask scheduler; use it in a ``with`` statement."""

    def __init__(
        self,
        address: str = LOCAL,
        *,
        jobs: int = 0,
        memory_bytes: int | None = None,
        with_tables: bool = False,
        with_numbers: bool = True,
        patience_s: float = PATIENCE_S,
        connect_s: float | None = None,
    ) -> None:
        """Configure it; connects to nothing yet.

        Args:
            address: Address of a scheduler (``tcp://host:8786``, ``tls://host:8786``), or `LOCAL`
                for processes of this machine.
            jobs: For `LOCAL`: number of processes; 0 for one per core.
            memory_bytes: For `LOCAL`: memory for all runs together; otherwise for one run. None for
                what Dask lets a worker use.
            with_tables: Whether runs' tables are returned as `FinishedTask.run`; captures are not.
            with_numbers: Whether workers compute summaries; otherwise these are empty.
            patience_s: How long to wait without any worker, s.
            connect_s: Time in which a scheduler must answer, s; None for `CONNECT_S`.

        Raises:
            MissingExtraError: Dask is not installed.
        """
        try:
            import distributed  # noqa: F401 - said here rather than after minutes
        except ImportError as error:
            raise MissingExtraError("--cluster", "cluster") from error
        self._address = address
        self._processes = usable_threads(jobs)
        self._memory_bytes = memory_bytes
        self._wanted = {"with_tables": with_tables, "with_numbers": with_numbers}
        self._patience_s = patience_s
        self._connect_s = CONNECT_S if connect_s is None else connect_s
        self._open = contextlib.ExitStack()
        self._client: Client | None = None

    def __enter__(self) -> Self:
        """Connect.

        Raises:
            SpecError: The address is not valid, or no scheduler answers there.
        """
        try:
            self._client = self._connected()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect from the scheduler, or end the processes that were started here."""
        self._client = None
        self._open.close()

    def check(self, task: Task) -> None:
        """See `Executor`. Only the workers know whether their memory suffices."""
        check_backend(task.backend)
        cost = get_backend(task.backend).check(task.description)
        duration = f"{json.loads(task.description)['duration_ns'] / 1e9:g}s"
        threads_that_fit(cost, 1, duration, available=None)

    def run(
        self,
        tasks: Sequence[Task],
        *,
        cancel: Cancellation | None = None,
        on_progress: TellDone | None = None,
    ) -> Iterator[FinishedTask | FailedTask]:
        """See `Executor`.

        If a worker dies, other workers take over its tasks. A task fails if more workers die on it
        than the scheduler allows (``distributed.scheduler.allowed-failures``, 3).

        Raises:
            ClusterError: The scheduler has gone, or there is no worker.
            WorkerRefusedError: A worker has a different dumbbell, or none.
        """
        if self._client is None:
            raise DumbbellError("Dask(...) is used in a with statement: with Dask(...) as executor")
        asked = {"memory_bytes": self._memory_of_a_run(), **self._wanted}
        sending = _Sending(self._client, tasks, asked)
        workers = _Workers(self._client, self._patience_s)
        try:
            while not sending.is_done:
                if cancel is not None and cancel.is_set():
                    yield from sending.finished()
                    return
                sending.fill(workers.threads())
                yield from sending.some(_POLL_S)
                if on_progress is not None:
                    on_progress(sending.ended)
        except KeyboardInterrupt:
            yield from sending.finished()
            raise
        finally:
            sending.give_up()

    def _memory_of_a_run(self) -> int | None:
        if self._address != LOCAL or self._memory_bytes is None:
            return self._memory_bytes
        return self._memory_bytes // self._processes

    def _connected(self) -> Client:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port

        self._open.enter_context(_quiet())
        address = self._address
        if address == LOCAL:
            address = self._open.enter_context(local_scheduler(self._processes))
        allowed = f"{LOCAL}, or the address of a Dask scheduler that runs, as tcp://host:8786"
        try:
            # A client for a malformed address would be left half constructed.
            get_address_host_port(address)
            check_scheduler(address, self._connect_s)
            client = Client(address, timeout=self._connect_s, set_as_default=False)
        except ValueError as error:
            raise SpecError("--cluster", address, allowed, reason=str(error)) from None
        except NoSchedulerError as error:
            because = f"no Dask scheduler answers there: {error}"
            raise SpecError("--cluster", address, allowed, reason=because) from None
        except (OSError, TypeError, RuntimeError, ImportError) as error:
            because = f"no scheduler answers there ({error})"
            raise SpecError("--cluster", address, allowed, reason=because) from None
        self._open.callback(_leave, client)
        return client


def _leave(client: Client) -> None:
    with contextlib.suppress(TimeoutError):
        client.close(timeout=_LEAVE_S)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's log of lost connections; we report them in one sentence."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


class _Workers:
    """The scheduler's workers, and whether they can be used."""

    def __init__(self, client: Client, patience_s: float) -> None:
        self._client = client
        self._patience_s = patience_s
        self._known: frozenset[str] = frozenset()
        self._threads = 0
        self._looked_s = self._seen_s = time.monotonic()

    def threads(self) -> int:
        """Number of threads of all workers; refreshed every few seconds.

        Raises:
            ClusterError: There has been no worker for too long, or the scheduler has gone.
            WorkerRefusedError: A worker cannot be used.
        """
        now_s = time.monotonic()
        if self._threads and now_s - self._looked_s < _LOOK_S:
            return self._threads
        self._looked_s = now_s
        with _scheduler_of(self._client):
            there: Mapping[str, int] = self._client.nthreads()
        new = there.keys() - self._known
        if new:
            self._check(sorted(new))
        self._known = frozenset(there)
        self._threads = sum(there.values())
        if self._threads:
            self._seen_s = now_s
        elif now_s - self._seen_s > self._patience_s:
            where = _address(self._client)
            raise ClusterError(
                f"the scheduler at {where} has had no worker for {self._patience_s:.0f} s: start "
                f"some with 'dask worker {where}'"
            )
        return self._threads

    def _check(self, new: Sequence[str]) -> None:
        from dumbbell.compare.executing.on_dask_worker import identity_as_json

        with _scheduler_of(self._client):
            found = self._client.run(identity_as_json, workers=list(new), on_error="return")
        for address, said in found.items():
            if isinstance(said, OSError):
                continue  # the worker left while we asked it
            _refuse_unless_same(address, said)


def _refuse_unless_same(address: str, said: object) -> None:
    from dumbbell.compare.executing.on_dask_worker import Identity, own_identity

    own = own_identity()
    if said == asdict(own):
        return
    what = f"has no dumbbell that can be used ({said})"
    if isinstance(said, dict):
        what = f"has {Identity(**said)}"
    raise WorkerRefusedError(
        f"the worker {address} {what}, and here is {own}: its numbers might be others. Install "
        "the same wheel on all machines"
    )


@contextlib.contextmanager
def _scheduler_of(client: Client) -> Iterator[None]:
    """Wrap requests to a scheduler that may have gone."""
    try:
        yield
    except OSError as error:
        raise _gone(client, str(error)) from None


def _gone(client: Client, why: str) -> ClusterError:
    return ClusterError(f"the scheduler at {_address(client)} has gone: {why}")


def _address(client: Client) -> str:
    return "" if client.scheduler is None else str(client.scheduler.address)


@dataclass(frozen=True, slots=True)
class _Batch:
    future: Future[str]
    indices: tuple[int, ...]


class _Sending:
    """Batches of tasks in flight."""

    def __init__(self, client: Client, tasks: Sequence[Task], asked: Mapping[str, Any]) -> None:
        from dumbbell.compare.executing.on_dask_worker import own_identity

        self._client = client
        self._tasks = tasks
        self._head = {"identity": asdict(own_identity()), **asked}
        self._waiting = deque(range(len(tasks)))
        self._suspects: deque[int] = deque()
        self._tried = ""
        self._size = BatchSize(_BATCH_S)
        self._name = f"dumbbell-{uuid.uuid4().hex}"
        self._sent = 0
        self._in_flight: dict[str, _Batch] = {}
        self._heard: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.ended = 0

    @property
    def is_done(self) -> bool:
        return self.ended == len(self._tasks)

    def fill(self, threads: int) -> None:
        """Send batches until `threads` threads are busy."""
        if self._suspects or self._tried in self._in_flight:
            self._send_one_alone()
            return
        while len(self._in_flight) < _IN_FLIGHT * threads:
            if self._waiting:
                size = min(self._size.of(len(self._waiting), threads), len(self._waiting))
                self._send(tuple(self._waiting.popleft() for _ in range(size)))
            else:
                return

    def _send_one_alone(self) -> None:
        """Send one task alone: the scheduler counts a death against all tasks that waited for that
        worker.
        """
        if not self._in_flight:
            self._tried = self._send((self._suspects.popleft(),))

    def some(self, timeout_s: float) -> Iterator[FinishedTask | FailedTask]:
        """Outcomes that arrive within a timeout."""
        try:
            key = self._heard.get(timeout=timeout_s)
        except queue.Empty:
            if self._client.status not in ("running", "connecting"):
                raise _gone(self._client, "the connection was closed") from None
            return
        yield from self._take(key)

    def finished(self) -> Iterator[FinishedTask | FailedTask]:
        """Outcomes that had arrived and were not taken yet."""
        while True:
            try:
                key = self._heard.get_nowait()
            except queue.Empty:
                return
            with contextlib.suppress(ClusterError):
                yield from self._take(key, wait_s=0.0)

    def give_up(self) -> None:
        """Tell the workers to stop."""
        futures = [batch.future for batch in self._in_flight.values()]
        self._in_flight.clear()
        if futures:
            # If the scheduler is gone, there is nothing to cancel.
            with contextlib.suppress(OSError, RuntimeError, TimeoutError):
                self._client.cancel(futures, force=True)

    def _send(self, indices: tuple[int, ...]) -> str:
        from dumbbell.compare.executing.on_dask_worker import do_batch

        text = json.dumps({**self._head, **tasks_as_json(self._tasks[each] for each in indices)})
        key = f"{self._name}-{self._sent}"
        self._sent += 1
        with _scheduler_of(self._client):
            future = self._client.submit(do_batch, text, key=key, pure=False)
        self._in_flight[key] = _Batch(future, indices)
        self._listen(future)
        return key

    def _listen(self, future: Future[str]) -> None:
        key = str(future.key)
        future.add_done_callback(lambda _: self._heard.put(key))

    def _take(self, key: str, wait_s: float = _GET_S) -> Iterator[FinishedTask | FailedTask]:
        batch = self._in_flight[key]
        status = batch.future.status
        if status in ("pending", "lost"):
            self._listen(batch.future)  # the worker died with the result: the task is repeated
        elif status == "finished":
            try:
                text = batch.future.result(timeout=wait_s)
            except TimeoutError:
                self._heard.put(key)
                return
            yield from self._outcomes(batch, json.loads(text))
        elif status == "error":
            yield from self._failed(batch)
        else:
            raise _gone(self._client, "its running tasks are lost")

    def _outcomes(self, batch: _Batch, said: Any) -> Iterator[FinishedTask | FailedTask]:
        if "refused" in said:
            _refuse_unless_same("that joined later", said["refused"])
        del self._in_flight[str(batch.future.key)]
        self._size.took(len(batch.indices), said["took_s"])
        receiver = Receiver()
        own = [self._tasks[index] for index in batch.indices]
        found = [receiver.outcome(message, own) for message in said["outcomes"]]
        for outcome in found:
            self.ended += 1
            index = batch.indices[outcome.index]
            if isinstance(outcome, FailedTask):
                yield FailedTask(index, outcome.error)
            else:
                yield replace(outcome, index=index)

    def _failed(self, batch: _Batch) -> Iterator[FailedTask]:
        from distributed.scheduler import KilledWorker

        error = batch.future.exception()
        if not isinstance(error, KilledWorker):
            # Errors of a task are outcomes; this error is Dask's own.
            raise ClusterError(f"a worker could not be given its work: {error}")
        del self._in_flight[str(batch.future.key)]
        if str(batch.future.key) != self._tried:
            # Send each task alone to find the one that kills workers.
            self._suspects.extend(batch.indices)
            return
        self.ended += 1
        yield FailedTask(
            batch.indices[0],
            RunError(
                f"{error.allowed_failures + 1} workers died while they ran it, the last of them "
                f"{error.last_worker.address}; their logs may say why"
            ),
        )
