"""Results of crusader (``.crr``): bytes of each stream over time, and a ping every few
milliseconds.

The layout is that of crusader 0.0.1 to 0.3 (Zoxc/crusader, ``crusader-lib/src/file_format.rs``): a
magic number and a version, 64 bits each; then in version 0 the values as serialized by bincode 1,
in versions 1 and 2 a MessagePack map in Snappy's framing format. Times count from the client's
start.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import msgpack  # type: ignore[import-untyped]

from dumbbell.formats.errors import DamageError, UnreadableError
from dumbbell.formats.logs.model import NOT_SAID, Log, LogColumn, LogFormat, LogTable
from dumbbell.formats.logs.text import LogText, Members, UnreadCounter, nothing_in
from dumbbell.formats.snappy import unpacked_frames

Row = dict[str, int | float | str]

LARGEST_RESULT_BYTES = 32 << 20
"""Size limit when decompressed; half a minute with 16 streams has 1 MB."""
STREAMS = (
    LogColumn("group", "-", "``download``, ``upload``, or either with `` of both``.", "text"),
    LogColumn("stream", "-", "Its number in the group, from 1."),
    LogColumn("t_ns", "ns", "From the start of the client."),
    LogColumn("bytes", "bytes", "Payload received until then."),
)
PINGS = (
    LogColumn("seq", "-", "Number of the ping."),
    LogColumn("sent_ns", "ns", "From the start of the client."),
    LogColumn("rtt_ns", "ns", "Round trip; -1 without an answer."),
    LogColumn("delay_up_ns", "ns", "One-way delay there; -1 where it did not come."),
    LogColumn("lost_where", "-", "``up``, ``down``, ``unknown``; empty of an answer.", "text"),
)
TESTS = (
    LogColumn("test", "-", "``download``, ``upload`` or ``bidirectional``.", "text"),
    LogColumn("start_ns", "ns", "When its load began; as crusader wrote it."),
    LogColumn("end_ns", "ns", "When it ended."),
)
_HEADER_BYTES = 16
_OLDEST, _NEWEST = 0, 2
_MOST_S = 10**7
_NS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrusaderLog(Log):
    """A test of crusader: the tables ``streams``, ``pings``, ``peer_pings`` and ``tests``.

    Attributes:
        load_ns: Intended duration of each load.
        ping_interval_ns: Interval between pings.
        sample_interval_ns: Interval between byte counts.
        start_ns: Start of the test.
        duration_ns: Total duration.
    """

    format: ClassVar[LogFormat] = LogFormat.CRUSADER
    load_ns: int
    ping_interval_ns: int
    sample_interval_ns: int
    start_ns: int
    duration_ns: int


def is_crusader(text: LogText) -> bool:
    """Whether the file is from crusader."""
    return bool(text.content)


def read_crusader(text: LogText) -> CrusaderLog:
    """Parse a result.

    Raises:
        UnreadableError: It is truncated, damaged, or has an unknown version.
    """
    try:
        version, document = _document(text.content)
    except DamageError as error:
        raise UnreadableError(text.name, f"crusader's result is damaged: {error}") from None
    noted = UnreadCounter()
    whole = Members(document, "", noted)
    config = whole.object("config")
    streams = [row for group in whole.objects("stream_groups") for row in _streams(group)]
    # Version 0 has round trips only, so the direction in which a ping was lost is unknown.
    pings = _pings(whole, "pings", "unknown" if version == _OLDEST else "up")
    if not streams and not pings:
        raise nothing_in(text, "crusader")
    tables = {
        "streams": LogTable.of(STREAMS, streams),
        "pings": LogTable.of(PINGS, pings),
        "peer_pings": LogTable.of(PINGS, _pings(whole, "peer_pings")),
        "tests": LogTable.of(
            TESTS,
            [
                {
                    "test": each.text("kind").lower(),
                    "start_ns": _ns(each, "start"),
                    "end_ns": _ns(each, "end"),
                }
                for each in whole.objects("test_data")
            ],
        ),
    }
    problems = {
        "server_overload": "crusader says: the server was overloaded",
        "load_termination_timeout": "crusader says: a load did not end in time",
    }
    return CrusaderLog(
        source=text.name,
        variant=whole.text("generated_by") or f"format {version}",
        tables={name: table for name, table in tables.items() if len(table)},
        unknown=noted.unknown,
        problems=tuple(said for name, said in problems.items() if whole.truth(name)),
        load_ns=_ns(config, "load_duration"),
        ping_interval_ns=_ns(config, "ping_interval"),
        sample_interval_ns=_ns(config, "bandwidth_interval"),
        start_ns=_ns(whole, "start"),
        duration_ns=_ns(whole, "duration"),
    )


def _document(content: bytes) -> tuple[int, object]:
    """The version, and the result as a MessagePack map.

    Raises:
        DamageError: There is no such map.
    """
    if len(content) < _HEADER_BYTES:
        raise DamageError("it ends within its header")
    version = int.from_bytes(content[8:_HEADER_BYTES], "little")
    if not _OLDEST <= version <= _NEWEST:
        raise DamageError(f"version {version}, and {_OLDEST} to {_NEWEST} are read")
    rest = content[_HEADER_BYTES:]
    if version == _OLDEST:
        return version, _Bincode(rest).result()
    plain = unpacked_frames(rest, LARGEST_RESULT_BYTES)
    try:
        return version, msgpack.unpackb(plain, max_ext_len=0)
    except (ValueError, msgpack.UnpackException, RecursionError) as error:
        said = str(error)[:100] or type(error).__name__
        raise DamageError(f"its MessagePack cannot be read ({said})") from None


def _streams(group: Members) -> Iterator[Row]:
    way = "download" if group.truth("download") else "upload"
    name = f"{way} of both" if group.truth("both") else way
    for number, stream in enumerate(group.objects("streams"), start=1):
        for point in stream.objects("data"):
            yield {
                "group": name,
                "stream": number,
                "t_ns": _ns(point, "time"),
                "bytes": point.whole("bytes"),
            }


def _pings(whole: Members, name: str, lost_up: str = "up") -> list[Row]:
    """The pings; for one without a one-way delay, ``lost_up`` says where it was lost."""
    if whole.is_null(name):
        return []
    rows: list[Row] = []
    for ping in whole.objects(name):
        row: Row = {"seq": ping.whole("index"), "sent_ns": _ns(ping, "sent")}
        row |= {"rtt_ns": NOT_SAID, "delay_up_ns": NOT_SAID, "lost_where": lost_up}
        if not ping.is_null("latency"):
            latency = ping.object("latency")
            row |= {"delay_up_ns": _ns(latency, "up"), "lost_where": "down"}
            if not latency.is_null("total"):
                row |= {"rtt_ns": _ns(latency, "total"), "lost_where": ""}
        rows.append(row)
    return rows


def _ns(members: Members, name: str) -> int:
    """A duration in nanoseconds; -1 if it is missing or malformed."""
    if name not in members:
        return NOT_SAID
    duration = members.object(name)
    seconds, nanoseconds = duration.whole("secs"), duration.whole("nanos")
    is_one = 0 <= seconds <= _MOST_S and 0 <= nanoseconds < _NS
    return seconds * _NS + nanoseconds if is_one else NOT_SAID


class _Bincode:
    """Parses version 0: numbers of fixed length, little-endian, in order."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def result(self) -> dict[str, Any]:
        load, grace, ping_ms, sample_ms = (self._whole() for _ in range(4))
        if max(load, grace) > _MOST_S or max(ping_ms, sample_ms) > 1000 * _MOST_S:
            raise DamageError("its durations are none")
        config = {
            "load_duration": {"secs": load, "nanos": 0},
            "grace_duration": {"secs": grace, "nanos": 0},
            "ping_interval": {"secs": ping_ms // 1000, "nanos": ping_ms % 1000 * 10**6},
            "bandwidth_interval": {"secs": sample_ms // 1000, "nanos": sample_ms % 1000 * 10**6},
        }
        return {
            "config": config,
            "start": self._duration(),
            "duration": self._duration(),
            "stream_groups": [self._group() for _ in range(self._count(10))],
            "pings": [self._ping() for _ in range(self._count(21))],
        }

    def _group(self) -> dict[str, Any]:
        download, both = self._take("<??")
        streams = [
            {
                "data": [
                    {"time": self._duration(), "bytes": self._whole()}
                    for _ in range(self._count(20))
                ]
            }
            for _ in range(self._count(8))
        ]
        return {"download": download, "both": both, "streams": streams}

    def _ping(self) -> dict[str, Any]:
        index, sent = self._whole(), self._duration()
        (has_latency,) = self._take("<?")
        if not has_latency:
            return {"index": index, "sent": sent, "latency": None}
        latency = {"total": self._duration()}
        return {"index": index, "sent": sent, "latency": latency}

    def _count(self, least_bytes: int) -> int:
        """Number of the following values, each of which takes at least `least_bytes` bytes."""
        count = self._whole()
        if count * least_bytes > len(self._content) - self._at:
            raise DamageError(f"{count} values are announced and not there")
        return count

    def _duration(self) -> dict[str, int]:
        seconds, nanoseconds = self._take("<QI")
        return {"secs": seconds, "nanos": nanoseconds}

    def _whole(self) -> int:
        (value,) = self._take("<Q")
        return int(value)

    def _take(self, form: str) -> tuple[Any, ...]:
        size = struct.calcsize(form)
        if self._at + size > len(self._content):
            raise DamageError("it is cut off")
        found = struct.unpack_from(form, self._content, self._at)
        self._at += size
        return found
