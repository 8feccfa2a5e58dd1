"""Synthetic results of crusader with known values."""

from __future__ import annotations

import struct
from typing import Any

import msgpack

from dumbbell.formats.snappy import _masked_crc

MAGIC = bytes.fromhex("cb597cae82ab7253")
NS = 10**9
LOAD_S = 5
BYTES_PER_S = {"download": 1_250_000, "upload": 500_000, "both": 250_000}
"""Of each stream."""
STREAMS = 2
BEGIN_S = {"download": 2, "upload": 8, "both": 14}
STREAM_ID = b"\xff\x06\x00\x00sNaPpY"


def duration(ns: int) -> dict[str, int]:
    return {"secs": ns // NS, "nanos": ns % NS}


def group(download: bool, both: bool) -> dict[str, Any]:
    name = "both" if both else "download" if download else "upload"
    begin = BEGIN_S[name] * NS
    points = [
        {"time": duration(begin + at), "bytes": BYTES_PER_S[name] * at // NS}
        for at in range(0, LOAD_S * NS + 1, NS // 50)
    ]
    return {"download": download, "both": both, "streams": [{"data": points}] * STREAMS}


def pings() -> list[dict[str, Any]]:
    """One each 5 ms, there 2 ms, back 8; during the upload there 100; each hundredth is lost on the
    way there, and each hundredth and first on the way back."""
    found = []
    for index in range(20 * 200):
        sent = index * NS // 200
        up_ms = 100 if 8 <= sent / NS <= 13 else 2
        latency: dict[str, Any] | None = {
            "total": duration((up_ms + 8) * 10**6),
            "up": duration(up_ms * 10**6),
        }
        if index % 100 == 0:
            latency = None
        elif index % 100 == 1 and latency is not None:
            latency["total"] = None
        found.append({"index": index, "sent": duration(sent), "latency": latency})
    return found


def result() -> dict[str, Any]:
    return {
        "version": 2,
        "generated_by": "Crusader 0.0.0",
        "config": {
            "stagger": duration(0),
            "load_duration": duration(LOAD_S * NS),
            "grace_duration": duration(NS),
            "ping_interval": duration(5 * 10**6),
            "bandwidth_interval": duration(20 * 10**6),
        },
        "ipv6": False,
        "server_overload": True,
        "server_latency": duration(10**6),
        "start": duration(NS),
        "duration": duration(18 * NS),
        "stream_groups": [
            group(True, False), group(False, False), group(True, True), group(False, True)
        ],
        "pings": pings(),
        "peer_pings": None,
        "test_data": [],
    }  # fmt: skip


def framed(plain: bytes) -> bytes:
    """In frames that are not compressed, with a padding between them."""
    out = STREAM_ID
    for at in range(0, len(plain), 1 << 16):
        piece = plain[at : at + (1 << 16)]
        out += b"\x01" + (len(piece) + 4).to_bytes(3, "little")
        out += _masked_crc(piece).to_bytes(4, "little") + piece + b"\xfe\x02\x00\x00ab"
    return out


def crr(document: object, version: int = 2) -> bytes:
    """A file of version 1 or 2."""
    return MAGIC + version.to_bytes(8, "little") + framed(msgpack.packb(document))


def crr_0() -> bytes:
    """The same result of version 0, as bincode 1 writes it."""

    def packed(time: dict[str, int]) -> bytes:
        return struct.pack("<QI", time["secs"], time["nanos"])

    found = result()
    out = MAGIC + bytes(8) + struct.pack("<4Q", LOAD_S, 1, 5, 20)
    out += packed(found["start"]) + packed(found["duration"])
    out += struct.pack("<Q", len(found["stream_groups"]))
    for each in found["stream_groups"]:
        out += struct.pack("<??Q", each["download"], each["both"], len(each["streams"]))
        for stream in each["streams"]:
            out += struct.pack("<Q", len(stream["data"]))
            out += b"".join(
                packed(point["time"]) + struct.pack("<Q", point["bytes"])
                for point in stream["data"]
            )
    out += struct.pack("<Q", len(found["pings"]))
    for ping in found["pings"]:
        out += struct.pack("<Q", ping["index"]) + packed(ping["sent"])
        latency = ping["latency"]
        total = latency and latency["total"]
        out += b"\x01" + packed(total) if total else b"\x00"
    return out
