"""The one family of exceptions, and the exit codes of the command line.

Every error that a person can cause says where (a path such as ``links[0].forward.rate``),
what was found, what is allowed and, when one is close, the word that was probably meant.
"""

from __future__ import annotations

import enum

EXIT_DONE = 0
EXIT_CONTRADICTED_OR_FAILED = 1
EXIT_BAD_INPUT = 2


class DumbbellError(Exception):
    """Base of every error dumbbell raises on purpose."""

    exit_code = EXIT_CONTRADICTED_OR_FAILED


class SpecError(DumbbellError):
    """An experiment that cannot be run as described.

    Attributes:
        path: Where in the description, for example ``flows[1].source.size``.
        value: What was found there, as text.
        allowed: What would have been accepted.
        hint: The nearest accepted word, or None.
    """

    exit_code = EXIT_BAD_INPUT
    is_sentence = False
    """Whether the message is one sentence, and not value and what is allowed."""

    def __init__(self, path: str, value: object, allowed: str, hint: str | None = None) -> None:
        """See the attributes."""
        self.path = path
        self.value = str(value)
        self.allowed = allowed
        self.hint = hint
        super().__init__(str(self))

    def __str__(self) -> str:
        """Path, value, what is allowed and the hint, in one line."""
        text = f"{self.path or 'experiment'}: {self.value!r} is not allowed here; {self.allowed}"
        return f"{text} (did you mean {self.hint!r}?)" if self.hint else text


class FailureKind(enum.Enum):
    """Why a run gave no result."""

    CANCELLED = "cancelled"
    """Somebody asked it to stop."""
    STANDSTILL = "standstill"
    """Events without an end at one instant of virtual time."""
    TOO_MANY_EVENTS = "too many events"
    """Many times the events that were foreseen."""
    OUT_OF_MEMORY = "out of memory"
    """It needs more memory than there is for it."""
    FAILED = "failed"
    """Anything else; the message says what."""


class RunError(DumbbellError):
    """A run that was well described but failed.

    Attributes:
        kind: Why.
    """

    def __init__(self, message: str, kind: FailureKind = FailureKind.FAILED) -> None:
        """See the attributes."""
        self.kind = kind
        super().__init__(message)
