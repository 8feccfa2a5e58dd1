"""The error of an interrupted command without results."""

from __future__ import annotations

from dumbbell.errors import EXIT_STOPPED, DumbbellError


class Interrupted(DumbbellError):  # noqa: N818 - a wish, not an error
    """The command was interrupted before any result could be reported.

    The exit code is that of a shell for a program ended by Ctrl-C (128 + SIGINT).
    """

    exit_code = EXIT_STOPPED
