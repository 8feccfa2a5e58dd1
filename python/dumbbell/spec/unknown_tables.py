"""The ``[[unknown]]`` tables of an experiment file: what the source does not say.

Each names a setting and the values that it may have had. `dumbbell.compare.explaining` tries them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from dumbbell.spec.base import SpecModel
from dumbbell.spec.refusal import Refused
from dumbbell.spec.sweep_tables import AxisTable

UNKNOWN = "unknown"
"""Key of the tables."""
MOST_UNKNOWNS = 50


def _paths(value: object) -> tuple[str, ...]:
    given = value if isinstance(value, list | tuple) else [value]
    texts = tuple(each.strip() for each in given if isinstance(each, str))
    if not texts or len(texts) < len(given) or not all(texts):
        raise Refused(value, 'a path, such as "flows[bulk].start", or a list of paths')
    return texts


class UnknownTable(AxisTable):
    """``[[unknown]]``: a setting and the values that it may have had."""

    path: Annotated[
        tuple[str, ...],
        BeforeValidator(_paths),
        WithJsonSchema(
            {
                "type": ["string", "array"],
                "items": {"type": "string"},
                "x-unit": "path, list of paths",
                "examples": ["duration", ["links[a->b].tso", "links[c->b].tso"]],
            }
        ),
    ] = Field(description="Of the setting; each of several paths gets the same value.")


class Unknowns(SpecModel):
    """All unknowns of a file."""

    unknown: Annotated[Sequence[UnknownTable], AfterValidator(tuple)] = Field(
        default=(),
        description="What the source does not say; `dumbbell explain FILE` tries the values.",
        max_length=MOST_UNKNOWNS,
    )


def unknown_schemas() -> tuple[dict[str, Any], dict[str, Any]]:
    """JSON schemas: of the key ``unknown``, and of the tables that it names."""
    schema = Unknowns.model_json_schema(ref_template="#/$defs/{model}")
    key = {**schema["properties"][UNKNOWN], "x-unit": "list of tables"}
    return {UNKNOWN: key}, {"UnknownTable": schema["$defs"]["UnknownTable"]}
