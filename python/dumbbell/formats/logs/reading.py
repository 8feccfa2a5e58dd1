"""Whose output a file is, by what is in it, and reading it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.logs.iperf import is_iperf, read_iperf
from dumbbell.formats.logs.iperf3 import is_iperf3, read_iperf3
from dumbbell.formats.logs.irtt import is_irtt, read_irtt
from dumbbell.formats.logs.itgdec import is_itgdec, read_itgdec
from dumbbell.formats.logs.model import Log, LogFormat
from dumbbell.formats.logs.netperf import is_netperf, read_netperf
from dumbbell.formats.logs.ping import is_ping, read_ping_log
from dumbbell.formats.logs.ss import is_ss, read_ss
from dumbbell.formats.logs.tc import is_tc, read_tc_log
from dumbbell.formats.logs.text import LogText


@dataclass(frozen=True, slots=True)
class LogReader:
    """How a format is known and read.

    Attributes:
        is_own: Whether a text is of that format.
        read: Reads it, or raises `UnreadableError`; nothing else.
    """

    is_own: Callable[[LogText], bool]
    read: Callable[[LogText], Log]


READERS: dict[LogFormat, LogReader] = {
    LogFormat.IRTT: LogReader(is_irtt, read_irtt),
    LogFormat.IPERF3: LogReader(is_iperf3, read_iperf3),
    LogFormat.IPERF: LogReader(is_iperf, read_iperf),
    LogFormat.PING: LogReader(is_ping, read_ping_log),
    LogFormat.ITGDEC: LogReader(is_itgdec, read_itgdec),
    LogFormat.NETPERF: LogReader(is_netperf, read_netperf),
    LogFormat.SS: LogReader(is_ss, read_ss),
    LogFormat.TC: LogReader(is_tc, read_tc_log),
}
"""In the order in which a text is asked; no text is of two formats unless it has lines of both."""


def log_format(text: LogText) -> LogFormat | None:
    """Whose output a text is; None for nobody's that is known."""
    return next((format_ for format_, each in READERS.items() if each.is_own(text)), None)


def read_log(source: str | Path) -> Log:
    """Read what a program printed.

    Args:
        source: Path of the file.

    Returns:
        Of the type of its format: `PingLog`, `ItgLog`, `Iperf3Log`, `IperfLog`, `SsLog`, `TcLog`,
        `IrttLog` or `NetperfLog`. What in it was not understood is counted in ``unknown``.

    Raises:
        UnreadableError: It is of no known format, or nothing in it is.
        FormatError: It is too large.
        OSError: It cannot be read.
    """
    return log_of_text(LogText.of_file(Path(source)))


def log_of_text(text: LogText) -> Log:
    """As `read_log`, of a text."""
    format_ = log_format(text)
    if format_ is None:
        known = ", ".join(each.value for each in LogFormat)
        raise UnreadableError(text.name, f"not the output of a known program ({known})")
    return READERS[format_].read(text)
