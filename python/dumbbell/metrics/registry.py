"""The registry of metrics; ``docs/metrics.md`` is generated from their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Metric:
    """A function from a run to a number or numbers.

    Attributes:
        name: Name of the function.
        unit: Unit of the returned value.
        section: Heading on the page.
        function: The function; its docstring is the definition.
    """

    name: str
    unit: str
    section: str
    function: Callable[..., Any]

    @property
    def definition(self) -> str:
        """The docstring."""
        return inspect.getdoc(self.function) or ""


METRICS: dict[str, Metric] = {}
"""Every metric, in the order of the page."""

_HEAD = """\
# Metrics

Pure functions from a run to numbers. Each definition stands once, in the function's docstring; this
page is printed from them (`python -m dumbbell.metrics > docs/metrics.md`).

    from dumbbell import metrics
    metrics.mean_sojourn_s(run, "router->receiver-1")

Queues, flows and probes are given by name or index. Unless a definition says otherwise it is about
the measured window, [warm-up, duration). One run gives one number: its uncertainty comes from
replications (`dumbbell.replication.replicate`), never from inside the run.
"""


def metric(unit: str, section: str) -> Callable[[_Function], _Function]:
    """Register a function as a metric.

    Args:
        unit: Unit of the returned value.
        section: Heading on the page.
    """

    def register(function: _Function) -> _Function:
        METRICS[function.__name__] = Metric(function.__name__, unit, section, function)
        return function

    return register


def metrics_markdown() -> str:
    """The page."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for section in dict.fromkeys(each.section for each in METRICS.values()):
        yield f"## {section}\n"
        for each in METRICS.values():
            if each.section == section:
                yield f"### `{each.name}{_arguments(each.function)}`\n"
                yield f"Unit: {each.unit}.\n"
                yield f"{_as_markdown(each.definition)}\n"


def _arguments(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    bare = [
        each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()
    ]
    return str(inspect.Signature(bare))


def _as_markdown(docstring: str) -> str:
    """Convert a docstring to Markdown."""
    lines = []
    for line in docstring.replace("``", "`").splitlines():
        if line in ("Args:", "Returns:", "Raises:"):
            lines.append(f"*{line[:-1]}*\n")
        elif line.startswith("        "):
            lines.append(f"  {line.strip()}")
        elif line.startswith("    "):
            lines.append(f"- {line.strip()}")
        else:
            lines.append(line)
    return "\n".join(lines)
