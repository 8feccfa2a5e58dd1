"""Run and mark a class's submissions, each in isolation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from dumbbell.backends import Cancellation
from dumbbell.backends.guard import usable_threads
from dumbbell.backends.kernel.confinement import Confinement
from dumbbell.claims import not_testable
from dumbbell.compare.checking import check
from dumbbell.compare.executing import FailedTask, FinishedTask, Task, TellDone
from dumbbell.compare.summary import Summary
from dumbbell.course.confined_run import SubmissionRun, run_confined
from dumbbell.course.description import Course, PlannedExperiment
from dumbbell.course.marks import Mark, mark_of
from dumbbell.course.placeholder import SUBMISSION
from dumbbell.course.submissions import Submission
from dumbbell.course.worker import summary_by_engine
from dumbbell.errors import DumbbellError, RunError

Tell = Callable[[int, int], None]
"""Called with the number of submissions marked, and the total."""
_HALF_CENT = 0.005


@dataclass(frozen=True)
class MarkedSubmission:
    """A submission and its marks.

    Attributes:
        submission: The submission.
        marks: Marks of all claims, in the order of the course; also if it could not be run.
        reasons: Why runs failed, by experiment; without experiments in which none did.
        output: Its output by experiment; without empty ones.
    """

    submission: Submission
    marks: tuple[Mark, ...]
    reasons: tuple[tuple[str, str], ...] = ()
    output: tuple[tuple[str, str], ...] = ()

    @property
    def points(self) -> float:
        """Points earned."""
        return round(sum(each.points for each in self.marks), 2)

    @property
    def outcome(self) -> str:
        """``marked``, ``not run``, or ``failed`` if at least one run failed."""
        if self.submission.fault:
            return "not run"
        return "failed" if self.reasons else "marked"


@dataclass(frozen=True)
class MarkedClass:
    """A class's marks.

    Attributes:
        course: The course.
        students: Marked submissions, in order.
        confinement: How their processes were confined.
        interrupted: Whether it was interrupted: unfinished submissions are missing.
    """

    course: Course
    students: tuple[MarkedSubmission, ...]
    confinement: Confinement
    interrupted: bool = False

    def ranked(self) -> list[tuple[int, MarkedSubmission]]:
        """Sorted by points, then by name; equal points share a rank."""
        ordered = sorted(self.students, key=lambda each: (-each.points, each.submission.student))
        ranks: list[tuple[int, MarkedSubmission]] = []
        for place, each in enumerate(ordered, start=1):
            is_tie = bool(ranks) and abs(ranks[-1][1].points - each.points) < _HALF_CENT
            ranks.append((ranks[-1][0] if is_tie else place, each))
        return ranks


def marked(
    course: Course,
    submissions: Sequence[Submission],
    confinement: Confinement,
    *,
    jobs: int = 0,
    on_progress: Tell | None = None,
    cancel: Cancellation | None = None,
) -> MarkedClass:
    """Run and mark submissions; a submission's failure does not affect the others.

    Args:
        course: The course.
        submissions: The submissions.
        confinement: How their processes are confined.
        jobs: Parallel processes; 0 for one per core. Marks do not depend on it.
        on_progress: Called after each submission.
        cancel: Set it to stop.

    Raises:
        RunError: A run without a submission failed, or no process can be started.
    """
    baseline = _Baseline()
    done: list[MarkedSubmission | None] = []
    stop = _Stop(cancel)
    with ThreadPoolExecutor(max_workers=usable_threads(jobs)) as pool:
        going = [
            pool.submit(_marked, course, each, confinement, baseline, stop) for each in submissions
        ]
        try:
            for number, each in enumerate(going, start=1):
                done.append(each.result())
                if on_progress is not None:
                    on_progress(number, len(going))
        except BaseException:
            stop.now()
            pool.shutdown(cancel_futures=True)
            raise
    students = tuple(each for each in done if each is not None)
    return MarkedClass(course, students, confinement, interrupted=len(students) < len(done))


def _marked(
    course: Course,
    submission: Submission,
    confinement: Confinement,
    baseline: _Baseline,
    stop: _Stop,
) -> MarkedSubmission | None:
    """Mark one submission; None if interrupted."""
    marks: list[Mark] = []
    reasons: list[tuple[str, str]] = []
    output: list[tuple[str, str]] = []
    for experiment in course.experiments:
        if stop.is_set():
            return None
        runs = _Runs(course, submission, confinement, baseline, stop)
        marks += _marks(experiment, runs)
        if runs.ran.reason:
            reasons.append((experiment.name, runs.ran.reason))
        if runs.ran.output:
            output.append((experiment.name, runs.ran.output))
    if stop.is_set():
        return None
    return MarkedSubmission(submission, tuple(marks), tuple(reasons), tuple(output))


def _marks(experiment: PlannedExperiment, runs: _Runs) -> Iterator[Mark]:
    plans = experiment.asserted.plans
    fault = runs.submission.fault
    if not fault:
        try:
            checked = check(
                experiment.asserted, replications=experiment.replications, executor=runs
            )
        except _BaselineError:
            raise
        except DumbbellError as error:
            fault = runs.ran.reason or str(error)
        else:
            for each in checked.judged:
                points = experiment.points[each.claim.id]
                mark = mark_of(each, points, partial=experiment.partial)
                # The page gives the reason for a failed run once, and not for each claim.
                yield replace(mark, view=replace(mark.view, note="")) if runs.ran.reason else mark
            return
    for plan in plans:
        nothing = not_testable(plan.claim, "")
        yield mark_of(nothing, experiment.points[plan.claim.id], partial=False)


class _Stop:
    """Whether to stop: cancelled by the caller, or after an error."""

    def __init__(self, cancel: Cancellation | None) -> None:
        self._cancel = cancel
        self._event = threading.Event()

    def now(self) -> None:
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set() or (self._cancel is not None and self._cancel.is_set())


class _BaselineError(RunError):
    """A run without a submission failed: the teacher has to fix the course."""


class _Baseline:
    """Runs without a submission, such as the reference for comparisons: performed once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done: dict[tuple[str, int], tuple[Summary, str]] = {}

    def outcome(self, index: int, task: Task) -> FinishedTask:
        key = task.description, task.replication
        with self._lock:
            if key not in self._done:
                try:
                    self._done[key] = summary_by_engine(*key)
                except DumbbellError as error:
                    raise _BaselineError(f"a run without a submission failed: {error}") from None
            return FinishedTask(index, *self._done[key])


