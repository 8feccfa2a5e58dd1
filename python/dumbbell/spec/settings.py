"""Setting values of a description by their paths: ``links[router->receiver].forward.qdisc=pie``.

A path has the form of those in error messages (``links[1].forward.qdisc``). Instead of an index it
may have a name: that of a flow or probe, or for a link its hosts (``links[a->b]``, and ``#2`` for a
parallel one). ``flows[download]`` of a flow with a ``count`` addresses all its flows,
``flows[download-3]`` one of them. Missing tables on a path are created.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from dumbbell.errors import SpecError
from dumbbell.spec.keys import FLOW
from dumbbell.spec.refusal import joined, nearest, one_of, shown
from dumbbell.spec.toml_text import quoted_keys_text
from dumbbell.spec.topology import Topology, hosts_of

_STEP = re.compile(r"(?:^|\.)(?P<key>[A-Za-z_][A-Za-z0-9_-]*)|\[(?P<place>[^\]]+)\]")
_EXAMPLES = "'links[a->b].forward.qdisc', 'flows[NAME].start' or 'duration'"
_AS_IN_A_FILE = (bool, int, str, list, dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of a description.

    Attributes:
        path: The path as typed.
        value: A TOML value: a number, true or false, text, a list or a table.
    """

    path: str
    value: Any

    @classmethod
    def parse(cls, text: str) -> Setting:
        """A setting from ``PATH=VALUE``.

        The value is parsed as TOML if it is a finite number, true, false, quoted text, a list or an
        inline table; otherwise it is text: ``qdisc=fq_codel limit 1000``.

        Raises:
            SpecError: There is no ``=``, or no path before it.
        """
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise SpecError("--set", shown(text), f"PATH=VALUE, where PATH is such as {_EXAMPLES}")
        return cls(path.strip(), _value(value.strip()))

    @classmethod
    def parse_each(cls, text: str) -> list[Setting]:
        """Settings from ``PATH=VALUE`` or ``PATH={VALUE,VALUE}``, like brace expansion of a shell.

        Braces around a TOML table (``{ keep = 50 }``) are a table.

        Raises:
            SpecError: As `parse`.
        """
        whole = cls.parse(text)
        value = whole.value
        if not (isinstance(value, str) and value.startswith("{") and value.endswith("}")):
            return [whole]
        parts = list(_parts(value[1:-1]))
        if len(parts) < 2:
            return [whole]
        return [cls(whole.path, _value(each.strip())) for each in parts]

    def __str__(self) -> str:
        """``PATH=VALUE``, which `parse` reads back."""
        return f"{self.path}={_written(self.value)}"

    @property
    def shown_value(self) -> str:
        """The value in short form, for the header of a table."""
        return shown(self.value)


def settings_applied(document: Mapping[str, Any], settings: Iterable[Setting]) -> dict[str, Any]:
    """Apply settings to a description in the form of a file.

    Args:
        document: The tables and lists of the TOML file; not modified.
        settings: Settings, applied in order.

    Returns:
        The new description, which `Experiment.read` checks.

    Raises:
        SpecError: A path is malformed, leads through a value without parts, or to a missing index
            or name.
    """
    changed = _Changed(document)
    for setting in settings:
        changed.put(setting)
    return changed.document


def separate_settings_applied(
    document: Mapping[str, Any], settings: Iterable[Setting]
) -> dict[str, Any]:
    """Apply settings, of which no two may set the same value, however their paths are spelled.

    Raises:
        SpecError: Two settings set the same value; the message names both. Or as
            `settings_applied`.
    """
    changed = _Changed(document)
    before: list[tuple[Setting, _Target]] = []
    for setting in settings:
        target = changed.target(setting)
        for other, theirs in before:
            if target.meets(theirs):
                allowed = f"either {shown(other.path)} or {shown(setting.path)}"
                raise SpecError(
                    setting.path,
                    str(setting),
                    allowed,
                    reason=f"{other} sets the same value, or a part of it",
                )
        changed.put(setting)
        before.append((setting, target))
    return changed.document


