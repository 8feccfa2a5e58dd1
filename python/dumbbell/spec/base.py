"""Base classes of the parts of a description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic._internal._model_construction import ModelMetaclass

from dumbbell.spec.refusal import raise_spec_error, refuse_unknown_keys


class _OneErrorFamily(ModelMetaclass):
    """Metaclass that makes ``Link(rate="5")`` raise `SpecError`, like a file with the same error.

    Pydantic creates nested models without calling the class, so an error in a larger description
    still gets its full path. (``__init__`` would be called for nested models too.)
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805  of a metaclass
        try:
            return super().__call__(*args, **kwargs)
        except ValidationError as error:
            raise_spec_error(error, kwargs)


class SpecModel(BaseModel, metaclass=_OneErrorFamily):
    """A table of the description: immutable; unknown keys are refused."""

    model_config = ConfigDict(
        # What a file does not have is never read: half of the models.
        defer_build=True,
        extra="forbid",
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        allow_inf_nan=False,
    )
    meant_by: ClassVar[Mapping[str, str]] = {}
    """Keys that users may look for here, with the keys to use instead."""

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """The keys a file may give, in their order."""
        return tuple(
            field.validation_alias if isinstance(field.validation_alias, str) else name
            for name, field in cls.model_fields.items()
        )

    @classmethod
    def read(cls, data: Mapping[str, Any], context: Mapping[str, Any] | None = None) -> Self:
        """Create a model from a table of a file.

        Raises:
            SpecError: Something in it is not allowed.
        """
        try:
            return cls.model_validate(data, context=dict(context or {}))
        except ValidationError as error:
            raise_spec_error(error, data)

    def with_(self, **changes: Any) -> Self:
        """A copy with some keys changed, checked again as a whole."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**(given | changes))

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: object) -> object:
        if isinstance(data, Mapping):
            # `from` is a keyword of Python, so `from_` is accepted too.
            given = {key: value for key, value in data.items() if key not in cls.model_fields}
            refuse_unknown_keys(given, cls.keys(), cls.meant_by)
        return data


def _require_kind(schema: dict[str, Any]) -> None:
    schema["required"] = ["kind", *schema.get("required", [])]


class Kind(SpecModel):
    """Base of tables of which one of several kinds is allowed, selected by ``kind`` in a file.

    In Python the class determines the kind, so ``kind`` has a default.
    """

    model_config = ConfigDict(json_schema_extra=_require_kind)
