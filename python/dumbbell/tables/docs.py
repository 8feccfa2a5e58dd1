"""``docs/tables.md``, printed from the definitions."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.tables.column import Column
from dumbbell.tables.schema import SCHEMA, TABLE_DOCS

_HEAD = """\
# Tables

What a run leaves behind, whoever made it: the simulator, a kernel, or a reader of somebody's files.
This page is printed from the definitions (`python -m dumbbell.tables > docs/tables.md`).
Its words are in the [glossary](glossary.md).

    run = dumbbell.simulate(experiment)
    run.table("queues")                                          # a Polars frame
    run.column("queues", "sojourn_mean_s", queue="router->receiver-1")   # a NumPy array

Times are `int64` nanoseconds from the run's start; -1 where there is no such instant. Scopes:
**whole run** is [0, duration); **measured window** is [warm-up, duration), and delays in it are
those of packets that *arrived* in it; **so far** is from the start to the row's own time. *Exact*
columns are counts, integrals and times that miss nothing; *sampled* ones are levels at an instant.

The *system* is the queue and the transmitter (queueing theory's N and T); the *backlog* is what the
discipline holds, as `tc -s qdisc` shows it (N_q). `netem` with a rate holds the packet in
transmission too, so there both are the same number.
"""


def tables_markdown() -> str:
    """The page."""
    return "\n".join([_HEAD, *(line for name in SCHEMA for line in _section(name))])


def _section(name: str) -> Iterator[str]:
    yield f"## `{name}`\n"
    yield f"{TABLE_DOCS[name]}\n"
    yield "| column | type | unit | kind | what it is |"
    yield "| --- | --- | --- | --- | --- |"
    for column in SCHEMA[name]:
        yield _row(column)
    yield ""


def _row(column: Column) -> str:
    unit = column.unit or "-"
    return f"| `{column.name}` | {column.dtype} | {unit} | {column.kind} | {column.doc} |"