class _Runs:
    """The executor for one submission in one experiment."""

    def __init__(
        self,
        course: Course,
        submission: Submission,
        confinement: Confinement,
        baseline: _Baseline,
        stop: _Stop,
    ) -> None:
        self._course = course
        self.submission = submission
        self._confinement = confinement
        self._baseline = baseline
        self._stop = stop
        self.ran = SubmissionRun()

    def check(self, task: Task) -> None:
        """See `Executor`; descriptions were checked by `read_course`."""

    def run(
        self,
        tasks: Sequence[Task],
        *,
        cancel: Cancellation | None = None,
        on_progress: TellDone | None = None,
    ) -> Iterator[FinishedTask | FailedTask]:
        """See `Executor`."""
        own = [index for index, task in enumerate(tasks) if f'"{SUBMISSION}"' in task.description]
        limits = self._course.limits
        self.ran = run_confined(
            self.submission,
            [tasks[index] for index in own],
            confinement=self._confinement,
            time_s=limits.time_s,
            memory_mb=limits.memory_mb,
            imports=self._course.imports,
            cancel=self._stop,
        )
        for index, outcome in zip(own, self.ran.outcomes, strict=True):
            yield replace(outcome, index=index)
        for index in sorted({*range(len(tasks))} - {*own}):
            yield self._baseline.outcome(index, tasks[index])
