"""The ``programs`` of an experiment.

Most experiments have none, so the classes of programs (`dumbbell.spec.programs`) are imported when
a description has one, or when its JSON schema is asked for: they take a tenth of a small run.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

if TYPE_CHECKING:
    from dumbbell.spec.programs import Program

ALLOWANCE = "allow_programs"
"""Key of the validation context: whether command lines of a file are allowed."""


class ProgramQuantities(enum.StrEnum):
    """Quantities in a program's output, for comparisons, sweeps and claims (`measures`)."""

    ROUND_TRIPS = "round-trips"
    """Rows of ``program_round_trips``."""
    THROUGHPUT = "throughput"
    """``throughput_bps`` of ``programs``."""
    INTERVALS = "intervals"
    """Rows of ``program_intervals``; it has a key ``interval``."""
    DELAY = "delay"
    """``delay_mean_s`` of ``programs``: one way."""
    LOSS = "loss"
    """``sent_pkts`` and ``lost_pkts`` of ``programs``."""
    TRANSFERS = "transfers"
    """Rows of ``program_transfers``."""


def programs_of(resolved: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The programs of a resolved description; the key is absent if there are none."""
    programs: Sequence[Mapping[str, Any]] = resolved.get("programs", ())
    return programs


@cache
def _adapter() -> TypeAdapter[Any]:
    from dumbbell.spec.programs import AnyProgram

    return TypeAdapter(Sequence[AnyProgram])


class _WhenGiven:
    """Has a list of programs validated by their classes, which are imported for the first one."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._validated)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return handler(_adapter().core_schema)

    @staticmethod
    def _validated(given: object, info: core_schema.ValidationInfo) -> object:
        return _adapter().validate_python(given, context=info.context)


if TYPE_CHECKING:
    ProgramList = Sequence[Program]
else:
    ProgramList = Annotated[Sequence[Any], _WhenGiven(), AfterValidator(tuple)]
