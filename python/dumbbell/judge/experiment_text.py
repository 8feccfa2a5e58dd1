"""A section's experiment as the text of a file that a person reads and runs alone."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.judge.asked import Asked
from dumbbell.judge.section import Expectation, Section, Trial

OURS = "threshold of ours"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def experiment_text(section: Section, trial: Trial, asked: Asked) -> str:
    """The TOML of a section's experiment with its claims.

    Args:
        section: Whose it is.
        trial: Its experiment.
        asked: About what.
    """
    heading = f"RFC 9743 section {section.rfc}: {section.title}. {section.question}"
    comment = [
        *textwrap.wrap(heading, 96),
        "",
        f"    dumbbell run {section.id}.toml      # the first cell",
        f"    dumbbell check {section.id}.toml    # all cells, and the claims",
    ]
    document = {
        "name": section.id,
        **trial.document,
        "claim": [_claim(section, each) for each in trial.expectations],
    }
    head = "\n".join(f"# {each}".rstrip() for each in comment)
    return f"{head}\n\n" + "\n".join(_lines(document)) + "\n"


def _claim(section: Section, each: Expectation) -> dict[str, Any]:
    source = each.source or f"RFC 9743 section {section.rfc}; {OURS}"
    table = {
        "id": f"{section.id}-{each.id}",
        "statement": each.statement,
        "source": source,
        "quantity": each.quantity,
        **each.rule,
        **({"amended": dict(each.amended)} if each.amended else {}),
    }
    # A list of values is a grid of cells; a value that is a list is the one of such a grid.
    where = {
        path: [value] if isinstance(value, list) else value for path, value in each.where.items()
    }
    return {**table, "where": where} if where else table


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    tables = {}
    for key, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            tables[key] = value
        else:
            yield f"{_key(key)} = {_value(value)}"
    for key, rows in tables.items():
        for row in rows:
            yield ""
            yield f"[[{_key(key)}]]"
            for name, value in row.items():
                yield f"{_key(name)} = {_value(value)}"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case Mapping():
            inside = ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items())
            return f"{{ {inside} }}"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"no TOML of {type(value).__name__}")


def _text(text: str) -> str:
    # What JSON escapes, a basic string of TOML escapes alike; of DEL JSON says nothing.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
