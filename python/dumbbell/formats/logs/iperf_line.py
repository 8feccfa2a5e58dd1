"""The line that iperf 2 and iperf3 print of an interval for people: what both have in common.

``[  5]   0.00-1.00   sec  6.00 MBytes  50.3 Mbits/sec`` and what follows. Both print three digits;
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
    """An interval, or a whole test, of a stream or of all together.

    Attributes:
        stream: Its number; -1 of all.
        role: ``TX-C`` and the like, with ``--bidir``; else empty.
        decimals: Of its times: 2 are iperf3's.
        start_s: From the start of the test.
        end_s: From the start of the test.
        size_bytes: Payload, of three digits.
        rate_bps: Of three digits.
        rest: What follows.
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
    """The line; None of any other.

    Raises:
        ValueError: A number of it is none.
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
