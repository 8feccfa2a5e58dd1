"""A laboratory for queues and congestion control at a bottleneck link.

>>> import dumbbell
>>> experiment = dumbbell.Experiment.from_toml('''
... duration = "60s"
... links = [{ a = "sender", b = "receiver", forward = { rate = "1mbit" } }]
... [[flows]]
... name = "stream"
... from = "sender"
... to = "receiver"
... source = { kind = "poisson", rate = "220pps", size = "exponential 512B" }
... ''')
>>> run = dumbbell.simulate(experiment)
>>> run.queue_names
['sender->receiver', 'receiver->sender']

An `Experiment` is run (`simulate`, `run_many`, `replicate`) into a `Run` of tables; `metrics`
computes numbers from a run, `stats` intervals from numbers, and `theory` predicts them. Names are
imported when first used, so importing this package is fast.
"""

from __future__ import annotations

from importlib import import_module

# The same constant as in `typing`, whose import takes longer than everything else here: until the
# command line handles Ctrl-C, Python prints a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dumbbell import (
        backends,
        claims,
        compare,
        controllers,
        errors,
        formats,
        metrics,
        replication,
        report,
        spec,
        stats,
        studies,
        tables,
        theory,
        units,
    )
    from dumbbell._engine import __version__
    from dumbbell.backends import run_many, simulate
    from dumbbell.errors import DumbbellError, RunError, SpecError
    from dumbbell.replication import replicate
    from dumbbell.spec import Experiment
    from dumbbell.tables import Run

_MODULE_OF = {
    "DumbbellError": "errors",
    "Experiment": "spec",
    "Run": "tables",
    "RunError": "errors",
    "SpecError": "errors",
    "__version__": "_engine",
    "replicate": "replication",
    "run_many": "backends",
    "simulate": "backends",
}
_PACKAGES = frozenset(
    {
        "backends",
        "claims",
        "compare",
        "controllers",
        "errors",
        "formats",
        "metrics",
        "replication",
        "report",
        "spec",
        "stats",
        "studies",
        "tables",
        "theory",
        "units",
    }
)

__all__ = [
    "DumbbellError",
    "Experiment",
    "Run",
    "RunError",
    "SpecError",
    "__version__",
    "backends",
    "claims",
    "compare",
    "controllers",
    "errors",
    "formats",
    "metrics",
    "replicate",
    "replication",
    "report",
    "run_many",
    "simulate",
    "spec",
    "stats",
    "studies",
    "tables",
    "theory",
    "units",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its package on first use."""
    if name in _MODULE_OF:
        return getattr(import_module(f"dumbbell.{_MODULE_OF[name]}"), name)
    if name in _PACKAGES:
        return import_module(f"dumbbell.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
