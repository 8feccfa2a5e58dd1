"""The work was stopped before there was anything to show."""

from __future__ import annotations

from dumbbell.errors import EXIT_STOPPED, DumbbellError


class Interrupted(DumbbellError):  # noqa: N818 - a wish, not an error
    """Stopped by a person, with nothing finished that could be reported.

    The exit code is the shell's for a program that Ctrl-C ended (128 + SIGINT).
    """

    exit_code = EXIT_STOPPED
