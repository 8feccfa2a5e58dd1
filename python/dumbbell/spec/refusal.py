"""Refusal of a description: path, value found, allowed values, nearest word.

Checks raise `Refused` with a path relative to the checked value. Pydantic collects it with the
position in the whole description, and `to_spec_error` joins both.
"""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from dumbbell.errors import SpecError

_LEAST_BEGINNING = 3
"""Letters of a word's beginning that name the word."""
_LONGEST_VALUE = 80
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = _LONGEST_VALUE
_short.maxlevel = 2

_ALLOWED = {
    "model_type": "a table, such as {{ key = value }}",
    "model_attributes_type": "a table, such as {{ key = value }}",
    "list_type": "a list, such as [a, b]",
    "is_instance_of": "a list, such as [a, b]",
    "sequence_str": "a list, such as [a, b]",
    "union_tag_not_found": "a table with a key {discriminator}",
    "union_tag_invalid": "one of {expected_tags}",
    "extra_forbidden": "no such key",
    "json_invalid": "JSON ({error})",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number of at most {le}",
    "finite_number": "a finite number",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    "string_too_short": "text of at least {min_length} characters",
    "string_too_long": "text of at most {max_length} characters",
}
"""Allowed values for pydantic's error types; placeholders are pydantic's context."""


class Refused(ValueError):  # noqa: N818  pydantic collects it; people see a SpecError
    """A value that is not allowed.

    Attributes:
        path: Path relative to the checked
        value: ``""``, ``mean``, ``changes[1].at``. value: The value found there, as text.
        allowed: The accepted values.
        hint: The nearest accepted word, or None.
        reason: Why the value is refused, if that is not obvious; or None.
    """

    def __init__(
        self,
        value: object,
        allowed: str,
        hint: str | None = None,
        path: str = "",
        reason: str | None = None,
    ) -> None:
        """See the attributes; ``value`` may be anything."""
        self.path = path
        self.value = shown(value)
        self.allowed = allowed
        self.hint = hint
        self.reason = reason
        super().__init__(f"{self.value}: {allowed}")


def shown(value: object) -> str:
    """A value as text of bounded length; text is unchanged."""
    try:
        text = value if isinstance(value, str) else _short.repr(value)
    except ValueError:  # an integer with thousands of digits
        text = "a number that is far too long"
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def nearest(word: object, words: Iterable[str]) -> str | None:
    """The word that was probably meant: the closest, or the first that begins with it; or None."""
    if not isinstance(word, str):
        return None
    lowered = {known.lower(): known for known in words}
    asked = word.lower()[:_LONGEST_VALUE]
    close = difflib.get_close_matches(asked, lowered, n=1, cutoff=0.6)
    if not close and len(asked) >= _LEAST_BEGINNING:
        close = [known for known in lowered if known.startswith(asked)]
    return lowered[close[0]] if close else None


def one_of(words: Sequence[str]) -> str:
    """The allowed words for an error message; the first twenty if there are many."""
    some = ", ".join(words[:20])
    return f"one of {some}{' and others' if len(words) > 20 else ''}"


def joined(*parts: str) -> str:
    """Parts of a path put together: ``links[0]`` and ``rate`` give ``links[0].rate``."""
    path = ""
    for part in parts:
        dot = "." if path and part and not part.startswith("[") else ""
        path = f"{path}{dot}{part}"
    return path


def refuse_unknown_keys(
    data: Mapping[Any, Any],
    known: Sequence[str],
    meant_by: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Refuses the first key that is none of ``known``; of some it is known what they mean."""
    for key in data:
        if key not in known:
            if key in meant_by:
                raise Refused(key, meant_by[key], path=key)
            raise Refused(key, one_of(known), nearest(key, known), path=shown(key))


def to_spec_error(error: ValidationError, data: object) -> SpecError:
    """Convert pydantic's first error in ``data`` to a `SpecError`."""
    first = error.errors(include_url=False)[0]
    path = _path_of(first["loc"], data)
    context = first.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, Refused):
        where = joined(path, cause.path)
        return SpecError(where, cause.value, cause.allowed, cause.hint, cause.reason)
    if first["type"] == "missing":
        return SpecError(path, "nothing", "this key is required")
    known = _ALLOWED.get(first["type"])
    allowed = first["msg"] if known is None else known.format(**context)
    hint = None
    if first["type"].startswith("union_tag"):
        path = joined(path, "kind")
        tags = str(context.get("expected_tags", "")).replace("'", "").split(", ")
        hint = nearest(context.get("tag"), tags)
        return SpecError(path, shown(context.get("tag", "nothing")), allowed, hint)
    if first["type"] == "literal_error":
        expected = str(context.get("expected", ""))
        words = re.findall(r"'([^']*)'", expected) or [expected]  # numbers have no quotes
        return SpecError(path, shown(first["input"]), one_of(words), nearest(first["input"], words))
    return SpecError(path, shown(first["input"]), allowed, hint)


def raise_spec_error(error: ValidationError, data: object) -> NoReturn:
    """Raises `to_spec_error` without pydantic's own text behind it."""
    raise to_spec_error(error, data) from None


def _path_of(location: Sequence[int | str], data: object) -> str:
    """Pydantic's location as a path.

    Tags that pydantic adds are left out: those for a table with a ``kind``, and those for the
    member of a union, as in ``from.int``, after a value without parts.
    """
    path = ""
    current = data
    for step in location:
        if isinstance(current, str | int | float):
            break
        if isinstance(step, str) and step == _get(current, "kind") and _get(current, step) is None:
            continue
        path = joined(path, f"[{step}]" if isinstance(step, int) else step)
        current = _get(current, step)
    return path


def _get(data: object, key: int | str) -> object:
    """What stands under a key or a place in a list; None when there is none."""
    if isinstance(data, Mapping):
        return data.get(key)
    if isinstance(data, BaseModel) and isinstance(key, str):
        return getattr(data, key, None)
    if isinstance(data, Sequence) and isinstance(key, int) and key < len(data):
        found: object = data[key]
        return found
    return None
