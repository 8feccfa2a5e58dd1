"""The ``[[claim]]`` tables of an experiment file.

Each table is a claim about a quantity in a cell, which a rule of `dumbbell.claims.rules` judges. It
contains the margins, so they are fixed before anything runs. `dumbbell.compare.checking` resolves
the paths; it has the experiment and its quantities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from dumbbell.errors import SpecError
from dumbbell.spec.base import Kind, SpecModel
from dumbbell.spec.fields import Title
from dumbbell.spec.refusal import Refused, nearest, one_of

CLAIM = "claim"
"""Key of the tables."""
MOST_CLAIMS = 1000
SIDES = ("equals", "at least", "at most")
LAWS = ("normal", "log-normal", "any")
_LARGEST = 1e300
"""Of a number; neither infinite nor one that a float cannot hold is below it."""
ORIGINS = ("theory", "published", "elsewhere")


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Refused(value, "a sentence")
    return value.strip()


def _word(value: object, words: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in words:
        raise Refused(value, one_of(words), nearest(value, words))
    return value


def _amount(value: object) -> str | float:
    """Text with a unit, or a number, depending on the quantity."""
    if isinstance(value, str):
        return value
    # Of what is no number nothing is below anything.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LARGEST:
        raise Refused(value, 'a value in the unit of the quantity, such as "20ms", or a number')
    return float(value)


def _level(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise Refused(value, "a number between 0 and 1, such as 0.95")
    return float(value)


def _settings(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise Refused(value, 'values by their paths, such as { "links[a->b].qdisc" = "pie" }')
    for path, each in value.items():
        if each == []:
            raise Refused(each, "at least one value", path=path)
    return dict(value)


def _one_path(value: object) -> dict[str, Any]:
    values = _settings(value)
    lists = [each for each in values.values() if isinstance(each, list) and len(each) > 1]
    if len(values) != 1 or not lists:
        raise Refused(
            value,
            'two or more values of one path, such as { "links[a->b].delay" = ["1ms", "9ms"] }',
        )
    return values


Sentence = Annotated[
    str, BeforeValidator(_text), WithJsonSchema({"type": "string", "x-unit": "text"})
]
Amount = Annotated[
    str | float,
    BeforeValidator(_amount),
    WithJsonSchema({"type": ["string", "number"], "x-unit": "value", "examples": ["20ms", 0.5]}),
]
Level = Annotated[
    float,
    BeforeValidator(_level),
    WithJsonSchema(
        {"type": "number", "x-unit": "0 to 1", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    ),
]
Path = Annotated[
    str,
    BeforeValidator(_text),
    WithJsonSchema({"type": "string", "x-unit": "path", "examples": ["flow[bulk].goodput_bps"]}),
]
_BY_PATH = {
    "type": "object",
    "x-unit": "values by path",
    "examples": [{"links[a->b].forward.qdisc": "pie"}],
}
Settings = Annotated[dict[str, Any], BeforeValidator(_settings), WithJsonSchema(_BY_PATH)]
OnePath = Annotated[
    dict[str, Any],
    BeforeValidator(_one_path),
    WithJsonSchema(
        {
            "type": "object",
            "x-unit": "values of a path",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": {"type": "array", "minItems": 2},
        }
    ),
]


def _words(*words: str) -> Any:
    return BeforeValidator(lambda value: _word(value, words)), WithJsonSchema(
        {"type": "string", "x-unit": "word", "enum": list(words)}
    )


OriginWord = Annotated[str, *_words(*ORIGINS)]
SideWord = Annotated[str, *_words(*SIDES)]
LawWord = Annotated[str, *_words(*LAWS)]
BetterWord = Annotated[str, *_words("higher", "lower")]


class ComparisonTerm(SpecModel):
    """The reference of a claim if it is not a number: another quantity, or another cell."""

    quantity: Path | None = Field(default=None, description="Another one; the same if left out.")
    where: Settings = Field(
        default_factory=dict, description="What is otherwise there, by path; else the same cell."
    )


def _bound(value: object) -> str | float | ComparisonTerm:
    if not isinstance(value, Mapping):
        return _amount(value)
    try:
        return ComparisonTerm.read(value)
    except SpecError as error:
        raise Refused(
            error.value, error.allowed, error.hint, path=error.path, reason=error.reason
        ) from None


Bound = Annotated[str | float | ComparisonTerm, BeforeValidator(_bound)]


class Amended(SpecModel):
    """The amendment of a rule after a run."""

    when: Sentence = Field(description="Date, such as `2026-03-14`.")
    what: Sentence = Field(description="What was changed and why.")


class ClaimTable(Kind):
    """Keys of all claims."""

    statement: Sentence = Field(description="The claim, in a sentence.")
    id: Title | None = Field(
        default=None, description="Short and unique; `claim-1` and so on if left out."
    )
    source: Sentence | None = Field(
        default=None, description="Who says so; a printed number needs one."
    )
    note: Sentence | None = Field(default=None, description="A remark beside the verdict.")
    fact: Sentence | None = Field(
        default=None, description="Claims that follow from one another have it in common."
    )
    amended: Amended | None = Field(
        default=None, description="When and how the rule was changed after a run."
    )


class Measuring(ClaimTable):
    """A claim about a quantity in a cell."""

    quantity: Path = Field(description="Path of a number of a run.")
    where: Settings = Field(
        default_factory=dict,
        description="The cell, by the values of its settings; a list of values is a grid, at every "
        "point of which the claim must hold.",
    )
    as_published: Settings = Field(
        default_factory=dict,
        description="What the published run had, by path; a run that has less is a preview.",
    )


class IntervalClaim(Measuring):
    """Base of claims that are judged by an interval."""

    level: Level = Field(default=0.95, description="Of the interval.")


class EqualsTable(IntervalClaim):
    """The mean equals a value within a margin."""

    kind: Literal["equals"] = Field(default="equals", description="A mean equals a value.")
    value: Amount = Field(description="What it should be.")
    margin: Amount = Field(description="What counts as equal; `2%` is relative to the value.")
    origin: OriginWord = Field(default="theory", description="Who says so.")
    divided_by: ComparisonTerm | None = Field(
        default=None, description="The claim is about the ratio of the means."
    )
    less: ComparisonTerm | None = Field(
        default=None, description="The claim is about the difference of the means."
    )


class PublishedTable(IntervalClaim):
    """A published number is compared with the result of one run of the published experiment."""

    kind: Literal["published"] = Field(
        default="published", description="A printed number, and what one run prints."
    )
    printed: Amount = Field(description="The number.")
    rounding: Amount | None = Field(
        default=None, description="What print leaves open; half of the last digit if left out."
    )
    law: LawWord = Field(
        default="normal",
        description="What is taken for granted of what one run prints; `any` needs 39 runs.",
    )
    jitter: Amount | None = Field(
        default=None, description="Standard deviation that the source's instrument has besides."
    )
    origin: OriginWord = Field(default="published", description="Where it was printed.")
    divided_by: ComparisonTerm | None = Field(
        default=None, description="It is the ratio to this, in one run."
    )
    less: ComparisonTerm | None = Field(
        default=None, description="It is the difference from this, in one run."
    )


class OrderingTable(IntervalClaim):
    """A quantity is above or below another or a number, or grows from cell to cell."""

    kind: Literal["ordering"] = Field(default="ordering", description="Above, below, or growing.")
    along: OnePath | None = Field(
        default=None, description="It grows from each value of this path to the next."
    )
    above: Bound | None = Field(
        default=None,
        description="It is above this value, quantity or cell.",
        json_schema_extra={"x-unit": "value or table"},
    )
    below: Bound | None = Field(
        default=None,
        description="It is below this value, quantity or cell.",
        json_schema_extra={"x-unit": "value or table"},
    )
    slack: Amount | None = Field(
        default=None, description="How far the wrong way still counts as no difference."
    )
    origin: OriginWord = Field(default="published", description="Who says so.")


class EquivalentTable(IntervalClaim):
    """Two cells or quantities, or all values of a path, are equal within a margin."""

    kind: Literal["equivalent"] = Field(
        default="equivalent", description="The same within a margin."
    )
    to: ComparisonTerm | None = Field(default=None, description="What it is the same as.")
    along: OnePath | None = Field(
        default=None, description="It is the same for any two values of this path."
    )
    margin: Amount | None = Field(
        default=None,
        description="What does not matter; if left out 2 ms of delays, and of rates 3 Mbit/s or "
        "3 % of what is possible, whichever is less.",
    )
    origin: OriginWord = Field(default="published", description="Who says so.")


class ShareTable(IntervalClaim):
    """A share: of the capacity, of packets, or of flows that do better than in another cell."""

    kind: Literal["share"] = Field(default="share", description="A share.")
    value: Amount = Field(description="From 0 to 1.")
    side: SideWord = Field(default="equals", description="Of the value.")
    margin: Amount | None = Field(default=None, description="Of `equals`.")
    better_than: ComparisonTerm | None = Field(
        default=None,
        description="The share of the flows of a group that do better than there; `quantity` is "
        "then `flow[GROUP].METRIC`.",
    )
    better: BetterWord | None = Field(
        default=None, description="Which is better; of rates `higher`, of delays `lower`."
    )
    origin: OriginWord = Field(default="published", description="Who says so.")


class SpreadTable(IntervalClaim):
    """How much a number varies among the flows of a group, relative to their median."""

    kind: Literal["spread"] = Field(default="spread", description="How much flows differ.")
    value: Amount = Field(description="5th to 95th percentile over the median, or a ratio of two.")
    side: SideWord = Field(default="equals", description="Of the value.")
    margin: Amount | None = Field(default=None, description="Of `equals`.")
    divided_by: ComparisonTerm | None = Field(
        default=None, description="It is the ratio to that there."
    )
    origin: OriginWord = Field(default="published", description="Who says so.")


class SupremumTable(IntervalClaim):
    """A bound that the maximum of a run approaches within one packet and never exceeds."""

    kind: Literal["supremum"] = Field(default="supremum", description="A least upper bound.")
    bound: Amount = Field(description="The least upper bound.")
    packet: Amount = Field(description="One packet, in the quantity's unit.")
    resolution: Amount | None = Field(
        default=None, description="Of the instrument, allowed above the bound."
    )
    origin: OriginWord = Field(default="theory", description="Who says so.")


class CheckTable(Measuring):
    """A check that holds by construction in every single run; it is not counted."""

    kind: Literal["check"] = Field(default="check", description="It holds by construction.")
    value: Amount = Field(description="What each run must give.")
    side: SideWord = Field(default="equals", description="Of the value.")
    tolerance: Amount | None = Field(default=None, description="What rounding allows.")
    because: Sentence = Field(description="Why it holds by construction.")


class AgreementTable(IntervalClaim):
    """Two backends agree; judged with ``--backend sim,kernel``."""

    kind: Literal["agreement"] = Field(default="agreement", description="Two backends agree.")
    relative: Level = Field(default=0.05, description="Margin, as a share of the other's mean.")
    floor: Amount | None = Field(
        default=None,
        description="The margin is at least this; if left out a packet's time or 0.5 ms of delays, "
        "and what does not matter of rates.",
    )


class CalibrationTable(ClaimTable):
    """A parameter that was fitted to published numbers; it is shown but not counted."""

    kind: Literal["calibration"] = Field(
        default="calibration", description="A number that chose a parameter."
    )
    parameter: Sentence = Field(description="What was chosen.")
    value: float = Field(description="What was taken.", json_schema_extra={"x-unit": "number"})
    unit: str = Field(default="1", description="Of the value.")
    used: Sentence = Field(description="The printed numbers that chose it.")
    nominal: float | None = Field(
        default=None,
        description="What the source says of it.",
        json_schema_extra={"x-unit": "number"},
    )


AnyClaim = Annotated[
    EqualsTable
    | PublishedTable
    | OrderingTable
    | EquivalentTable
    | ShareTable
    | SpreadTable
    | SupremumTable
    | CheckTable
    | AgreementTable
    | CalibrationTable,
    Field(discriminator="kind"),
]


class Claims(SpecModel):
    """All claims of a file."""

    claim: Annotated[Sequence[AnyClaim], AfterValidator(tuple)] = Field(
        default=(),
        description="What is claimed of it; `dumbbell check FILE` judges that.",
        max_length=MOST_CLAIMS,
    )


def common_schema() -> dict[str, Any]:
    """JSON schema of the keys that claims of every kind, or of nearly every one, have."""
    return IntervalClaim.model_json_schema()


def claim_schemas() -> tuple[dict[str, Any], dict[str, Any]]:
    """JSON schemas: of the key ``claim``, and of the tables that it names."""
    schema = Claims.model_json_schema(ref_template="#/$defs/{model}")
    tables = schema["$defs"]
    key = {**schema["properties"][CLAIM], "x-unit": "list of tables"}
    return {CLAIM: key}, tables