def spelled_as(
    document: Mapping[str, Any], settings: Iterable[Setting], paths: Iterable[str]
) -> list[Setting]:
    """Settings with their paths spelled as in ``paths``, where both lead to the same place.

    Args:
        document: The description in which paths are resolved.
        settings: Settings in any spelling.
        paths: The preferred spellings.

    Raises:
        SpecError: Two settings lead to the same place with different spellings.
    """
    wanted = list(paths)
    found: list[Setting] = []
    first: dict[str, str] = {}
    for setting in settings:
        spelled = spelling_of(document, setting.path, wanted)
        before = first.setdefault(spelled, setting.path)
        if before != setting.path:
            allowed = f"either {shown(before)} or {shown(setting.path)}"
            reason = f"{before} sets the same value"
            raise SpecError(setting.path, str(setting), allowed, reason=reason)
        found.append(Setting(spelled, setting.value))
    return found


def spelling_of(document: Mapping[str, Any], path: str, paths: Iterable[str]) -> str:
    """The element of ``paths`` that leads to the same place as ``path``, or ``path`` itself."""
    known = list(paths)
    if path in known:
        return path
    own = _target(document, path)
    same = (each for each in known if own is not None and _target(document, each) == own)
    return next(same, path)


def other_settings(
    document: Mapping[str, Any], settings: Iterable[Setting], paths: Iterable[str]
) -> tuple[Setting, ...]:
    """The settings whose places none of ``paths`` leads to, in any spelling."""
    spelled = set(paths)
    targets = {_target(document, path) for path in spelled} - {None}
    return tuple(
        each
        for each in settings
        if each.path not in spelled and _target(document, each.path) not in targets
    )


def _value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    value = parsed["value"]
    # `inf` is a rate, dates are not values of a description, and line ends are not allowed.
    is_number = isinstance(value, float) and value - value == 0
    return value if len(parsed) == 1 and (is_number or isinstance(value, _AS_IN_A_FILE)) else text


