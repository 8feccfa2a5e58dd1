"""``docs/qdiscs.md``, made from the native module's table of disciplines.

``python -m dumbbell.spec.qdisc_docs > docs/qdiscs.md``
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell import _engine

_HEAD = """\
# Queue disciplines

What may stand in the key `qdisc` of a link: the words that follow `tc qdisc add dev X root`, as
typed on a router. This page is made from the table the parser itself uses
(`python -m dumbbell.spec.qdisc_docs > docs/qdiscs.md`).

A link with a finite rate has a transmitter that holds one packet, and the discipline is the queue
in front of it. With `rate = "inf"` only a discipline with a rate of its own holds packets back; see
[A link](architecture.md#a-link).

Words may come in any order, each once, and none may be abbreviated. What is not said has the
default of `tc`. A discipline or a word that `tc` has and this page has not is refused, with a
message that says so; nothing is ignored silently.

Units are those of `tc` ([Quantities](experiment-file.md#quantities)), and here alone a number
without one is taken as `tc` takes it. The column *unit* is that of the resolved description. Ranges
are those of `tc`; an experiment also refuses any time above 200 days.
"""


def qdiscs_markdown() -> str:
    """The page."""
    disciplines = json.loads(_engine.disciplines())
    return "\n".join([_HEAD, *(line for each in disciplines for line in _section(each))])


def _section(discipline: Mapping[str, Any]) -> Iterator[str]:
    name, parameters = discipline["name"], discipline["parameters"]
    yield f"## `{name}`\n"
    yield f"{discipline['summary']}\n"
    yield f"    {_usage(name, parameters)}\n"
    if parameters:
        yield "| parameter | unit | default | range | effect |"
        yield "| --- | --- | --- | --- | --- |"
        yield from map(_row, parameters)
        yield ""
    yield f"Resolved, with every default: `{_engine.parse_qdisc(name)}`\n"
    missing = discipline["not_implemented"]
    if missing:
        yield f"Not implemented, and refused: {', '.join(f'`{word}`' for word in missing)}.\n"
    yield f"Sources: {discipline['source']}.\n"


def _usage(name: str, parameters: list[Mapping[str, Any]]) -> str:
    return " ".join([name, *(f"[ {each['name']} {each['argument']} ]" for each in parameters)])


def _row(parameter: Mapping[str, Any]) -> str:
    words = " or ".join(f"`{word}`" for word in (parameter["name"], *parameter["aliases"]))
    default = f"{parameter['default']} ({parameter['default_source']})"
    cells = (words, parameter["unit"], default, parameter["range"], parameter["effect"])
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(qdiscs_markdown(), end="")
