"""The table of all keys in ``docs/experiment-file.md``, generated from the models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.spec.claim_tables import common_schema
from dumbbell.spec.experiment import Experiment
from dumbbell.spec.laws import LAWS
from dumbbell.spec.programs import MODELS as PROGRAMS
from dumbbell.spec.sources import MODELS
from dumbbell.spec.traces import MODELS as TRACES

_SECTIONS = {
    "Experiment": "Top of the file",
    "Link": "`[[links]]`",
    "LinkEnd": "`forward` and `reverse` of a link",
    "Change": "`changes` of a link",
    "TraceFile": "`trace` of a link: a file, as a table",
    **{model.__name__: f'`trace` with `kind = "{kind}"`' for kind, model in TRACES.items()},
    "TraceState": "`states` of a trace",
    "Dumbbell": '`shape` with `kind = "dumbbell"`',
    "Chain": '`shape` with `kind = "chain"`',
    "Home": "`[home]`",
    "Flow": "`[[flows]]`",
    **{model.__name__: f'`source` with `kind = "{kind}"`' for kind, model in MODELS.items()},
    "Tcp": "`tcp` of a flow",
    "CwndChange": "`cwnd_changes` of `tcp`",
    "Ping": "`[[probes]]`",
    **{
        model.__name__: f'`[[programs]]` with `kind = "{kind}"`' for kind, model in PROGRAMS.items()
    },
    "Sweep": "`[sweep]`: paths with their values, and these",
    "SweptValues": "Values of a path, where a list does not say enough",
    "Figure": "`[[figure]]`",
    "Claim": "`[[claim]]`, of whatever kind",
    "EqualsTable": '`[[claim]]` with `kind = "equals"`',
    "PublishedTable": '`[[claim]]` with `kind = "published"`',
    "OrderingTable": '`[[claim]]` with `kind = "ordering"`',
    "EquivalentTable": '`[[claim]]` with `kind = "equivalent"`',
    "ShareTable": '`[[claim]]` with `kind = "share"`',
    "SpreadTable": '`[[claim]]` with `kind = "spread"`',
    "SupremumTable": '`[[claim]]` with `kind = "supremum"`',
    "CheckTable": '`[[claim]]` with `kind = "check"`',
    "AgreementTable": '`[[claim]]` with `kind = "agreement"`',
    "CalibrationTable": '`[[claim]]` with `kind = "calibration"`',
    "ComparisonTerm": "What a claim's quantity is held against: "
    "`divided_by`, `less`, `to`, `above` ...",
    "Amended": "`amended` of a claim",
    "UnknownTable": "`[[unknown]]`",
}
_FIRST = ("kind", "a", "b")
_WORDS = {"string": "text", "integer": "whole number", "boolean": "true, false"}


def key_tables() -> str:
    """Markdown: for each table of the description its keys, units, defaults and meaning."""
    schema = Experiment.json_schema()
    common = common_schema()
    tables = {"Experiment": schema, "Claim": common, **schema["$defs"]}
    parts = [
        _table(title, _own(tables[name], common) if name.endswith("Table") else tables[name])
        for name, title in _SECTIONS.items()
    ]
    return "\n".join([*parts, _laws()])


def _own(table: Mapping[str, Any], common: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keys of a table without those of a common table."""
    keys = table["properties"]
    own = {key: field for key, field in keys.items() if key not in common["properties"]}
    return {**table, "properties": own}


def _table(title: str, table: Mapping[str, Any]) -> str:
    required = table.get("required", ())
    lines = [f"### {title}", "", "| key | value | default | meaning |", "| --- | --- | --- | --- |"]
    # The key that selects the kind of table comes first.
    properties = sorted(table["properties"].items(), key=lambda item: item[0] not in _FIRST)
    for key, field in properties:
        cells = [f"`{key}`", _value(field), _default(key, field, required), field["description"]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _value(field: Mapping[str, Any]) -> str:
    """The form of the value: a unit, a word, a table."""
    for part in _alternatives(field):
        if "const" in part and "x-unit" not in part:
            return f"`{part['const']}`"
        if part.get("x-unit"):
            return str(part["x-unit"])
        if "discriminator" in part or "$ref" in part:
            return "table"
        if part.get("type") == "array":
            return "list of tables" if "$ref" in part["items"] else "list"
        if part.get("type") in _WORDS:
            return _WORDS[part["type"]]
    raise AssertionError(f"no words for {field}")


def _alternatives(field: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The alternatives of a schema, without null."""
    yield field
    for part in field.get("anyOf", ()):
        if part.get("type") != "null":
            yield from _alternatives(part)


def _default(key: str, field: Mapping[str, Any], required: Any) -> str:
    if key in required:
        return "required"
    default = field.get("default")
    if default in (None, {}, []):
        return ""
    is_shown = isinstance(default, str | bool | int | float | list)
    return f"`{json.dumps(default)}`" if is_shown else ""


def _laws() -> str:
    lines = ["### Laws", "", "| as text | as a table |", "| --- | --- |"]
    values = {"low": '"64B"', "high": '"1500B"', "shape": "1.5", "mu": "6.2", "sigma": "0.5"}
    quantity = '"512B"'
    for law, parameters in LAWS.items():
        short = " ".join([law, *(parameter.name.upper() for parameter in parameters)])
        names = [parameter.name for parameter in parameters]
        pairs = [f"{name} = {values.get(name, quantity)}" for name in names]
        table = ", ".join([f'law = "{law}"', *pairs])
        lines.append(f"| `{short}` | `{{ {table} }}` |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(key_tables())