def _parts(text: str) -> Iterator[str]:
    """Split at commas outside brackets and quotes."""
    depth, quote, begin = 0, "", 0
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{(":
            depth += 1
        elif character in ")}]":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[begin:place]
            begin = place + 1
    yield text[begin:]


def _written(value: Any) -> str:
    """A value as typed: text without quotes, unless TOML would parse it as another type."""
    if isinstance(value, str) and _value(value.strip()) == value:
        return value
    return quoted_keys_text(value)


def _steps(path: str) -> list[str | _Place]:
    """Parse a path into keys and indices.

    Raises:
        SpecError: The path is malformed.
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
class _Member:
    """An entry of a list.

    Attributes:
        place: From 0; of the description's own lists before anything was set.
        number: Of one of several equal flows from 1; None of any other entry, and of all of them.
    """

    place: int
    number: int | None = None

    def meets(self, other: _Member) -> bool:
        is_all = self.number is None or other.number is None
        return self.place == other.place and (is_all or self.number == other.number)


_Step = str | _Member
_DIRECTIONS = ("forward", "reverse")
"""Keys of a link direction, which override those of the link as a whole."""


@dataclass(frozen=True, slots=True)
class _Target:
    """The place to which a path leads, independent of its spelling.

    Attributes:
        steps: Keys, and entries of lists.
        keys: Of the table that is put there; empty where no table is.
    """

    steps: tuple[_Step, ...]
    keys: tuple[str, ...] = ()

    def meets(self, other: _Target) -> bool:
        """Whether one sets the same value as the other, or a part of it."""
        if _is_within(self.steps, other.steps):
            return True
        return any(_is_within(ours, other.steps) for ours in self._of_whole_link()) or any(
            _is_within(self.steps, theirs) for theirs in other._of_whole_link()
        )

    def _of_whole_link(self) -> Iterator[tuple[_Step, ...]]:
        """What has these values unless a direction of the link has its own."""
        for number, step in enumerate(self.steps):
            if step in _DIRECTIONS:
                before, after = self.steps[:number], self.steps[number + 1 :]
                for rest in [after] if after else [(key,) for key in self.keys]:
                    yield (*before, *rest)


def _is_within(ours: Sequence[_Step], theirs: Sequence[_Step]) -> bool:
    """Whether one of the two begins like the whole of the other."""
    return all(
        a.meets(b) if isinstance(a, _Member) and isinstance(b, _Member) else a == b
        for a, b in zip(ours, theirs, strict=False)
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """The text in brackets: an index or a name."""

    text: str

    def index(self, within: list[Any], path: str) -> int:
        """The place in the list that stands at a path.

        Raises:
            SpecError: It has no such place.
        """
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


class _Changed:
    """A description under modification by successive settings.

    Attributes:
        document: As it is by now.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document: dict[str, Any] = copy.deepcopy(dict(document))
        # By identity: an entry may be given another name, or move when equal flows are written out.
        # What was replaced is kept, so that nothing else gets its identity.
        self._members: dict[int, tuple[_Member, object]] = {}
        for within in self.document.values():
            if isinstance(within, list):
                for place, entry in enumerate(within):
                    self._number(entry, _Member(place))

    def target(self, setting: Setting) -> _Target:
        """Where the path of a setting leads to.

        Raises:
            SpecError: Nowhere.
        """
        steps, _, _ = self._reached(setting.path)
        keys = tuple(setting.value) if isinstance(setting.value, Mapping) else ()
        return _Target(steps, keys)

    def put(self, setting: Setting) -> None:
        """Set a value.

        Raises:
            SpecError: The path leads nowhere.
        """
        value = copy.deepcopy(setting.value)
        _, path, current = self._reached(setting.path)
        last = _steps(setting.path)[-1]
        if isinstance(last, _Place):
            current[last.index(current, path)] = value
        else:
            _check_seen(current, path, last, value)
            current[last] = value

    def _reached(self, path: str) -> tuple[tuple[_Step, ...], str, Any]:
        """All steps, the path up to the last one as errors say it, and what that one is in."""
        found: list[_Step] = []
        current: Any = self.document
        here = ""
        steps = _steps(path)
        for step, following in zip_longest(steps, steps[1:]):
            if isinstance(step, _Place):
                within = self._list_for(step, current, here)
                place = step.index(within, here)
                found.append(self._member(within, place))
                if following is not None:
                    current, here = within[place], joined(here, f"[{place}]")
                continue
            _check_table(current, here)
            found.append(step)
            if following is not None:
                here = joined(here, step)
                if step not in current:
                    current[step] = _made(following, here, self.document)
                current = current[step]
        return tuple(found), here, current

    def _list_for(self, step: _Place, current: object, path: str) -> list[Any]:
        """The list that stands at a path, with the entry of its own that a step means.

        Raises:
            SpecError: There is no list.
        """
        if not isinstance(current, list):
            raise SpecError(path, shown(current), "a list, where a path goes on with [...]")
        self._split_equal_flows(step.text, current)
        return current

    def _split_equal_flows(self, name: str, within: list[Any]) -> None:
        """One flow of several equal ones is set: they are written out, by the names they have."""
        base, _, number = name.rpartition("-")
        names = _names(within)
        if not number.isdecimal() or name in names or base not in names:
            return
        place = names[base]
        count = within[place].get("count")
        if isinstance(count, int) and 1 <= int(number) <= count <= FLOW["count"].bounds["most"]:
            of_all = self._member(within, place)
            alike = {key: value for key, value in within[place].items() if key != "count"}
            within[place : place + 1] = [
                {**copy.deepcopy(alike), "name": f"{base}-{each}"} for each in range(1, count + 1)
            ]
            for each in range(1, count + 1):
                self._number(within[place + each - 1], _Member(of_all.place, each))

    def _number(self, entry: object, member: _Member) -> None:
        if isinstance(entry, dict):
            self._members[id(entry)] = member, entry

    def _member(self, within: list[Any], place: int) -> _Member:
        found = self._members.get(id(within[place]))
        return _Member(place) if found is None else found[0]


def _target(document: Mapping[str, Any], path: str) -> _Target | None:
    """Where a path leads to; None where that is nowhere, unless something else is set first."""
    try:
        return _Changed(document).target(Setting(path, None))
    except SpecError:
        return None


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
    if path == "links" and "home" in document:
        allowed = "a path through the home, such as home.router_up"
        raise SpecError(path, "no list of links", allowed, "home.router_up")
    lists = [key for key, value in document.items() if isinstance(value, list)]
    allowed = f"a list of the description: {', '.join(lists) or 'there is none'}"
    raise SpecError(path, "nothing", allowed, nearest(path, lists))
