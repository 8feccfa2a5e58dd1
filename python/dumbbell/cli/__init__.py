"""The command line; the commands are listed in `dumbbell.cli.app.COMMANDS`.

Exit status: 0 done; 1 a theory claim is contradicted, a check of ours or a run failed; 2 bad input;
3 a disk is full; 130 stopped by Ctrl-C. An error is one message on standard error, results are on
standard output.
"""

from __future__ import annotations

import io
import sys
from typing import NoReturn

from dumbbell.cli.startup import (
    collect_garbage_rarely,
    disable_pydantic_plugins,
    freeze_garbage,
    has_room_for_threads,
    open_closed_streams,
)
from dumbbell.cli.terminal.output import escape_tracebacks_and_warnings, say_version, tell
from dumbbell.cli.terminal.signals import exit_on_stop_signals, interrupt_on_stop_signals
from dumbbell.errors import EXIT_BAD_INPUT, EXIT_CONTRADICTED_OR_FAILED, EXIT_STOPPED

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line and exit with its status."""
    if not open_closed_streams():
        tell("error: standard output is closed (> /dev/null throws it away)")
        sys.exit(EXIT_BAD_INPUT)
    if not has_room_for_threads():
        tell(
            "error: too few threads can be started (ulimit -u, or a container's limit on "
            "processes): raise the limit"
        )
        sys.exit(EXIT_CONTRADICTED_OR_FAILED)
    _escape_unencodable_output()
    collect_garbage_rarely()
    disable_pydantic_plugins()
    try:
        interrupt_on_stop_signals()
        status = _run()
    except KeyboardInterrupt:
        # For commands that do not install handlers of their own.
        status = EXIT_STOPPED
    exit_on_stop_signals()
    freeze_garbage()
    sys.exit(status)


def _escape_unencodable_output() -> None:
    """Escape characters that an output's encoding lacks (such as a file on Windows), instead of
    failing.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
            stream.reconfigure(errors="backslashreplace")


def _run() -> int:
    escape_tracebacks_and_warnings()
    if sys.argv[1:] == ["--version"]:
        say_version()  # no command-line parsing is needed for these
        return 0
    from dumbbell.cli.terminal.errors import exit_code_of

    status = 0
    try:
        from dumbbell.cli.app import app

        try:
            app(prog_name="dumbbell")
        except SystemExit as left:
            # Typer exits with 1 when the reader of our output has gone.
            reader_has_gone = isinstance(left.__context__, BrokenPipeError)
            status = 0 if reader_has_gone else int(left.code or 0)
        sys.stdout.flush()
    except Exception as error:
        code = exit_code_of(error)
        if code is None:
            raise  # a bug in dumbbell: show the traceback
        status = code or status
    return status
