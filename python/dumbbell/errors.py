"""The exceptions of the package, and the exit codes of the command line.

The message of an input error has the place (a path such as ``links[0].forward.rate``), the value
found, the allowed values and, if there is a similar one, the word that was probably meant.
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
"""Error numbers of a full disk, an exceeded quota and an exceeded file size limit."""


class DumbbellError(Exception):
    """Base class of all errors that dumbbell raises deliberately."""

    exit_code = EXIT_CONTRADICTED_OR_FAILED


class SpecError(DumbbellError):
    """An experiment that cannot be run as described.

    Attributes:
        path: Place in the description, for example ``flows[1].source.size``.
        value: The value found there, as text.
        allowed: The accepted values.
        hint: The nearest accepted word, or None.
        reason: Why the value is refused, if that is not obvious; or None.
    """

    exit_code = EXIT_BAD_INPUT
    is_sentence = False
    """Whether the message is one sentence instead of the value and the allowed values."""

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
        """Path, value, allowed values and hint, in one line."""
        why = f": {self.reason}" if self.reason else ""
        where = self.path or "experiment"
        text = f"{where}: {self.value!r} is not allowed here{why}; {self.allowed}"
        return f"{text} (did you mean {self.hint!r}?)" if self.hint else text


class MissingExtraError(DumbbellError, ImportError):
    """A feature needs optional packages that are not installed."""

    exit_code = EXIT_BAD_INPUT

    def __init__(self, what: str, extra: str) -> None:
        """Say what to install."""
        super().__init__(f"{what} needs the extra {extra!r}: pip install 'dumbbell[{extra}]'")


class FailureKind(enum.Enum):
    """Why a run gave no result."""

    CANCELLED = "cancelled"
    """The run was cancelled."""
    STANDSTILL = "standstill"
    """Virtual time did not advance: too many events at one instant."""
    TOO_MANY_EVENTS = "too many events"
    """The number of events exceeded a multiple of the estimate."""
    OUT_OF_MEMORY = "out of memory"
    """The run exceeded its memory budget."""
    FAILED = "failed"
    """Any other failure; see the message."""


class RunError(DumbbellError):
    """A run with a valid description failed.

    Attributes:
        kind: Why.
    """

    def __init__(self, message: str, kind: FailureKind = FailureKind.FAILED) -> None:
        """See the attributes."""
        self.kind = kind
        super().__init__(message)
