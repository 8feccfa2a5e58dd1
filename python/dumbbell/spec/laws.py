"""Probability distributions of gaps and sizes, as text or as a table.

``"exponential 512B"`` and ``{ law = "exponential", mean = "512B" }`` are the same. A quantity
alone is a constant. Where a time is expected, a packet rate means its inverse:
``"exponential 110pps"`` is an exponential gap with a mean of 1/110 s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from dumbbell import units
from dumbbell.spec.conversions import Conversion
from dumbbell.spec.refusal import Refused, nearest, one_of, refuse_unknown_keys

LONGEST_GAP_S = 200.0 * 86_400
SHORTEST_MEAN_GAP_S = 1e-9
"""Minimum mean gap, s: with mostly zero gaps simulated time would not advance."""
LARGEST_SIZE_BYTES = 1e9
LARGEST_SHAPE = 1e6


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a distribution.

    Attributes:
        name: Name in the resolved description.
        kind: ``quantity`` (with the unit of the drawn values), ``shape`` (a number above 0) or
            ``log`` (a natural logarithm of the quantity in seconds or bytes).
        or_zero: Whether 0 is allowed.
    """

    name: str
    kind: str = "quantity"
    or_zero: bool = False


LAWS: dict[str, tuple[Parameter, ...]] = {
    "exponential": (Parameter("mean"),),
    "constant": (Parameter("value", or_zero=True),),
    "uniform": (Parameter("low", or_zero=True), Parameter("high")),
    "pareto": (Parameter("shape", "shape"), Parameter("scale")),
    "normal": (Parameter("mean", or_zero=True), Parameter("sd", or_zero=True)),
    "lognormal": (Parameter("mu", "log"), Parameter("sigma", "shape", or_zero=True)),
    "gamma": (Parameter("shape", "shape"), Parameter("scale")),
    "weibull": (Parameter("shape", "shape"), Parameter("scale")),
}
"""Distributions and their parameters, in the order of the short form. A normal distribution is
clipped at zero."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A type of quantity that distributions are drawn for.

    Attributes:
        what: Name in error messages.
        parse: Converts text to a number in ``unit``.
        format: Converts a number to text, the exact inverse of `parse`.
        example: An example of a quantity.
        most: Largest parameter.
        unit: Unit of the resolved number.
    """

    what: str
    parse: Callable[[str], float]
    format: Callable[[float], str]
    example: str
    most: float
    unit: str

    def resolve(self, text: str) -> dict[str, Any]:
        """The resolved distribution, with parameters in seconds or bytes.

        Raises:
            Refused: The text is not a distribution.
        """
        words = text.split()
        if not words:
            raise Refused(text, self._allowed())
        if words[0] not in LAWS:
            self._refuse_unknown_law(words)
            words = ["constant", *words]
        law, values = words[0], words[1:]
        parameters = LAWS[law]
        if len(values) != len(parameters):
            names = " ".join(parameter.name for parameter in parameters)
            raise Refused(text, f'"{law} {names}" with a value for each of {names}')
        resolved: dict[str, Any] = {"law": law}
        for parameter, value in zip(parameters, values, strict=True):
            resolved[parameter.name] = self._number(parameter, value)
        if law == "uniform" and resolved["low"] >= resolved["high"]:
            raise Refused(text, "low below high")
        return resolved

    def check(self, value: object) -> str:
        """The short form of a distribution given as text or as a table."""
        if isinstance(value, Mapping):
            value = self._from_table(value)
        if not isinstance(value, str):
            raise Refused(value, self._allowed())
        text = " ".join(value.split())
        self.resolve(text)
        return text

    def text_of(self, resolved: object) -> str:
        """The short form of a resolved distribution.

        Raises:
            Refused: It is not a resolved distribution.
        """
        law = resolved.get("law") if isinstance(resolved, Mapping) else None
        if not isinstance(resolved, Mapping) or law not in LAWS:
            raise Refused(resolved, "a resolved law")
        if set(resolved) != {"law", *(p.name for p in LAWS[law])}:
            raise Refused(dict(resolved), "a resolved law")
        values = [
            self.format(resolved[parameter.name])
            if parameter.kind == "quantity"
            else _number_text(float(resolved[parameter.name]))
            for parameter in LAWS[law]
        ]
        return " ".join([law, *values])

    def _allowed(self) -> str:
        return (
            f'{self.what}, such as "{self.example}", or a law, such as "exponential {self.example}"'
        )

    def _refuse_unknown_law(self, words: list[str]) -> None:
        """Refuse a first word that is neither a distribution nor a quantity."""
        if len(words) == 1 and not words[0].isalpha():
            return
        raise Refused(words[0], one_of(list(LAWS)), nearest(words[0], LAWS))

    def _from_table(self, table: Mapping[Any, Any]) -> str:
        law = table.get("law")
        if not isinstance(law, str) or law not in LAWS:
            raise Refused(law or "nothing", one_of(list(LAWS)), nearest(law, LAWS), path="law")
        names = [parameter.name for parameter in LAWS[law]]
        refuse_unknown_keys(table, ["law", *names])
        words = [law]
        for parameter in LAWS[law]:
            if parameter.name not in table:
                raise Refused("nothing", "this key is required", path=parameter.name)
            value = table[parameter.name]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if parameter.kind != "quantity" and number:
                value = repr(value)
            if not isinstance(value, str) or len(value.split()) != 1:
                raise Refused(value, self._allowed_for(parameter), path=parameter.name)
            self._number(parameter, value, path=parameter.name)
            words.append(value)
        return " ".join(words)

    def _allowed_for(self, parameter: Parameter) -> str:
        bound = "at least 0" if parameter.or_zero else "more than 0"
        if parameter.kind == "quantity":
            return f'for {parameter.name}, {self.what}, {bound}, such as "{self.example}"'
        if parameter.kind == "shape":
            return f"for {parameter.name}, a number {bound} and at most {LARGEST_SHAPE:g}"
        return f"for {parameter.name}, the natural logarithm of {self.what} in {self.unit}"

    def _number(self, parameter: Parameter, text: str, path: str = "") -> float:
        allowed = self._allowed_for(parameter)
        if parameter.kind == "quantity":
            try:
                value = self.parse(text)
            except units.UnitError as error:
                raise Refused(error.value, allowed, error.hint, path) from None
            least, most = 0.0, self.most
        else:
            try:
                value = float(text)
            except ValueError:
                raise Refused(text, allowed, path=path) from None
            logarithm = math.log(self.most)
            least, most = (-logarithm, logarithm) if parameter.kind == "log" else (0, LARGEST_SHAPE)
        at_least = parameter.or_zero or parameter.kind == "log"
        if not (least <= value <= most and (value > least or at_least)):
            raise Refused(text, allowed, path=path)
        return value


