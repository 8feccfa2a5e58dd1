"""crusader's results of versions 0 to 2: what is in them, and its own summary of it.

The three files of Zoxc/crusader's folder ``data`` (v0, v1 and v2) were held against what crusader
0.3.3 says of them itself: all figures of its summaries agree to their last digit, for example of v2
an upload of 143.62 Mbps, 481.6 ms (9.3 down, 472.3 up) and of both 168.47 Mbps (76.91 and 91.56).
"""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest
from crusader_samples import MAGIC, STREAM_ID, crr, crr_0, framed, result

from dumbbell.errors import SpecError
from dumbbell.formats.errors import DamageError, UnreadableError
from dumbbell.formats.logs import CrusaderLog, LogFormat, LogText, log_of_text
from dumbbell.formats.snappy import unpacked_frames
from dumbbell.metrics.logs import log_numbers, log_series


def read(content: bytes) -> CrusaderLog:
    log = log_of_text(LogText.of_bytes("a.crr", content))
    assert isinstance(log, CrusaderLog)
    return log


def numbers(log: CrusaderLog, of: str) -> dict[str, float]:
    return {each.name: each.value for each in log_numbers(log) if each.of == of}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_summary_of_constant_streams(version: int) -> None:
    log = read(crr(result(), version) if version else crr_0())
    assert log.format is LogFormat.CRUSADER
    assert str(log.unknown) == ""
    assert len(log.tables["pings"]) == 4000
    assert len(log.tables["streams"]) == 4 * 2 * 251
    down, up, both = (numbers(log, of) for of in ("download", "upload", "bidirectional"))
    assert down["throughput_steady_mbps"] == pytest.approx(2 * 8 * 1.25)
    assert up["throughput_steady_mbps"] == pytest.approx(2 * 8 * 0.5)
    assert both["throughput_steady_mbps"] == pytest.approx(2 * 2 * 8 * 0.25)
    assert both["throughput_download_steady_mbps"] == pytest.approx(2 * 8 * 0.25)
    assert down["rtt_peak_ms"] == pytest.approx(10)
    assert up["rtt_peak_ms"] == pytest.approx(108)
    assert up["rtt_p50_ms"] == 108
    # Of the pings of five seconds, both ends included, each fiftieth.
    assert down["loss_percent"] == pytest.approx(2, abs=0.15)
    if version:
        assert (log.variant, len(log.problems)) == ("Crusader 0.0.0", 1)
        assert up["delay_up_at_peak_ms"] == pytest.approx(100)
        assert up["delay_down_at_peak_ms"] == pytest.approx(8)
        assert down["loss_up_percent"] == pytest.approx(1, abs=0.1)
    else:
        assert "loss_up_percent" not in down  # nobody knows on which way
    assert [each.name for each in log_series(log)] == ["rtt_ms", *["throughput_mbps"] * 4]


def test_the_first_and_last_part_of_a_load_are_left_out() -> None:
    """A second at first, and half a second at last, of five."""
    document = result()
    points = document["stream_groups"][0]["streams"][0]["data"]
    for point in points:
        seconds = point["time"]["secs"] + point["time"]["nanos"] / 1e9 - 2
        point["bytes"] = round(1000 * min(max(seconds, 1), 4.5))
    found = numbers(read(crr(document)), "download")
    assert found["throughput_steady_mbps"] == pytest.approx(2 * 8e-3, rel=1e-3)


def test_the_peak_is_of_a_mean_over_400_ms() -> None:
    document = result()
    for ping in document["pings"]:
        if ping["index"] == 850 and ping["latency"]:  # 4.25 s, in the download
            ping["latency"]["total"]["nanos"] = 810_000_000
    found = numbers(read(crr(document)), "download")
    assert found["rtt_max_ms"] == 810
    # 81 pings are sent in a window, of which two or one do not come back.
    assert 10 + 800 / 81 < found["rtt_peak_ms"] < 10 + 800 / 78


def test_a_test_without_load() -> None:
    found = numbers(read(crr(result() | {"stream_groups": []})), "idle")
    assert found["rtt_p50_ms"] == 10


