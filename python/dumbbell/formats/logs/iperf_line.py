"""The interval line that iperf 2 and iperf3 have in common.

``[  5]   0.00-1.00   sec  6.00 MBytes  50.3 Mbits/sec`` and so on. Both print three digits;
bytes are in powers of 1024 and bits of 1000 (iperf3's ``src/units.c``, ``unit_snprintf``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dumbbell.formats.logs.text import number, real

_NUMBER = r"\d{1,15}(?:\.\d{1,6})?"
_LINE = re.compile(
    r"\[ *(?P<id>\*?\d{1,6}|SUM(?:-\d{1,6})?)\](?:\[(?P<role>[TR]X-[CS])\])? +"
    rf"(?P<start>\d{{1,9}}\.\d{{1,6}})- *(?P<end>\d{{1,9}}\.\d{{1,6}}) +sec +"
    rf"(?P<size>{_NUMBER}) (?P<size_unit>[KMGT]?)Bytes +"
    rf"(?P<rate>{_NUMBER}) (?P<rate_unit>[KMGT]?)(?P<of>bits|Bytes)/sec(?P<rest>(?: .{{0,300}})?)"
)
DATAGRAMS = re.compile(
    rf" *(?P<jitter>{_NUMBER}) ms +(?P<lost>-?\d{{1,15}})/ *(?P<pkts>\d{{1,15}}) "
    r"\((?:\d[\d.e+-]{0,15}|-?nan)%\)(?P<rest>.{0,300})"
)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
ALL_STREAMS = -1


@dataclass(frozen=True, slots=True)
class IperfLine:
    """An interval or a whole test, of one stream or all streams.

    Attributes:
        stream: Number of the stream; -1 for all.
        role: ``TX-C`` and the like, with ``--bidir``; otherwise empty.
        decimals: Number of decimals of the times: 2 in iperf3.
        start_s: From the start of the test.
        end_s: From the start of the test.
        size_bytes: Payload, with three digits of precision.
        rate_bps: Rate, with three digits of precision.
        rest: Rest of the line.
    """

    stream: int
    role: str
    decimals: int
    start_s: float
    end_s: float
    size_bytes: int
    rate_bps: float
    rest: str


def size_bytes(digits: str, unit: str) -> int:
    """``1.12`` and ``M`` of MBytes are 1174405."""
    return number(digits, 1024 ** _POWERS[unit])


def iperf_line(line: str) -> IperfLine | None:
    """Parse the line; None if it is another one.

    Raises:
        ValueError: A number is malformed.
    """
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    is_sum = found["id"].startswith("SUM")
    scale = 1000.0 if found["of"] == "bits" else 1024.0
    each = 1.0 if found["of"] == "bits" else 8.0
    return IperfLine(
        ALL_STREAMS if is_sum else int(found["id"].lstrip("*")),
        found["role"] or "",
        len(found["start"].partition(".")[2]),
        real(found["start"]),
        real(found["end"]),
        size_bytes(found["size"], found["size_unit"]),
        real(found["rate"]) * each * scale ** _POWERS[found["rate_unit"]],
        found["rest"],
    )
