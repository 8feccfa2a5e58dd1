"""Numeric parameters of disciplines and policers with sliders, from the parser's table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dumbbell import _engine

_STEPS = {"ns": (1, 1000, 8000), "bit/s": (8,)}
"""Steps of times and rates: microseconds, multiples of 64 ns ticks; whole bytes."""
_NO_NUMBERS = ("word", "flag", "class", "band", "service curve")
"""Units of parameters without a slider."""
_PRIME = 977
_POLICER = "police rate 1mbit burst 10kb drop"


def numbers() -> dict[str, Any]:
    """Return the parameters with controls, in JSON form.

    ``numbers`` has for each discipline, for ``police`` and for classes (``htb class``) a list of
    parameters: ``name`` as typed, ``key`` and ``unit`` of the resolved number, its ``default``
    (null where there is none), whether it may be ``null`` and whether it may be 0, its range from
    ``least`` to ``most`` (null where it has no end) in multiples of ``step``, and its ``effect``.
    ``examples`` has texts for disciplines that need no further lines.
    """
    disciplines = json.loads(_engine.disciplines())
    found = {each["name"]: list(_numbers(each, _taken_by(each["example"]))) for each in disciplines}
    classed = {each["name"]: each["class"] for each in disciplines if each["class"]}
    found |= {f"{name} class": list(_numbers(table)) for name, table in classed.items()}
    found["police"] = list(_numbers(json.loads(_engine.police_table()), _policer_takes))
    examples = [each["example"] for each in disciplines if each["name"] not in classed]
    return {"numbers": found, "examples": examples}


Takes = Callable[[str, object], bool]
"""Tests whether the parser accepts a value for a key."""


def _any(_: str, value: object) -> bool:
    """Accept any value: no example shows what else a class accepts."""
    return value is not None and value != 0


def _taken_by(example: str) -> Takes:
    resolved = json.loads(_engine.parse_qdisc(example))
    return lambda key, value: _is_read(_engine.render_qdisc, {**resolved, key: value})


def _policer_takes(key: str, value: object) -> bool:
    resolved = json.loads(_engine.parse_police(_POLICER))
    return _is_read(_engine.render_police, {**resolved, key: value})


def _is_read(render: Callable[[str], str], resolved: Mapping[str, object]) -> bool:
    try:
        render(json.dumps(resolved))
    except _engine.QdiscError:
        return False
    return True


def _numbers(table: Mapping[str, Any], takes: Takes = _any) -> Iterator[dict[str, Any]]:
    seen = set()
    for parameter in table["parameters"]:
        key, unit = parameter["key"], parameter["unit"]
        default = parameter["default"]
        is_number = not isinstance(default, bool) and isinstance(default, int | None)
        is_typed = parameter["argument"] and unit not in _NO_NUMBERS
        # Of two words for one key the first is the number: tbf's latency is an alternative form of
        # limit.
        if not is_number or not is_typed or key in seen:
            continue
        seen.add(key)
        least, most = parameter["bounds"]["least"], parameter["bounds"]["most"]
        # Of several numbers, as netem's slot, none is the parameter's.
        if least is None:
            continue
        # A loss is a model with several parameters, not a number.
        if default is None and not takes(key, least):
            continue
        yield {
            "name": _further(key) if " " in parameter["name"] else parameter["name"],
            "key": key,
            "unit": unit,
            "default": _own_default(parameter),
            "isNull": takes(key, None),
            "isZero": takes(key, 0),
            "step": _step(key, unit, takes),
            "least": least,
            "most": most,
            "effect": parameter["effect"],
        }


def _own_default(parameter: Mapping[str, Any]) -> int | None:
    """Return a parameter's default, not the value of an example."""
    source = parameter["default_source"]
    has_own = not source.startswith(("required", "computed")) and parameter["default"]
    return parameter["default"] if has_own else None


def _step(key: str, unit: str, takes: Takes) -> int:
    """Return the first step whose multiples the parser accepts; the last if none is accepted."""
    steps = _STEPS.get(unit, (1,))
    return next((step for step in steps if takes(key, _PRIME * step)), steps[-1])


def _further(key: str) -> str:
    """Return the key of a further argument: `delay TIME JITTER` has ``jitter_ns``."""
    return key.rsplit("_", 1)[0].replace("_", " ")
