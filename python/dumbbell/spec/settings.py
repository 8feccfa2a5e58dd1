"""Values put into a description by their paths: ``links[router->receiver].forward.qdisc=pie``.

A path is what an error message prints (``links[1].forward.qdisc``). In place of a number it may
have a name: of a flow or probe its own, of a link its hosts (``links[a->b]``, and ``#2`` for a
parallel one). ``flows[download]`` with a ``count`` is all of its flows, ``flows[download-3]`` one
of them. Tables that a path leads through and that are not there yet are made.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dumbbell.errors import SpecError
from dumbbell.spec.fields import MOST_EQUAL_FLOWS
from dumbbell.spec.refusal import joined, nearest, one_of, shown
from dumbbell.spec.topology import Topology, hosts_of

_STEP = re.compile(r"(?:^|\.)(?P<key>[A-Za-z_][A-Za-z0-9_-]*)|\[(?P<place>[^\]]+)\]")
_EXAMPLES = "'links[a->b].forward.qdisc', 'flows[NAME].start' or 'duration'"
_AS_IN_A_FILE = (bool, int, str, list, dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of a description.

    Attributes:
        path: Where, as a person wrote it.
        value: What a TOML file would have there: a number, true or false, text, a list or a table.
    """

    path: str
    value: Any

    @classmethod
    def parse(cls, text: str) -> Setting:
        """A setting from ``PATH=VALUE``.

        The value is read as TOML where it is a finite number, true, false, quoted text, a list or
        an inline table, else it is text itself: ``qdisc=fq_codel limit 1000``.

        Raises:
            SpecError: There is no ``=``, or nothing before it.
        """
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise SpecError("--set", shown(text), f"PATH=VALUE, where PATH is such as {_EXAMPLES}")
        return cls(path.strip(), _value(value.strip()))

    def __str__(self) -> str:
        """``PATH=VALUE``, which `parse` reads back."""
        return f"{self.path}={_written(self.value)}"

    @property
    def shown_value(self) -> str:
        """The value in a few words, for a table's head."""
        return shown(self.value)


def settings_applied(document: Mapping[str, Any], settings: Iterable[Setting]) -> dict[str, Any]:
    """A description, as a file gives it, with other values in some places.

    Args:
        document: Tables and lists as TOML has them; it is left as it is.
        settings: Applied in their order.

    Returns:
        The new description; whether it is one, `Experiment.read` says.

    Raises:
        SpecError: A path is none, leads through something that has no parts, or to a place or name
            that there is not.
    """
    changed: dict[str, Any] = copy.deepcopy(dict(document))
    for setting in settings:
        _put(changed, setting)
    return changed


def _value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    value = parsed["value"]
    # `inf` is a rate, a date is no value of a description, and a line's end is no TOML of ours.
    is_number = isinstance(value, float) and value - value == 0
    return value if len(parsed) == 1 and (is_number or isinstance(value, _AS_IN_A_FILE)) else text


def _written(value: Any) -> str:
    """A value as a person types it: text as it stands, unless TOML would take it for another."""
    if isinstance(value, str) and _value(value.strip()) == value:
        return value
    return _toml(value)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(_toml(each) for each in value)}]"
    # Text, numbers, true and false are written alike in JSON and in TOML.
    return json.dumps(value, ensure_ascii=False)


def _steps(path: str) -> list[str | _Place]:
    """Keys and places of a path.

    Raises:
        SpecError: It is not made of these.
    """
    steps: list[str | _Place] = []
    end = 0
    for match in _STEP.finditer(path):
        if match.start() != end:
            break
        end = match.end()
        steps.append(match["key"] or _Place(match["place"]))
    if end != len(path) or not steps or not isinstance(steps[0], str):
        raise SpecError("--set", shown(path), f"a path such as {_EXAMPLES}")
    return steps


