"""How values of a type are resolved, and how resolved ones are written again.

A type of the description has its `Conversion` among its annotations, beside its check and its JSON
schema. So a key is described once, by its field in a model: its name in the resolved description
and the way there and back follow from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

if TYPE_CHECKING:
    from dumbbell.spec.base import SpecModel


@dataclass(frozen=True, slots=True)
class Conversion:
    """Of the values of a type.

    Attributes:
        resolve: From what a person wrote, after its check.
        write: Back; None for what nobody writes.
        unit: What the name of a resolved key ends with, such as ``ns``; empty for none.
    """

    resolve: Callable[[Any], Any]
    write: Callable[[Any], Any]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedKey:
    """A key of a model.

    Attributes:
        attribute: In Python.
        name: As a person writes it.
        resolved: As the resolved description has it.
        conversion: Of its values.
    """

    attribute: str
    name: str
    resolved: str
    conversion: Conversion

    def of(self, model: SpecModel) -> Any:
        """Its value in a model, as resolved; None where it is left out and has no default."""
        value = getattr(model, self.attribute)
        return None if value is None else self.conversion.resolve(value)


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def same(value: Any) -> Any:
    """The value itself."""
    return value


PLAIN = Conversion(_listed, same)
"""Of numbers, words, true and false, and lists of them."""


def conversion_of(annotation: Any, *metadata: Any) -> Conversion:
    """Of a type, or of a type with what is annotated of it."""
    return next(_conversions(annotation, *metadata), PLAIN)


def _conversions(annotation: Any, *metadata: Any) -> Iterator[Conversion]:
    yield from (each for each in metadata if isinstance(each, Conversion))
    if get_origin(annotation) is Annotated:
        yield from _conversions(*get_args(annotation))
    elif get_origin(annotation) in (Union, UnionType):
        for choice in get_args(annotation):
            yield from _conversions(choice)


@cache
def keys_of(model: type[SpecModel]) -> Mapping[str, ResolvedKey]:
    """The keys of a model by their names, its own in front of those of its bases."""
    attributes = (each for base in model.__mro__ for each in inspect.get_annotations(base))
    keys = {}
    for attribute in attributes:
        field = model.model_fields.get(attribute)
        if field is not None:
            alias = field.validation_alias
            name = alias if isinstance(alias, str) else attribute
            conversion = conversion_of(field.annotation, *field.metadata)
            resolved = f"{name}_{conversion.unit}" if conversion.unit else name
            keys[name] = ResolvedKey(attribute, name, resolved, conversion)
    return MappingProxyType(keys)


def resolved(model: SpecModel, *without: str) -> dict[str, Any]:
    """The keys of a model but some, as the resolved description has them."""
    keys = keys_of(type(model)).items()
    return {key.resolved: key.of(model) for name, key in keys if name not in without}
