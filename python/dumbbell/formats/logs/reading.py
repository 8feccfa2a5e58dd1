"""Detect the program that wrote a log, and read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.logs.crusader import is_crusader, read_crusader
from dumbbell.formats.logs.iperf import is_iperf, read_iperf
from dumbbell.formats.logs.iperf3 import is_iperf3, read_iperf3
from dumbbell.formats.logs.iperf3_text import is_iperf3_text, read_iperf3_text
from dumbbell.formats.logs.iperf_text import is_iperf_text, read_iperf_text
from dumbbell.formats.logs.irtt import is_irtt, read_irtt
from dumbbell.formats.logs.itgdec import is_itgdec, read_itgdec
from dumbbell.formats.logs.itgdec_flows import is_itgdec_flows, read_itgdec_flows
from dumbbell.formats.logs.model import Log, LogFormat
from dumbbell.formats.logs.ndt7 import is_ndt7, read_ndt7
from dumbbell.formats.logs.netperf import is_netperf, read_netperf
from dumbbell.formats.logs.ping import is_ping, read_ping_log
from dumbbell.formats.logs.ss import is_ss, read_ss
from dumbbell.formats.logs.tc import is_tc, read_tc_log
from dumbbell.formats.logs.text import LogText
from dumbbell.formats.logs.waveform import is_waveform, read_waveform
from dumbbell.formats.logs.windows_ping import is_windows_ping, read_windows_ping


@dataclass(frozen=True, slots=True)
class LogReader:
    """How a kind of log is detected and read.

    Attributes:
        format: The program.
        reads: Supported output, for the documentation.
        prints: Numbers that `dumbbell analyze` prints, for the documentation.
        is_own: Whether a text is of that kind.
        read: The parser; may raise only `UnreadableError`.
    """

    format: LogFormat
    reads: str
    prints: str
    is_own: Callable[[LogText], bool]
    read: Callable[[LogText], Log]


_ECHOES = "requests, loss, round trip: mean, percentiles"
_STREAMS = "throughput sent and received, segments sent again, loss, jitter; intervals"
_REPORTS = "throughput; of a receiver of datagrams loss and jitter; intervals"
_QUEUES = "a queue: sent, dropped, rate on the wire, backlog, the queue's own estimate of delay"
READERS: tuple[LogReader, ...] = (
    LogReader(
        LogFormat.IRTT,
        "`irtt client -o FILE.json`",
        "as ping; loss and delay there and back",
        is_irtt,
        read_irtt,
    ),
    LogReader(
        LogFormat.IPERF3,
        "`-J`, 3.1 to 3.17: TCP and UDP, `-P`, `-R`, `--bidir`, `--json-stream`",
        _STREAMS,
        is_iperf3,
        read_iperf3,
    ),
    LogReader(
        LogFormat.IPERF3,
        "text, 3.0 to 3.17: the same, `-V`, `--timestamps`; of a server's tests the first",
        f"the same, to three digits: {_STREAMS}",
        is_iperf3_text,
        read_iperf3_text,
    ),
    LogReader(
        LogFormat.IPERF, "`-y C`, 2.0 and 2.1: TCP and UDP, `-P`", _REPORTS, is_iperf, read_iperf
    ),
    LogReader(
        LogFormat.IPERF,
        "text, 2.0 and 2.1: client and server, TCP and UDP, `-P`, `-e`",
        f"the same, to three digits: {_REPORTS}",
        is_iperf_text,
        read_iperf_text,
    ),
    LogReader(
        LogFormat.PING,
        "iputils (with `-D`, `-O`, `-q`, IPv6), busybox, macOS and the BSDs; several in a file",
        _ECHOES,
        is_ping,
        read_ping_log,
    ),
    LogReader(
        LogFormat.PING,
        "Windows, in its languages; several in a file",
        f"{_ECHOES}, in whole milliseconds",
        is_windows_ping,
        read_windows_ping,
    ),
    LogReader(
        LogFormat.ITGDEC,
        "the summary, the packets (`-l`, `-o`), the steps (`-c`)",
        "a flow: packets, payload, bitrate, loss, one-way delay, jitter",
        is_itgdec,
        read_itgdec,
    ),
    LogReader(
        LogFormat.ITGDEC,
        "steps of flows (`-d`, `-j`, `-b`, `-p`); the file's name says which: `delay.dat`",
        "a flow: means of the steps",
        is_itgdec_flows,
        read_itgdec_flows,
    ),
    LogReader(
        LogFormat.NETPERF,
        "streams, requests and responses, interim results (`-D`), `KEY=VALUE` of omni",
        "throughput, transactions",
        is_netperf,
        read_netperf,
    ),
    LogReader(
        LogFormat.SS,
        "iproute2 4 to 6, once or in a loop, also `-O`, `-e`, `-p`",
        "a connection: window, round trip, rates, what was sent again",
        is_ss,
        read_ss,
    ),
    LogReader(
        LogFormat.TC,
        "iproute2 4 to 6, text and `-j`, `qdisc` (also cake's tins) and `class`, once or in a loop",
        f"{_QUEUES}; a tin: mean and peak delay",
        is_tc,
        read_tc_log,
    ),
    LogReader(
        LogFormat.CRUSADER,
        "`.crr`, versions 0 to 2",
        "of each load its summary: throughput, peak of the round trip, loss; percentiles",
        is_crusader,
        read_crusader,
    ),
    LogReader(
        LogFormat.NDT7,
        "`ndt7-client -format json`, and the JSON that M-Lab archives of a test",
        "throughput, least round trip, bytes sent again; over time",
        is_ndt7,
        read_ndt7,
    ),
    LogReader(
        LogFormat.WAVEFORM,
        'the CSV of the bufferbloat test, "Download raw data"',
        "of each stage throughput and round trips",
        is_waveform,
        read_waveform,
    ),
)
"""Readers in the order of detection; a text matches two kinds only if it has lines of both."""


def table_of_kinds() -> str:
    """The table in ``docs/logs.md``."""
    rows = [f"| {each.format.value} | {each.reads} | {each.prints} |" for each in READERS]
    return "\n".join(["| program | what is read | printed |", "| --- | --- | --- |", *rows])


def _reader(text: LogText) -> LogReader | None:
    return next((each for each in READERS if each.is_own(text)), None)


def log_format(text: LogText) -> LogFormat | None:
    """The program that printed a text; None if unknown."""
    found = _reader(text)
    return None if found is None else found.format


def read_log(source: str | Path) -> Log:
    """Read a program's output.

    Args:
        source: Path of the file.

    Returns:
        The type of its format: `PingLog`, `ItgLog`, `Iperf3Log`, `IperfLog`, `SsLog`, `TcLog`,
        `IrttLog` or `NetperfLog`. Unknown lines are counted in ``unknown``.

    Raises:
        UnreadableError: The format is unknown, or no line is known.
        FormatError: It is too large.
        OSError: It cannot be read.
    """
    return log_of_text(LogText.of_file(Path(source)))


def log_of_text(text: LogText) -> Log:
    """Like `read_log`, for a text."""
    reader = _reader(text)
    if reader is None:
        known = ", ".join(each.value for each in LogFormat)
        raise UnreadableError(text.name, f"not the output of a known program ({known})")
    log = reader.read(text)
    return replace(log, problems=(*log.problems, text.damage)) if text.damage else log


if __name__ == "__main__":
    print(table_of_kinds())