@dataclass(frozen=True, slots=True)
class _Place:
    """What stands in brackets: a number or a name."""

    text: str

    def index(self, within: object, path: str) -> int:
        """The place in the list that stands at a path.

        Raises:
            SpecError: There is no list, or it has no such place.
        """
        if not isinstance(within, Sequence) or isinstance(within, str):
            raise SpecError(path, shown(within), "a list, where a path goes on with [...]")
        if isinstance(within, list):
            self._split_equal_flows(within)
        named = _names(within)
        if self.text.isdecimal() and int(self.text) < len(within):
            return int(self.text)
        if self.text in named:
            return named[self.text]
        where = f"{path}[{shown(self.text)}]"
        if not within:
            raise SpecError(where, shown(self.text), f"a place in {path}; there is none")
        allowed = [*named, *([] if named else [str(index) for index in range(len(within))])]
        raise SpecError(where, shown(self.text), one_of(allowed), self._hint(named))

    def _split_equal_flows(self, within: list[Any]) -> None:
        """One flow of several equal ones is set: they are written out, by the names they have."""
        base, _, number = self.text.rpartition("-")
        if not number.isdecimal() or self.text in _names(within) or base not in _names(within):
            return
        place = _names(within)[base]
        count = within[place].get("count")
        if isinstance(count, int) and 1 <= int(number) <= count <= MOST_EQUAL_FLOWS:
            alike = {key: value for key, value in within[place].items() if key != "count"}
            within[place : place + 1] = [
                {**copy.deepcopy(alike), "name": f"{base}-{each}"} for each in range(1, count + 1)
            ]

    def _hint(self, named: Mapping[str, int]) -> str | None:
        a, arrow, b = self.text.partition("->")
        if arrow and f"{b}->{a}" in named:
            return f"{b}->{a}"  # and its `reverse`
        return nearest(self.text, named)


def _names(within: Sequence[Any]) -> dict[str, int]:
    """Names of a list's tables to their places: their own, or the two hosts of links."""
    tables = [each if isinstance(each, Mapping) else {} for each in within]
    ends = [(each.get("a"), each.get("b")) for each in tables]
    if ends and all(isinstance(host, str) for pair in ends for host in pair):
        pairs = tuple((str(a), str(b)) for a, b in ends)
        forward = Topology(tuple(hosts_of(pairs)), pairs).queue_names[::2]
        return {name: index for index, name in enumerate(forward)}
    names = [each.get("name") for each in tables]
    return {name: index for index, name in enumerate(names) if isinstance(name, str)}


def _put(document: dict[str, Any], setting: Setting) -> None:
    all_steps = _steps(setting.path)
    last = all_steps[-1]
    current: Any = document
    path = ""
    for step, following in pairwise(all_steps):
        if isinstance(step, _Place):
            place = step.index(current, path)
            current, path = current[place], joined(path, f"[{place}]")
            continue
        _check_table(current, path)
        path = joined(path, step)
        if step not in current:
            current[step] = _made(following, path, document)
        current = current[step]
    value = copy.deepcopy(setting.value)
    if isinstance(last, _Place):
        current[last.index(current, path)] = value
    else:
        _check_table(current, path)
        _check_seen(current, path, last, value)
        current[last] = value


def _check_seen(table: Mapping[str, Any], path: str, key: str, value: object) -> None:
    """Refuse a value of a whole link where its forward direction has one of its own.

    Raises:
        SpecError: As said; what is meant most often, the forward queue, would not change.
    """
    forward = table.get("forward")
    if isinstance(forward, Mapping) and key in forward:
        own = joined(path, "forward", key)
        allowed = f"{own}: forward has a value of its own, and would keep it"
        raise SpecError(joined(path, key), shown(value), allowed, own)


def _check_table(current: object, path: str) -> None:
    if not isinstance(current, dict):
        raise SpecError(path, shown(current), "a table, where a path goes on with a key")


def _made(following: str | _Place, path: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """The table that a path leads through and that a file left out.

    Raises:
        SpecError: A list is needed there.
    """
    if not isinstance(following, _Place):
        return {}
    if path == "links" and "shape" in document:
        allowed = "a path through the shape, such as shape.bottleneck.qdisc"
        raise SpecError(path, "no list of links", allowed, "shape")
    lists = [key for key, value in document.items() if isinstance(value, list)]
    allowed = f"a list of the description: {', '.join(lists) or 'there is none'}"
    raise SpecError(path, "nothing", allowed, nearest(path, lists))