def test_loads_are_where_crusader_says() -> None:
    begun = {"kind": "Download", "start": {"secs": 3, "nanos": 0}, "end": {"secs": 6, "nanos": 0}}
    log = read(crr(result() | {"test_data": [begun], "peer_pings": result()["pings"][:700]}))
    assert log.tables["tests"]["start_ns"].tolist() == [3 * 10**9]
    peer = numbers(log, "download, pings of the peer")
    assert peer["rtt_mean_ms"] == 10
    assert next(
        each.samples
        for each in log_numbers(log)
        if each.of.endswith("peer") and "loss" in each.name
    ) == len(range(600, 700))


def test_frames_of_snappy() -> None:
    # A copy that repeats itself: "xababab" is a literal "xab" and a copy of 4 from 2 before. Then a
    # literal of 61 with its length in a byte (format_description.txt).
    block = b"\x07" + b"\x08xab" + b"\x01\x02"
    long = b"\x3d" + b"\xf0\x3c" + b"y" * 61
    from dumbbell.formats.snappy import _masked_crc

    def frame(block: bytes, plain: bytes) -> bytes:
        body = _masked_crc(plain).to_bytes(4, "little") + block
        return b"\x00" + len(body).to_bytes(3, "little") + body

    packed = STREAM_ID + frame(block, b"xababab") + frame(long, b"y" * 61)
    assert unpacked_frames(packed, 100) == b"xababab" + b"y" * 61
    with pytest.raises(DamageError, match="more than 50 bytes"):
        unpacked_frames(packed, 50)
    with pytest.raises(DamageError, match="the sum of the frame at byte 10 is another"):
        unpacked_frames(packed.replace(b"xab", b"xac"), 100)
    with pytest.raises(DamageError, match="a copy from before its beginning"):
        unpacked_frames(STREAM_ID + frame(b"\x07" + b"\x08xab" + b"\x01\x09", b""), 100)
    # RFC 3720, B.4: the CRC-32C of 32 bytes of zeros is 8a9136aa.
    crc = 0x8A9136AA
    assert _masked_crc(bytes(32)) == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (MAGIC, "it ends within its header"),
        (MAGIC + b"\x09" + bytes(7), "version 9, and 0 to 2 are read"),
        (crr(result())[:5000], "its last frame is cut off"),
        (crr_0()[:5000], "announced and not there"),
        (crr_0()[:-1], "it is cut off|announced"),
        (MAGIC + b"\x02" + bytes(7) + framed(b"\xdc\xff\xff"), "MessagePack cannot be read"),
        (MAGIC + b"\x02" + bytes(7) + framed(b"\x91" * 100_000), "MessagePack cannot be read"),
        (MAGIC + b"\x02" + bytes(7) + b"hello", "it does not begin as Snappy's frames do"),
        (crr([]), "nothing that crusader measured"),
        (crr({"pings": 7, "stream_groups": {}}), "nothing that crusader measured"),
    ],
)
def test_what_is_damaged_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(UnreadableError, match=said):
        read(content)


_VALUES: tuple[Any, ...] = (None, True, "x", b"\xff", -1, 1 << 63, 1e308, [], {}, [[]], {"a": 1})


@pytest.mark.slow
def test_values_that_crusader_does_not_write() -> None:
    draw = random.Random(1)
    small = result()
    small["pings"] = small["pings"][::50]
    for each in small["stream_groups"]:
        each["streams"] = [{"data": each["streams"][0]["data"][::10]}]
    noted = 0
    for _ in range(300):
        document = copy.deepcopy(small)
        for _ in range(draw.randint(1, 4)):
            at: Any = document
            while True:
                key = draw.choice(list(at) if isinstance(at, dict) else range(len(at)))
                if isinstance(at[key], dict | list) and at[key] and draw.random() < 0.8:
                    at = at[key]
                    continue
                at[key] = copy.deepcopy(draw.choice(_VALUES))
                break
        try:
            log = read(crr(document))
        except UnreadableError:
            continue
        noted += log.unknown.count > 0
        for number in log_numbers(log):
            assert not np.isinf(number.value)
        for series in log_series(log):
            assert len(series.t_s) == len(series.values)
    assert noted > 50


def test_no_number_of_a_run_is_the_same() -> None:
    from dumbbell.metrics.logs.run_numbers import counterpart

    with pytest.raises(SpecError, match="--beside: 'crusader'"):
        counterpart(None, LogFormat.CRUSADER, ())  # type: ignore[arg-type]
