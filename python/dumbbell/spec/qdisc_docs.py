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

A discipline that others are put into takes a line for each, as typed one after the other (in TOML a
string in three quotation marks), parted by line ends or `;`:

    root handle 1: tbf rate 1mbit burst 10kb limit 10kb
    parent 1:1 handle 10: pfifo limit 20

`tc`, `qdisc add` (or `replace`), `dev X` and handles that nothing refers to may stand there or be
left out. `qdisc change` gives other values to what a line before has made, before the run begins:
of `codel`, `fq`, `fq_codel`, `pie`, `fq_pie`, `cake` and `dualpi2` what it does not say stays, of
`netem` the `rate` does, of `pfifo`, `bfifo`, `red`, `choke` and `sfb` it has its default. `qdisc
del dev X root` begins anew.

The text means what `tc` of iproute2 6.1 makes of it, whose numbers are those of C: `codel limit
0100` is octal, 64, and `09` none; `0x10`, `+5` and `1e3` are read where `tc` reads them, in doubles
(`target 2.01ms` is 2009 us) and in its ticks of 64 ns (`netem delay 10us` is 9984 ns). Words may
come in any order; of one that is given again the last stands, except where `tc` takes it once. What
is not said has the default of `tc`. A discipline or a word that `tc` has and this page has not is
refused, with a message that says so; nothing is ignored silently.

What `tc` takes and would not be what is written is refused with the reason: a share of the device's
speed (`rate 10%`), a number that wraps (`target -1s`), is ignored (`codel limit 0`), is replaced by
the kernel (`fq_codel quantum 7`) or has more digits than are held (`loss 33.333333333%`).

Units are those of `tc` ([Quantities](experiment-file.md#quantities)), and here alone a number
without one is taken as `tc` takes it. `ns` most versions of `tc` do not read, and so it is refused.
A run says where that may not be what was meant: `10Mbps` is 80 Mbit/s, `target 5` is 5
microseconds, `pfifo limit 100kb` is 102400 packets. The column *unit* is that of the resolved
description. Ranges are those of `tc`; an experiment also refuses any time above 200 days.
"""


_FILTERS = (
    "filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:10",
    "filter add parent 1: prio 2 matchall flowid 1:20",
)


def qdiscs_markdown() -> str:
    """The page."""
    disciplines = json.loads(_engine.disciplines())
    return "\n".join([_HEAD, *(line for each in disciplines for line in _section(each))])


def _section(discipline: Mapping[str, Any]) -> Iterator[str]:
    parameters, example = discipline["parameters"], discipline["example"]
    yield f"## `{discipline['name']}`\n"
    yield f"{discipline['summary']}\n"
    yield f"    {discipline['usage']}\n"
    if parameters:
        yield "| parameter | unit | default | range | effect |"
        yield "| --- | --- | --- | --- | --- |"
        yield from map(_row, parameters)
        yield ""
    yield f"`{example}` resolved, with every default: `{_engine.parse_qdisc(example)}`\n"
    if discipline["class"]:
        yield f"{discipline['class']['summary']} Filters choose the class of a packet:\n"
        yield from (f"    {line}" for line in _FILTERS)
        yield "\n| parameter of a class | unit | default | range | effect |"
        yield "| --- | --- | --- | --- | --- |"
        yield from map(_row, discipline["class"]["parameters"])
        yield ""
    yield from _how_words_are_read(discipline)
    missing = [*discipline["not_implemented"]]
    missing += discipline["class"]["not_implemented"] if discipline["class"] else []
    if missing:
        yield f"Not implemented, and refused: {', '.join(f'`{word}`' for word in missing)}.\n"
    yield f"Sources: {discipline['source']}.\n"


def _how_words_are_read(discipline: Mapping[str, Any]) -> Iterator[str]:
    """What `tc` takes once, and what it knows by its beginning, of a class too."""
    for table, of in ((discipline, ""), (discipline["class"], " of a class")):
        for key, what in (("once", "Taken once"), ("abbreviated", "Known by their beginning")):
            if table and table[key]:
                yield f"{what}{of}: {', '.join(f'`{word}`' for word in table[key])}.\n"


def _row(parameter: Mapping[str, Any]) -> str:
    words = " or ".join(f"`{word}`" for word in _words(parameter))
    source = parameter["default_source"]
    stated = source.startswith(("required", "in place of"))
    default = source if stated else f"{_value(parameter['default'])} ({source})"
    cells = (words, parameter["unit"], default, parameter["range"], parameter["effect"])
    return f"| {' | '.join(cells)} |"


def _words(parameter: Mapping[str, Any]) -> Iterator[str]:
    """As typed; a further argument (a name of several words) with what stands before it."""
    name, argument = parameter["name"], parameter["argument"]
    yield f"{name} {argument}" if " " in name else name
    yield from parameter["aliases"]


def _value(value: object) -> str:
    """A default in words."""
    match value:
        case None:
            return "none"
        case bool():
            return "on" if value else "off"
        case _:
            return str(value)


if __name__ == "__main__":
    print(qdiscs_markdown(), end="")