def _parse_gap_s(text: str) -> float:
    """A time, or a rate of packets for its inverse, in seconds."""
    if text.lower().endswith("pps"):
        return 1.0 / units.parse_packet_rate_pps(text)
    return units.parse_real_time_s(text)


GAP = Drawn(
    what="a time with its unit or a rate of packets",
    parse=_parse_gap_s,
    format=units.format_real_time,
    example="10ms",
    most=LONGEST_GAP_S,
    unit="seconds",
)
SIZE = Drawn(
    what="a size with its unit",
    parse=units.parse_real_size_bytes,
    format=units.format_real_size,
    example="512B",
    most=LARGEST_SIZE_BYTES,
    unit="bytes",
)


def _number_text(value: float) -> str:
    """A number without a unit, formatted like the laboratory (``lab/src/laws.rs``)."""
    # Anything else is refused when the text is parsed.
    return units.format_number(value) if math.isfinite(value) else repr(value)


def _mean_of_positive_part(mean: float, sd: float) -> float:
    """The mean of max(0, X) for a normal X."""
    if sd == 0:
        return mean
    z = mean / sd
    density = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    return mean * (1.0 + math.erf(z / math.sqrt(2.0))) / 2.0 + sd * density


def _mean_of_pareto(shape: float, scale: float) -> float:
    return math.inf if shape <= 1 else shape * scale / (shape - 1)


def _mean_of_lognormal(mu: float, sigma: float) -> float:
    exponent = mu + sigma**2 / 2.0
    return math.exp(exponent) if exponent < 700 else math.inf


def _mean_of_weibull(shape: float, scale: float) -> float:
    order = 1.0 + 1.0 / shape
    return scale * math.gamma(order) if order < 170 else math.inf


# Of the parameters in the order of `LAWS`.
_MEANS: dict[str, Callable[..., float]] = {
    "exponential": lambda mean: mean,
    "constant": lambda value: value,
    "uniform": lambda low, high: low + (high - low) / 2.0,
    "pareto": _mean_of_pareto,
    "normal": _mean_of_positive_part,
    "lognormal": _mean_of_lognormal,
    "gamma": lambda shape, scale: shape * scale,
    "weibull": _mean_of_weibull,
}


def mean_of(law: Mapping[str, Any]) -> float:
    """The mean of a resolved distribution in its unit; infinite for Pareto with shape 1 or less."""
    values = [law[parameter.name] for parameter in LAWS[law["law"]]]
    return float(_MEANS[law["law"]](*values))


def _check_gap(value: object) -> str:
    text = GAP.check(value)
    if mean_of(GAP.resolve(text)) < SHORTEST_MEAN_GAP_S:
        raise Refused(text, "a law whose mean is at least a nanosecond")
    return text


def _schema(drawn: Drawn, unit: str) -> WithJsonSchema:
    """JSON schema of a law, from `LAWS`."""
    tables = []
    for law, parameters in LAWS.items():
        properties: dict[str, Any] = {"law": {"const": law}}
        for parameter in parameters:
            is_quantity = parameter.kind == "quantity"
            properties[parameter.name] = {"type": "string" if is_quantity else "number"}
        tables.append(
            {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            }
        )
    examples: list[Any] = [drawn.example, f"exponential {drawn.example}"]
    examples.append({"law": "exponential", "mean": drawn.example})
    return WithJsonSchema(
        {"anyOf": [{"type": "string"}, *tables], "examples": examples, "x-unit": unit}
    )


def gap_law(text: str | Mapping[str, Any]) -> dict[str, Any]:
    """Resolve a checked distribution of times, in seconds."""
    return GAP.resolve(GAP.check(text))


def size_law(text: str | Mapping[str, Any]) -> dict[str, Any]:
    """Resolve a checked distribution of sizes, in bytes."""
    return SIZE.resolve(SIZE.check(text))


# A table is converted to its short form, so that the stored value is immutable.
_GAP_SCHEMA, _RESOLVED_GAP = _schema(GAP, "law of times"), Conversion(gap_law, GAP.text_of)
_Text = str | Mapping[str, Any]
GapLaw = Annotated[_Text, BeforeValidator(_check_gap), _GAP_SCHEMA, _RESOLVED_GAP]
OversleepLaw = Annotated[_Text, BeforeValidator(GAP.check), _GAP_SCHEMA, _RESOLVED_GAP]
SizeLaw = Annotated[
    _Text,
    BeforeValidator(SIZE.check),
    _schema(SIZE, "law of sizes"),
    Conversion(size_law, SIZE.text_of),
]
