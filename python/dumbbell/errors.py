"""The one family of exceptions, and the exit codes of the command line.

Every error that a person can cause says where (a path such as ``links[0].forward.rate``),
what was found, what is allowed and, when one is close, the word that was probably meant.
"""

from __future__ import annotations

import enum
import errno

EXIT_DONE = 0
EXIT_CONTRADICTED_OR_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_NO_ROOM = 3
EXIT_STOPPED = 130

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says when a disk is full, or the share or size that one may use of it."""


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
        reason: Why, where the value alone does not show it; or None.
    """

    exit_code = EXIT_BAD_INPUT
    is_sentence = False
    """Whether the message is one sentence, and not value and what is allowed."""

    def __init__(
        self,
        path: str,
        value: object,
        allowed: str,
        hint: str | None = None,
        reason: str | None = None,
    ) -> None:
        """See the attributes."""
        self.path = path
        self.value = str(value)
        self.allowed = allowed
        self.hint = hint
        self.reason = reason
        super().__init__(str(self))

    def __str__(self) -> str:
        """Path, value, what is allowed and the hint, in one line."""
        why = f": {self.reason}" if self.reason else ""
        where = self.path or "experiment"
        text = f"{where}: {self.value!r} is not allowed here{why}; {self.allowed}"
        return f"{text} (did you mean {self.hint!r}?)" if self.hint else text


class MissingExtraError(DumbbellError, ImportError):
    """Something that needs packages which are installed when they are asked for."""

    exit_code = EXIT_BAD_INPUT

    def __init__(self, what: str, extra: str) -> None:
        """Say what to install."""
        super().__init__(f"{what} needs the extra {extra!r}: pip install 'dumbbell[{extra}]'")


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
