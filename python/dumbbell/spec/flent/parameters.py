"""Flent's test parameters: which test reads which, and how their values are written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dumbbell.errors import SpecError
from dumbbell.spec.fields import DSCPS
from dumbbell.spec.refusal import nearest

MOST_STREAMS = 500
_LONGEST = 1000
_KEY = re.compile(r"[a-z0-9_.-]{1,100}")
_BANDWIDTH = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([kKmMgG]?)")
_EXAMPLE = 4
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
EVERY_TEST = ("tcp_cong_control", "qdisc_stats_hosts", "qdisc_stats_interfaces")
"""Parameters that all tests read: the controller, and which queues' counters to record."""


class Parameters:
    """The parameters given; remembers which were read.

    Raises:
        SpecError: A key or value is no text of a sensible length.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        """Takes them with keys in lower case, as Flent folds them."""
        self.given: dict[str, str] = {}
        for key, value in given.items():
            if not isinstance(key, str) or not _KEY.fullmatch(key.lower()):
                raise SpecError("test-parameter", key, "a name of letters, digits and '_'")
            if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
                raise SpecError(f"test-parameter {key}", value, "one line of text")
            self.given[key.lower()] = value
        self.read: set[str] = set(EVERY_TEST)

    def text(self, *keys: str, default: str = "") -> str:
        """The value of the first of these keys that was given."""
        self.read.update(keys)
        return next((self.given[key] for key in keys if key in self.given), default)

    def texts(self, *keys: str) -> list[str]:
        """The values of a list with commas; empty when it was not given."""
        text = self.text(*keys)
        return [value.strip() for value in text.split(",")] if text else []

    def whole(self, *keys: str, least: int, most: int, default: int | None = None) -> int:
        """A whole number.

        Raises:
            SpecError: It is none, out of range, or missing without a default.
        """
        text = self.text(*keys, default="" if default is None else str(default))
        number = int(text) if re.fullmatch(r"[0-9]{1,12}", text) else None
        if number is None or not least <= number <= most:
            allowed = f"a whole number from {least} to {most}"
            if text == "num_cpus":
                allowed += " (num_cpus is a property of a machine, and there is none here)"
            elif not text:
                allowed += f", which this test needs: --test-parameter {keys[0]}={_EXAMPLE}"
            raise SpecError(f"test-parameter {keys[0]}", text or "nothing", allowed)
        return number

    def bandwidth_bps(self, key: str, default: str) -> float:
        """A rate as iperf writes it: ``100M``, in multiples of 1000, bit/s.

        Raises:
            SpecError: It is none.
        """
        text = self.text(key, default=default)
        found = _BANDWIDTH.fullmatch(text)
        bps = float(found[1]) * _FACTORS[found[2].lower()] if found else 0.0
        if not 1 <= bps <= 4e12:
            raise SpecError(f"test-parameter {key}", text, "a rate such as 100M, not 0")
        return bps

    def without_effect(self, test: str) -> dict[str, str]:
        """Parameters that were given and not read, each with the reason."""
        return {
            key: f"{test} does not read it{_readers(key)}; it is kept as metadata"
            for key in self.given
            if key not in self.read
        }


READERS: Mapping[str, tuple[str, ...]] = {
    "upload_streams": ("rrul_be_nflows", "tcp_nup"),
    "download_streams": ("rrul_be_nflows", "tcp_ndown"),
    "udp_bandwidth": ("udp_flood",),
    "udp_pktsize": ("udp_flood",),
    "markings": ("tcp_1up", "tcp_1down", "tcp_nup", "tcp_ndown"),
    "cc_algos": ("tcp_1up", "tcp_1down", "tcp_nup", "tcp_ndown"),
    "stream_delays": ("tcp_nup", "tcp_ndown"),
    "burst_length": ("bursts",),
    "burst_psize": ("bursts",),
    "burst_ports": ("bursts",),
    "burst_tos": ("bursts",),
    "burst_bandwidth": ("bursts",),
}
"""Which tests read a parameter that not all of them read."""


def _readers(key: str) -> str:
    meant = {"bandwidth": "udp_bandwidth"}.get(key) or nearest(key, READERS)
    if meant is None:
        return ""
    return f" ({meant} is read by {', '.join(READERS[meant])})"


def dscp_of_marking(marking: str) -> int:
    """The code point of a mark: a name (``CS1``, ``EF``) or the whole octet (``0x20``).

    Of ``CS1,CS1`` (there, back) the first counts; both are the same in Flent's own tests.

    Raises:
        SpecError: It is neither.
    """
    text = marking.split(",", maxsplit=1)[0].strip()
    if text.upper() in DSCPS:
        return DSCPS[text.upper()]
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,2}|[0-9]{1,3}", text):
        octet = int(text, 0)
        if octet <= 255 and octet % 4 == 0:
            return octet // 4
    allowed = "a name such as CS1, AF41 or EF, or an octet without ECN bits such as 0x20"
    raise SpecError("marking", marking, allowed, nearest(text.upper(), DSCPS))
