"""Compare two kernels: the same experiments on both, pair by pair, and the first difference.

Replication k has the same starts, arrivals and sizes on both kernels, and their random number
generators have the same seed. Each kernel still decides which numbers it draws, and when.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dumbbell.backends import Cancellation, run_many
from dumbbell.compare.cells import Cell
from dumbbell.compare.comparison import Comparison, compare
from dumbbell.compare.executing import Executor
from dumbbell.replication import ProgressCallback
from dumbbell.spec import Experiment
from dumbbell.tables import Run

BACKEND = "kernel"
EVENTS = ("enqueue", "dequeue", "drop", "mark", "lost")
"""Events of the table ``packets``, indexed by their numbers."""

CLOSE_NS = 10_000
"""Times that differ by less are equal."""

Rows = npt.NDArray[np.int64]
_NO_ROWS: Rows = np.zeros((0, 7), dtype=np.int64)
_WHICH = ("queue", "event", "flow", "probe", "seq", "bytes")
_MOST_RECORDED_S = 30
"""Longest time for which every packet is recorded."""


@dataclass(frozen=True, slots=True)
class SeenPacket:
    """A row of the table ``packets``, decoded.

    Attributes:
        t_ns: Time from the start of the run.
        queue: Name of the queue.
        event: One of `EVENTS`.
        sender: Name of the flow or probe; empty where it is not known.
        number: Number of its datagram in the flow, or of the echo request.
        size_bytes: Size on the link.
    """

    t_ns: int
    queue: str
    event: str
    sender: str
    number: int
    size_bytes: int

    def __str__(self) -> str:
        """As one line."""
        of = f" of {self.sender}" if self.sender else ""
        size = f"{self.size_bytes} bytes"
        return f"{self.t_ns / 1e9:.6f} s {self.queue} {self.event} {self.number}{of}, {size}"


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first event at which two runs differ, in kind or time.

    Attributes:
        ours: The first run's event; None after its last one.
        theirs: The second run's event.
    """

    ours: SeenPacket | None
    theirs: SeenPacket | None

    @property
    def t_ns(self) -> int:
        """Time from the start of the run: the earlier of the two."""
        return min(each.t_ns for each in (self.ours, self.theirs) if each is not None)

    @property
    def is_only_later(self) -> bool:
        """Whether both have the same packet, at different times."""
        if self.ours is None or self.theirs is None:
            return False
        return replace(self.ours, t_ns=0) == replace(self.theirs, t_ns=0)

    def __str__(self) -> str:
        """As one line."""
        one, other = (str(each) if each else "nothing more" for each in (self.ours, self.theirs))
        return f"{one}; against {other}"


@dataclass(frozen=True, slots=True)
class KernelComparison:
    """One experiment on two kernels.

    Attributes:
        label: Label of the experiment.
        comparison: Its two cells are named after the kernels.
        first_difference: First difference of replication 0; None if all packets are equal.
    """

    label: str
    comparison: Comparison
    first_difference: FirstDifference | None


def compare_kernels(
    experiment: Experiment,
    kernels: tuple[str, str],
    *,
    label: str = "",
    replications: int,
    executor: Executor | None = None,
    jobs: int = 0,
    on_progress: ProgressCallback | None = None,
    cancel: Cancellation | None = None,
) -> KernelComparison:
    """Run an experiment on two kernels and compare the second with the first.

    Args:
        experiment: The experiment, whatever kernel it names.
        kernels: Names of two kernels.
        label: Label; the experiment's name when empty.
        replications: Replications on each kernel.
        executor: Performs the runs of the comparison; None for ``jobs`` threads.
        jobs: Threads; 0 for one per core.
        on_progress: Called about ten times a second.
        cancel: Set it to stop.

    Raises:
        KernelMissingError: One of the kernels has not been built.
        SpecError: The experiment cannot be run.
        RunError: It failed on a kernel.
        Interrupted: It was stopped before both kernels had a replication.
    """
    cells = [Cell(name, experiment.with_(kernel=name)) for name in kernels]
    found = compare(
        cells,
        backends=(BACKEND,),
        replications=replications,
        executor=executor,
        jobs=jobs,
        on_progress=on_progress,
        cancel=cancel,
    )
    if found.failed:
        raise found.failed[0].error
    recorded = [(_recording(each.experiment), 0) for each in cells]
    runs = dict(run_many(recorded, backend=BACKEND, jobs=jobs, cancel=cancel))
    first_difference = first_difference_of(runs[0], runs[1]) if len(runs) == len(cells) else None
    return KernelComparison(label or experiment.name, found, first_difference)


def first_difference_of(ours: Run, theirs: Run) -> FirstDifference | None:
    """The first difference between the tables ``packets`` of two runs; None if there is none.

    Enqueues, dequeues, drops and marks of each queue are compared separately, since the order of
    simultaneous events is unspecified. Times that differ by less than `CLOSE_NS` count as equal:
    kernels round differently when they convert clock cycles to nanoseconds.
    """
    found = []
    streams = [_streams(run) for run in (ours, theirs)]
    for key in streams[0].keys() | streams[1].keys():
        one, other = (each.get(key, _NO_ROWS) for each in streams)
        index = _first_difference(one, other)
        if index is not None:
            found.append(FirstDifference(_seen(ours, one, index), _seen(theirs, other, index)))
    # Ties are broken consistently.
    return min(found, key=lambda each: (each.t_ns, str(each)), default=None)


def _first_difference(one: Rows, other: Rows) -> int | None:
    common = min(len(one), len(other))
    differs = (one[:common, 1:] != other[:common, 1:]).any(axis=1)
    differs |= np.abs(one[:common, 0] - other[:common, 0]) >= CLOSE_NS
    if differs.any():
        return int(differs.argmax())
    return common if len(one) != len(other) else None


def _streams(run: Run) -> dict[tuple[int, int], Rows]:
    """Rows of each (queue, event), in order of time."""
    rows = _rows(run)
    keys, starts = np.unique(rows[:, 1:3], axis=0, return_inverse=True)
    places = starts.reshape(-1)
    return {tuple(key.tolist()): rows[places == place] for place, key in enumerate(keys)}


def _recording(experiment: Experiment) -> Experiment:
    """The experiment with a record of every packet at every link."""
    resolved = experiment.resolved()
    for link in resolved["links"]:
        for end in ("forward", "reverse"):
            link[end] = {**link[end], "record_packets": True}
    most_ns = _MOST_RECORDED_S * 10**9
    if resolved["duration_ns"] > most_ns > resolved["warm_up_ns"]:
        resolved["duration_ns"] = most_ns
    return Experiment.from_resolved(resolved)


def _rows(run: Run) -> Rows:
    """Time, queue, event, flow, probe, number and size of each event, shape (n, 7), in order."""
    columns = [
        np.asarray(run.column("packets", name), dtype=np.int64) for name in ("t_ns", *_WHICH)
    ]
    rows = np.stack(columns, axis=1)
    return rows[np.lexsort(rows.T[::-1])]


def _seen(run: Run, rows: Rows, index: int) -> SeenPacket | None:
    if index >= len(rows):
        return None
    t_ns, queue, event, flow, probe, number, size = (int(value) for value in rows[index])
    sender = ""
    if flow >= 0:
        sender = run.flow_names[flow]
    elif probe >= 0:
        sender = run.probe_names[probe]
    return SeenPacket(t_ns, run.queue_names[queue], EVENTS[event], sender, number, size)
