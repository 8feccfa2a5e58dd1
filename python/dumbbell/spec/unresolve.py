"""Conversion of a resolved description back to the form of an experiment file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dumbbell import units
from dumbbell.errors import SpecError
from dumbbell.spec.conversions import ResolvedKey, conversion_of, keys_of, same
from dumbbell.spec.keys import CHANGE, EXPERIMENT, LINK, ONE_FLOW, PROBE, Key
from dumbbell.spec.programs import MODELS
from dumbbell.spec.refusal import Refused, joined, nearest, one_of, shown
from dumbbell.spec.source_forms import FORMS, ValueKind
from dumbbell.spec.sources import TAKES
from dumbbell.spec.tcp import SHORT_PACKET_MEMORY_BYTES, CwndChange
from dumbbell.spec.tcp_settings import PROFILES, SETTINGS
from dumbbell.spec.traces import written_trace

_Table = dict[str, Any]


_LISTS = ("hosts", "links", "flows", "probes")


def _keys(keys: Mapping[str, Key], given: object) -> dict[str, tuple[str, Callable[[Any], Any]]]:
    """The keys of a table in the resolved description; some are present only if given."""
    said = given if isinstance(given, Mapping) else {}
    return {
        key.resolved: (name, key.written)
        for name, key in keys.items()
        if key.kind not in ("changes", "trace", "own")
        and (key.presence != "or-absent" or key.resolved in said)
    }


_TCP_BEFORE_0_4: dict[str, int] = {
    "packet_memory_bytes": SHORT_PACKET_MEMORY_BYTES,
    "gso_max_segs": 1,
}
"""Defaults for keys missing in descriptions of older versions."""


def _converters(keys: Iterable[ResolvedKey]) -> dict[str, tuple[str, Callable[[Any], Any]]]:
    return {key.resolved: (key.name, key.conversion.write) for key in keys}


def as_written(resolved: object) -> _Table:
    """The experiment file of a resolved description, as a table.

    Raises:
        SpecError: A key is missing or unknown, or a value of another type.
    """
    has_programs = isinstance(resolved, Mapping) and "programs" in resolved
    lists = (*_LISTS, "programs") if has_programs else _LISTS
    written = _written(resolved, "", _keys(EXPERIMENT, resolved), ("schema", *lists))
    assert isinstance(resolved, Mapping)
    if resolved["schema"] != 1 or isinstance(resolved["schema"], bool):
        raise SpecError("schema", shown(resolved["schema"]), "1")
    written["hosts"] = [
        _written(host, f"hosts[{i}]", {"name": ("name", same)}).get("name")
        for i, host in enumerate(_list(resolved, "hosts"))
    ]
    written["links"] = [
        _link(link, f"links[{i}]") for i, link in enumerate(_list(resolved, "links"))
    ]
    written["flows"] = [
        _flow(flow, f"flows[{i}]") for i, flow in enumerate(_list(resolved, "flows"))
    ]
    written["probes"] = [
        _written(probe, f"probes[{i}]", _keys(PROBE, probe))
        for i, probe in enumerate(_list(resolved, "probes"))
    ]
    if has_programs:
        written["programs"] = [
            _program(each, f"programs[{i}]") for i, each in enumerate(_list(resolved, "programs"))
        ]
    return written


def _program(program: object, path: str) -> _Table:
    """Convert a program by the keys of its kind."""
    kind = program.get("kind") if isinstance(program, Mapping) else None
    if not isinstance(kind, str) or kind not in MODELS:
        kinds = list(MODELS)
        raise SpecError(f"{path}.kind", shown(kind), one_of(kinds), nearest(kind, kinds))
    return _written(program, path, _converters(MODELS[kind].resolved_keys()))


def with_later_keys(resolved: object) -> Any:
    """A resolved description of any version, completed by the defaults of later keys.

    Anything else is returned unchanged and refused by the reader.
    """
    flows = resolved.get("flows") if isinstance(resolved, Mapping) else None
    if not isinstance(flows, Sequence) or isinstance(flows, str):
        return resolved
    assert isinstance(resolved, Mapping)
    return {**resolved, "flows": [_flow_with_later_keys(flow) for flow in flows]}


def _flow_with_later_keys(flow: object) -> object:
    if isinstance(flow, Mapping) and isinstance(tcp := flow.get("tcp"), Mapping):
        return {**flow, "tcp": _TCP_BEFORE_0_4 | dict(tcp)}
    return flow


def check_same(given: Mapping[str, Any], again: Mapping[str, Any]) -> None:
    """Refuse a description that differs from its own resolution, such as an integer given as
    text."""
    if given != again:
        keys = [key for key in again if given.get(key) != again[key]]
        path = keys[0] if keys else ""
        raise SpecError(path, shown(given.get(path)), f"as resolved: {shown(again.get(path))}")


def _written(
    table: object,
    path: str,
    keys: Mapping[str, tuple[str, Callable[[Any], Any]]],
    others: Sequence[str] = (),
) -> _Table:
    """The keys of one table; `others` must be there but are not converted."""
    if not isinstance(table, Mapping):
        raise SpecError(path, shown(table), "a table")
    known = [*keys, *others]
    for key in table:
        if key not in known:
            where = joined(path, shown(key))
            raise SpecError(where, shown(key), one_of(known), nearest(key, known))
    written: _Table = {}
    for key in known:
        if key not in table:
            raise SpecError(joined(path, key), "nothing", "this key is required")
        if key in keys:
            name, convert = keys[key]
            written[name] = _converted(convert, table[key], joined(path, key))
    return {name: value for name, value in written.items() if value is not None}


def _converted(convert: Callable[[Any], Any], value: Any, path: str) -> Any:
    if value is None:
        return None
    try:
        return convert(value)
    except (TypeError, ValueError, OverflowError) as error:
        allowed = getattr(error, "allowed", "a value as resolved")
        raise SpecError(path, shown(value), allowed) from None


def _list(table: Mapping[str, Any], key: str) -> list[Any]:
    if not isinstance(table[key], list):
        raise SpecError(key, shown(table[key]), "a list")
    return list(table[key])


def _link(link: object, path: str) -> _Table:
    hosts: dict[str, tuple[str, Callable[[Any], Any]]] = {"a": ("a", same), "b": ("b", same)}
    written = _written(link, path, hosts, ("forward", "reverse"))
    assert isinstance(link, Mapping)
    for key in ("forward", "reverse"):
        written[key] = _end(link[key], f"{path}.{key}")
    return written


def _end(end: object, path: str) -> _Table:
    traced = ["trace"] if isinstance(end, Mapping) and "trace" in end else []
    written = _written(end, path, _keys(LINK, end), ("changes", *traced))
    assert isinstance(end, Mapping)
    if traced:
        written["trace"] = written_trace(end["trace"], f"{path}.trace", _written)
    written["changes"] = [
        _written(change, f"{path}.changes[{i}]", _keys(CHANGE, change))
        for i, change in enumerate(_list(end, "changes"))
    ]
    return written


def _flow(flow: object, path: str) -> _Table:
    written = _written(flow, path, _keys(ONE_FLOW, flow), ("tcp", "source"))
    assert isinstance(flow, Mapping)
    if flow["tcp"] is not None:
        written["tcp"] = _tcp(flow["tcp"], f"{path}.tcp")
    written["source"] = _source(flow["source"], f"{path}.source")
    return written


_CWND_CHANGE = _converters(keys_of(CwndChange).values())


_CONTROLLER: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "sha256": ("controller_sha256", same),
    "parameters": ("parameters", lambda parameters: parameters or None),
}


def _tcp(tcp: object, path: str) -> _Table:
    """The keys for manual windows and user-defined controllers are optional."""
    given = tcp if isinstance(tcp, Mapping) else {}
    has_changes, has_controller = "cwnd_changes" in given, "controller" in given
    keys: dict[str, tuple[str, Callable[[Any], Any]]] = {
        key.resolved: (name, key.written)
        for name, key in SETTINGS.items()
        if key.resolved in PROFILES["linux-6.1"]
        or (key.kind not in ("cwnd-changes", "own") and key.resolved in given)
    }
    others = [
        *(["cwnd_changes"] if has_changes else []),
        *(["controller"] if has_controller else []),
    ]
    written = _written(tcp, path, keys, others)
    if has_controller:
        controller = given["controller"]
        # `congestion_control` has the class too.
        has_class = isinstance(controller, Mapping) and "class" in controller
        named = ["class"] if has_class else []
        written |= _written(controller, f"{path}.controller", _CONTROLLER, named)
    if has_changes:
        written["cwnd_changes"] = [
            _written(change, f"{path}.cwnd_changes[{i}]", _CWND_CHANGE)
            for i, change in enumerate(_list(given, "cwnd_changes"))
        ]
    return written


_OF_VALUES: Mapping[ValueKind, Callable[[Any], Any]] = {
    **{kind: conversion_of(takes).write for kind, takes in TAKES.items()},
    "exponential-gap": lambda law: _only(law, "exponential", "mean"),
    "constant-gap": lambda law: _only(law, "constant", "value"),
    "times": lambda times: [units.format_time(time) for time in times],
    "sizes": lambda sizes: [units.format_size(size) for size in sizes],
}


def _only(law: object, name: str, parameter: str) -> str:
    """The parameter of the source's only distribution."""
    if not isinstance(law, Mapping) or law.get("law") != name or parameter not in law:
        raise Refused(law, f"the law {name}")
    return units.format_real_time(law[parameter])


def _source(source: object, path: str) -> _Table:
    """Convert a source by the table of keys of its kind; optional keys are present only if
    given."""
    kind = source.get("kind") if isinstance(source, Mapping) else None
    if not isinstance(source, Mapping) or not isinstance(kind, str) or kind not in FORMS:
        kinds = list(FORMS)
        raise SpecError(f"{path}.kind", shown(kind), one_of(kinds), nearest(kind, kinds))
    keys: dict[str, tuple[str, Callable[[Any], Any]]] = {"kind": ("kind", same)}
    for key in FORMS[kind].keys:
        if key.presence != "or-absent" or key.resolved in source:
            keys[key.resolved] = (key.name, _OF_VALUES[key.value])
    return _written(source, path, keys)
