"""Damaged logs: a reader returns data or an error with a reason, and never fails otherwise."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from log_samples import all_samples, reader_of, sample

from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.logs import READERS, Log, LogText
from dumbbell.metrics.logs import log_numbers, log_series

MOST_BYTES = 900
"""Of a sample that is mutated: what is behind it is more of the same."""
_WHOLE = ("itgdec", "tc", "iperf", "netperf", "ndt7", "waveform")
_LEFT = ("config", "cpu_utilization_percent", "system_info", "cookie")
"""Of what nothing is read but a little."""
_TOKENS = (
    b"0", b"-1", b"9" * 30, b"1e999", b"NaN", b"null", b"{}", b"[]", b"\n", b"\r\n", b"\x00",
    b"\xff\xfe", b"\xe2\x80\xae", b" ", b"\t", b"=", b":", b"/", b"true", b'"', b"1.5.6", b"[",
)  # fmt: skip


def short(name: str) -> bytes:
    """The sample, or as many of its first lines or values as are some `MOST_BYTES`."""
    text = sample(name)
    if text.document is not None:
        return json.dumps(_first_of_each_list(text.document), indent=1).encode()
    content = text.text.encode()
    if len(content) <= MOST_BYTES or name.startswith(_WHOLE):
        return content[: 4 * MOST_BYTES]
    return content[: content.rindex(b"\n", 0, 2 * MOST_BYTES) + 1]


def _first_of_each_list(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _first_of_each_list(each) for key, each in value.items() if key not in _LEFT}
    if isinstance(value, list):
        return [_first_of_each_list(each) for each in value[:2]]
    return value


def mutated(content: bytes, draw: random.Random) -> bytes:
    """With one to four changes: bytes, pieces or lines other, gone, twice, or in another place."""
    found = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        if not found:
            break
        at = draw.randrange(len(found))
        end = min(len(found), at + draw.choice((1, 1, 2, 4, 16, 200)))
        match draw.randrange(7):
            case 0:
                found[at] = draw.randrange(256)
            case 1:
                del found[at:end]
            case 2:
                found[at:at] = draw.choice(_TOKENS)
            case 3:
                found[at:end] = draw.choice(_TOKENS)
            case 4:
                piece = bytes(found[at:end])
                to = draw.randrange(len(found))
                found[to:to] = piece
            case 5:
                lines = bytes(found).split(b"\n")
                one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
                lines[one], lines[other] = lines[other], lines[one]
                found = bytearray(b"\n".join(lines))
            case 6:
                del found[at:]
    return bytes(found)


_VALUES = (None, True, "x", "9" * 400, -1, -0.5, 1e308, 10**40, 1.5, [], {}, [[]], [1], {"a": 1})


def with_other_value(content: bytes, draw: random.Random) -> bytes:
    """JSON with one to four values that are none of those a program writes, or gone."""
    document = json.loads(content)
    for _ in range(draw.randint(1, 4)):
        at = document
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = draw.choice(keys)
            if isinstance(at[key], dict | list) and at[key] and draw.random() < 0.9:
                at = at[key]
            elif draw.random() < 0.2:
                del at[key]
                break
            else:
                at[key] = copy.deepcopy(draw.choice(_VALUES))
                break
    return json.dumps(document).encode()


def check(log: Log, name: str) -> None:
    """What must hold of whatever was read."""
    unknown = log.unknown
    assert (unknown.count > 0) == bool(unknown.where), name
    assert len(unknown.text) <= 60
    for table in log.tables.values():
        assert len({len(table[each.name]) for each in table.columns}) == 1
        for each in table.columns:
            if each.holds == "whole" and not each.name.endswith("_ns"):
                assert not len(table) or table[each.name].min() >= -(1 << 62)
            if each.holds == "real":
                assert not np.isinf(table[each.name]).any(), (name, each.name)
    for number in log_numbers(log):
        assert not np.isinf(number.value), (name, number.name)
        if number.name.endswith("_percent"):
            assert not number.value < 0 and not number.value > 100.0001, (name, number)
        if number.interval is not None:
            assert number.interval.low <= number.value <= number.interval.high
    for series in log_series(log):
        assert len(series.t_s) == len(series.values)


def mutate(name: str, count: int, seed: int) -> Iterator[Log | None]:
    """What becomes of the given number of mutations; None for what was refused."""
    draw = random.Random(f"{name} {seed}")
    content, reader = short(name), reader_of(name)
    is_json = name not in ("iperf-events", "ndt7-events") and sample(name).begins_with in "{["
    for number in range(count):
        damage = with_other_value if is_json and number % 2 else mutated
        damaged = damage(content, draw)
        text = LogText.of_bytes(name, damaged)
        try:
            log = reader.read(text)
        except UnreadableError:
            yield None
            continue
        try:
            check(log, name)
        except Exception:
            print(damaged)
            raise
        yield log


def checked(name: str, count: int, seed: int) -> None:
    """A few are refused, most are read, and of those some have lines that nobody understands."""
    found = list(mutate(name, count, seed))
    read = [log for log in found if log is not None]
    assert len(read) > 0.05 * count  # JSON of which a byte is gone is none
    assert any(log.unknown.count for log in read)


@pytest.mark.parametrize("name", all_samples())
def test_mutations(name: str) -> None:
    checked(name, 150, 1)


@pytest.mark.long
@pytest.mark.parametrize("name", all_samples())
def test_a_million_mutations(name: str) -> None:
    checked(name, -(-1_000_000 // len(all_samples())), 2)


@pytest.mark.parametrize("name", all_samples())
def test_every_beginning_is_read_or_refused(name: str) -> None:
    content, reader = short(name), reader_of(name)
    for end in range(0, len(content), max(1, len(content) // 60)):
        text = LogText.of_bytes(name, content[:end])
        for each in READERS:
            each.is_own(text)
        try:
            log = reader.read(text)
        except UnreadableError:
            continue
        check(log, name)
        assert log.unknown.count <= 2


@pytest.mark.parametrize(
    "line",
    [
        "Recv " * 12_000,
        "64 bytes from " + "a" * 60_000,
        "\t cubic " + "cwnd:1 " * 9_000,
        "  maxpacket " + "1 " * 30_000,
        "qdisc tbf 1: root " + "x " * 30_000,
        "Average bitrate = " + "1" * 60_000,
        "5 packets transmitted, 5 received" + ", +1 errors" * 6_000,
        "[" * 60_000,
        " " * 60_000,
    ],
)
def test_long_lines_take_no_time(line: str) -> None:
    """Each reader takes a share of a second: no pattern looks at a line again and again."""
    import time

    begun = time.process_time()
    for name in all_samples():
        text = LogText(name, f"{short(name).decode(errors='replace')}\n{line}\n")
        try:
            reader_of(name).read(text)
        except UnreadableError:
            continue
    assert time.process_time() - begun < 10


@pytest.mark.parametrize("name", ["ping.txt", "tc-loop.txt", "iperf-events", "iperf3-udp.txt"])
def test_lines_of_something_else_are_not_read_to_their_end(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dumbbell.formats.logs import text as module

    monkeypatch.setattr(module, "MOST_UNKNOWN_LINES", 1000)
    known = sample(name).text.rstrip("\n")
    first = known.count("\n") + 2
    junk = "\njunk {}\n" * 1000
    reader = reader_of(name)
    with pytest.raises(UnreadableError, match=r"of the \d+ other lines up to line ") as refused:
        reader.read(LogText(name, known + "\njunk\x1b\n" + junk * 100))
    assert refused.value.path == f"{name}: line {first}"
    assert "'junk<U+001B>' is not understood, nor are 999" in str(refused.value)
    # A file may have as many foreign lines as lines of its own.
    log = reader.read(LogText(name, (known + "\n") * 10 + "\njunk\n" * 990))
    assert log.unknown.count >= 990
