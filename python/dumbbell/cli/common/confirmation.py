"""Announce runs that take minutes, and ask before runs that take hours."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from dumbbell.backends import Cost, get_backend
from dumbbell.backends.guard import LONGEST_S, usable_threads
from dumbbell.cli.common.store import StoreOptions
from dumbbell.cli.terminal.output import tell
from dumbbell.errors import DumbbellError, SpecError
from dumbbell.replication.interrupted import Interrupted

if TYPE_CHECKING:
    from dumbbell.cli.run.planning import PlannedCells
    from dumbbell.spec import Experiment

LONG_S = 60.0
"""Longer estimates are announced."""
ASKED_S = 3600.0
"""Longer estimates need a confirmation."""
NOT_STORED = StoreOptions(is_wanted=False)


def say_if_long(wall_s: float, events: float) -> None:
    """Announce on standard error, where progress is shown too, a run of more than `LONG_S`."""
    if wall_s > LONG_S:
        minutes = math.ceil(wall_s / 60)
        tell(f"this takes some {minutes} minutes: {events:.2g} events are estimated")


def agree(wall_s: float, *, yes: bool, has_dry_run: bool = True) -> None:
    """Ask on the terminal whether to go on; without a terminal, ``--yes`` is required.

    Args:
        wall_s: Estimated wall time.
        yes: Whether ``--yes`` was given.
        has_dry_run: Whether the command has ``--dry-run``.

    Raises:
        SpecError: There is no terminal to ask on.
        Interrupted: The answer was no.
    """
    if yes or wall_s <= ASKED_S:
        return
    hours = f"some {wall_s / 3600:.2g} hours"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        more = "; --dry-run shows the estimate" if has_dry_run else ""
        raise SpecError("--yes", "not said", f"--yes, for what takes {hours}{more}")
    tell(f"this takes {hours}, by an estimate that is rather too long. Run it? [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Interrupted("nothing was run")


def agree_to_run(cost: Cost, *, yes: bool, has_dry_run: bool = True) -> None:
    """Announce a single run or ask, as `agree` does; a run of more than a day is refused later.

    Raises:
        SpecError: It takes hours, and there is no terminal to ask on.
        Interrupted: The answer was no.
    """
    if cost.wall_s <= LONGEST_S:
        say_if_long(cost.wall_s, cost.events)
        agree(cost.wall_s, yes=yes, has_dry_run=has_dry_run)


def agree_to_replications(
    experiment: Experiment, replications: int, *, jobs: int, yes: bool
) -> None:
    """Announce replications in the simulator or ask, as `agree` does.

    Raises:
        SpecError: It takes hours, and there is no terminal to ask on.
        Interrupted: The answer was no.
    """
    from dumbbell.cli.run.planning import PlannedCells
    from dumbbell.compare import Cell

    planned = PlannedCells([Cell(experiment.name, experiment)], [], replications, None)
    agree_to_runs([planned], ("sim",), jobs=jobs, yes=yes, has_dry_run=False)


def agree_to_runs(
    plans: Sequence[PlannedCells],
    backends: Sequence[str],
    *,
    jobs: int,
    yes: bool,
    may_use_bytes: int | None = None,
    storing: StoreOptions = NOT_STORED,
    tables_below: int = 0,
    cluster: str | None = None,
    has_dry_run: bool = True,
) -> None:
    """Announce several runs or ask, as `agree` does; runs in the store do not count.

    Args:
        plans: The requested cells, one plan after the other.
        backends: Names of the backends.
        jobs: Threads; 0 for one per core.
        yes: Whether ``--yes`` was given.
        may_use_bytes: Memory that all runs may use together.
        storing: Options of the store.
        tables_below: Number of replications whose tables are shown, as in `stored_executor`.
        cluster: Address of the cluster; without an estimate, since its number of workers is
            unknown.
        has_dry_run: Whether the command has ``--dry-run``.

    Raises:
        SpecError: They take hours, and there is no terminal to ask on.
        Interrupted: The answer was no.
    """
    whole_s = _said_if_long(plans, backends, jobs)
    if yes or whole_s <= ASKED_S or cluster not in (None, "local"):
        return
    from dumbbell.cli.run.dry_run import foreseen

    left = [
        each
        for planned in plans
        for each in foreseen(
            planned,
            backends,
            jobs=jobs,
            may_use_bytes=may_use_bytes,
            storing=storing,
            tables_below=tables_below,
        )
    ]
    agree(sum(each.least_wall_s for each in left), yes=yes, has_dry_run=has_dry_run)


def _said_if_long(plans: Sequence[PlannedCells], backends: Sequence[str], jobs: int) -> float:
    """Estimated seconds of all runs; with a precision, of the first replications."""
    from dumbbell.compare.comparison import REPLICATIONS

    cpu_s = events = 0.0
    for planned in plans:
        runs = planned.replications or planned.at_least or REPLICATIONS
        for backend, cell in product(backends, planned.cells):
            # Cells that cannot be run are reported with the results.
            with contextlib.suppress(DumbbellError):
                cost = get_backend(backend).check(cell.experiment.resolved_json())
                cpu_s += runs * cost.wall_s
                events += runs * cost.events
    wall_s = cpu_s / usable_threads(jobs)
    say_if_long(wall_s, events)
    return wall_s
