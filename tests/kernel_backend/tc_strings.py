"""Random lines for ``tc``: right ones, nearly right ones, and what breaks readers of numbers.

Words come from the tables of disciplines, numbers from the corners of C's ``strtod`` and
``strtoul`` and of tc's units, so that what a reader of its own would read otherwise turns up often.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dumbbell import _engine

_TABLES: Sequence[Mapping[str, Any]] = [
    # Linux has dualpi2 since 6.17, and its tc since 6.16.
    each
    for each in json.loads(_engine.disciplines())
    if each["name"] != "dualpi2"
]
_NUMBERS = (
    *("0", "1", "2", "5", "7", "10", "100", "1000", "1514", "4294", "010", "0100", "09", "+5"),
    *("-1", "0x10", "0x100", "1e3", "1e-3", "0.5", ".5", "1.", "1.5", "2.01", "0.0001", "33.333"),
    *("4294967295", "4294967296", "18446744073709551616", "-18446744073709551615"),
)
_ODD_NUMBERS = ("nan", "inf", "-0", "0x", "0x.8", "0x1p3", "1e400", "1e", "+", ".", "--5", "")
_SIZE_UNITS = ("", "b", "k", "kb", "K", "m", "mb", "g", "kbit", "Mbit", "gbit", "/8", "kb/8", "kib")
_RATE_UNITS = (
    *("bit", "kbit", "Mbit", "gbit", "tbit", "kibit", "mibit", "bps", "kbps", "Mbps", "kibps"),
    *("", "%", "k", "mb"),
)
_TIME_UNITS = ("", "s", "sec", "ms", "msecs", "us", "Us", "usec", "ns", "nsec", "min")
_PERCENTS = (
    *("0%", "1%", "0.1%", "30%", "25", "99.999%", "100%", "101%", "-1%", "0.0000001%", "1e1%"),
    *("33.333333333%", "0x10", "50", "70%", "90%", "12.5%"),
)
_PLAIN = {"NUMBER", "N", "P", "DISTANCE", "BYTES", "SECS", "MS", "PPS"}
_ROUND = {"s": 1, "ms": 1000, "us": 1_000_000}


def tc_lines(count: int, seed: int) -> list[str]:
    """The given number of different lines, the same for the same seed."""
    draw = random.Random(seed)
    lines: dict[str, None] = {}
    while len(lines) < count:
        lines[" ".join(_line(draw).split())] = None
    return list(lines)


def _line(draw: random.Random) -> str:
    table = draw.choice(_TABLES)
    words = [table["name"]]
    parameters = [each for each in table["parameters"] if " " not in each["name"]]
    # Few words, so that most lines have no mistake in them; what is required, nearly always.
    chosen = draw.sample(parameters, min(len(parameters), draw.choice((0, 1, 1, 2, 2, 3, 4))))
    chosen += [each for each in parameters if each not in chosen and _is_wanted(each, draw)]
    if chosen and draw.random() < 0.15:
        chosen.append(draw.choice(chosen))
    draw.shuffle(chosen)
    for parameter in chosen:
        # Not tc's; and what a kernel without connection tracking refuses (cake_change).
        if parameter["name"] in ("linux_3_14", "nat"):
            continue
        words += _words(parameter, draw)
    if draw.random() < 0.03:
        words.append(draw.choice((*table["not_implemented"], "help", "nosuch", "5", "%")))
    return " ".join(words)


def _is_wanted(parameter: Mapping[str, Any], draw: random.Random) -> bool:
    """Of two that replace each other, the first."""
    return parameter["default_source"].startswith("required") and draw.random() < 0.97


def _words(parameter: Mapping[str, Any], draw: random.Random) -> list[str]:
    word = draw.choice((parameter["name"], parameter["name"], *parameter["aliases"]))
    if draw.random() < 0.08:
        word = word[: draw.randint(1, len(word))]
    values = _VALUES.get(parameter["name"]) or _by_argument(parameter["argument"])
    return [word, *values(draw)]


def _by_argument(argument: str) -> Callable[[random.Random], list[str]]:
    if not argument:
        return lambda _: []
    if argument in _PLAIN or argument == "PACKETS":
        return lambda draw: [_whole(draw)]
    kinds = {
        "VALUE/MASK": _selector,
        "SIZE": _size,
        "RATE": _rate,
        "TIME": _time,
        "PERCENT": _percent,
        "C": _class,
    }
    one = kinds[argument]
    return lambda draw: [one(draw)]


def _selector(draw: random.Random) -> str:
    return f"{_whole(draw)}/{_whole(draw)}" if draw.random() < 0.9 else _whole(draw)


def _number(draw: random.Random) -> str:
    if draw.random() < 0.03:
        return draw.choice(_ODD_NUMBERS)
    if draw.random() < 0.4:
        return draw.choice(_NUMBERS)
    return draw.choice(
        (str(draw.randint(1, 3000)), f"{draw.uniform(0.01, 3000):.{draw.randint(0, 4)}f}")
    )


def _whole(draw: random.Random) -> str:
    if draw.random() < 0.03:
        return draw.choice((*_ODD_NUMBERS, "1000p", "100kb", "1.5k"))
    return draw.choice(
        (draw.choice(_NUMBERS), str(draw.randint(1, 40)), str(draw.randint(1, 70000)))
    )


def _size(draw: random.Random) -> str:
    if draw.random() < 0.5:
        return draw.choice(("10kb", "1mb", "60kb", "1514", "600", "5kb", "0x100b", "400000"))
    return _number(draw) + draw.choice(_SIZE_UNITS)


def _rate(draw: random.Random) -> str:
    if draw.random() < 0.4:
        return draw.choice(("1mbit", "10Mbit", "6.55mbit", "10Mbps", "1gbit", "64000"))
    return _number(draw) + draw.choice(_RATE_UNITS)


def _time(draw: random.Random) -> str:
    if draw.random() < 0.4:
        unit, most = draw.choice(list(_ROUND.items()))
        return f"{draw.randint(1, max(1, min(most, 20_000)))}{unit}"
    return _number(draw) + draw.choice(_TIME_UNITS)


def _percent(draw: random.Random) -> str:
    if draw.random() < 0.6:
        return draw.choice(_PERCENTS)
    return f"{draw.uniform(0, 100):.{draw.randint(0, 9)}f}{draw.choice(('%', ''))}"


def _class(draw: random.Random) -> str:
    return draw.choice(("0", "1", "10", "1f", "0x1F", "ffff", "10000", "-1", "fg", "010"))


def _upto(most: int, one: Callable[[random.Random], str]) -> Callable[[random.Random], list[str]]:
    """One, and perhaps more."""
    return lambda draw: [one(draw) for _ in range(1 + min(int(draw.expovariate(1)), most - 1))]


def _delay(draw: random.Random) -> list[str]:
    return [
        _time(draw),
        *([_time(draw), *_upto(2, _percent)(draw)[1:]] if draw.random() < 0.5 else []),
    ]


def _loss(draw: random.Random) -> list[str]:
    model, most = draw.choice((("", 2), ("random", 2), ("state", 5), ("gemodel", 4)))
    return [model, *_upto(most, _percent)(draw)]


def _slot(draw: random.Random) -> list[str]:
    delays = ("2ms 8ms", "800us", "5", "1ms 2", "8ms 2ms", "0", "0 3ms", "1.5ms", "2s 4s", "2s 9s")
    tables = ("normal 5ms 1ms", "pareto 2ms 0", "uniform 1ms 1ms", "paretonormal 3 4", "normal 1ms")
    words = [draw.choice(delays) if draw.random() < 0.6 else f"distribution {draw.choice(tables)}"]
    if draw.random() < 0.4:
        words += [draw.choice(("packets", "pack")), _whole(draw)]
    if draw.random() < 0.4:
        words += [draw.choice(("bytes", "by")), _size(draw)]
    return words


def _netem_rate(draw: random.Random) -> list[str]:
    overheads = ("0", "10", "010", "-5", "0x10", "48", "5", "-20", "65535", "1e1", "+5")
    return [_rate(draw), *_upto(4, lambda draw: draw.choice(overheads))(draw)[1:]]


def _bands(draw: random.Random) -> list[str]:
    return [draw.choice(("2", "3", "4", "5", "16", "17", "+5", "010", "0x10", "-1", "0"))]


def _priomap(draw: random.Random) -> list[str]:
    return [draw.choice("001122233") for _ in range(draw.choice((0, 1, 3, 15, 16, 16, 16, 17)))]


_VALUES: Mapping[str, Callable[[random.Random], list[str]]] = {
    "delay": _delay,
    "corrupt": _upto(2, _percent),
    "slot": _slot,
    "loss": _loss,
    "duplicate": _upto(2, _percent),
    "reorder": _upto(2, _percent),
    "distribution": lambda draw: [draw.choice(("normal", "pareto", "paretonormal", "uniform"))],
    "bands": _bands,
    "ecn_prob": lambda draw: [draw.choice(("10", "99", "100", "5%", "0", "07", _whole(draw)))],
    "divisor": lambda draw: [draw.choice(("1", "16", "0x40", "1024", "65536", _whole(draw)))],
    "priomap": _priomap,
    "strict": lambda draw: [draw.choice(("0", "1", "2", "3", "16", "17", "02", "-1"))],
    "quanta": lambda draw: [
        draw.choice(("1", "1514", "0", "4500", "4294967295", "1k", "010"))
        for _ in range(draw.choice((0, 1, 2, 3)))
    ],
    "probability": lambda draw: [
        draw.choice(("0.02", "0.1", "1e-3", "1", "0", "0.12345678912", "0.5x", "-1", ".5", "0x.1"))
    ],
    "burst": lambda draw: [draw.choice((_whole(draw), _size(draw)))],
}
