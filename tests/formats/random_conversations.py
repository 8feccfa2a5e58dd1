"""Conversations as no sender would hold them, to be counted by tshark and by us.

Numbers go back and forth around what was sent, with pauses on both sides of every threshold that
Wireshark's rules have: 3 ms, 20 ms, the initial round-trip time.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path

FIN, SYN, RST, ACK = 1, 2, 4, 16
_MS = 1_000_000
_ETHERNET = bytes(12) + b"\x08\x00"
_ADDRESSES = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
_SERVER_PORT = 80
_PAUSES_NS = (0, _MS // 100, _MS, 5 * _MS, 20 * _MS, 100 * _MS, 1000 * _MS)


def write_conversations(
    path: Path, *, seed: int, count: int, link_type: int = 1, before_ip: bytes = _ETHERNET
) -> Path:
    """Write a pcap, in the order of time, of the given number of conversations.

    Args:
        path: The file to write.
        seed: Of all that is drawn.
        count: Conversations.
        link_type: What its header says that packets begin with.
        before_ip: What they begin with, before the IP header.
    """
    packets: list[tuple[int, bytes, int]] = []
    for number in range(count):
        packets += _Conversation(random.Random(f"{seed} {number}"), 1024 + number).packets()
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link_type))
        for at_ns, headers, size in sorted(packets, key=lambda packet: packet[0]):
            stamp = 1 + at_ns // 10**9, at_ns % 10**9
            frame = before_ip + headers
            file.write(struct.pack("<IIII", *stamp, len(frame), len(before_ip) + size) + frame)
    return path


class _Conversation:
    """Two ends: what an end sends next, up to where nothing of it is missing, and what it
    acknowledged last. Nobody acknowledges what has not come: there the rules are known to differ.
    """

    def __init__(self, draw: random.Random, port: int) -> None:
        self.draw = draw
        self.port = port
        self.at_ns = draw.randrange(10**9)
        self.next = [draw.choice((1000, 2**32 - 3000, draw.randrange(1, 2**32))) for _ in "ab"]
        self.whole = list(self.next)
        self.acknowledged = [self.next[1], self.next[0]]
        self.made: list[tuple[int, bytes, int]] = []

    def packets(self) -> list[tuple[int, bytes, int]]:
        # Where the capture begins later, something of each end is seen first.
        is_whole = self.draw.random() < 0.7
        self.begin((SYN, SYN | ACK, ACK) if is_whole else (ACK, ACK, ACK), not is_whole)
        for _ in range(self.draw.randrange(5, 40)):
            self.at_ns += self.draw.choice(_PAUSES_NS)
            if self.draw.random() < 0.03:
                self.ask()
            else:
                self.segment()
        return self.made

    def begin(self, all_bits: tuple[int, int, int], payload: int) -> None:
        gap = self.draw.choice((_MS // 10, _MS, 30 * _MS))
        for end, bits in zip((0, 1, 0), all_bits, strict=True):
            acknowledged = 0 if bits == SYN else self.next[1 - end]
            self.put(end, (self.next[end], acknowledged), bits, 1000, payload)
            self.next[end] += payload + (bits & SYN > 0)
            self.whole[end] = self.next[end]
            self.at_ns += gap

    def ask(self) -> None:
        """The same acknowledgement several times, and what it asks for."""
        end = self.draw.randrange(2)
        missing = self.acknowledged[end] = self.whole[1 - end] - 100
        for _ in range(self.draw.randrange(1, 5)):
            self.put(end, (self.next[end], missing), ACK, 1000, 0)
        self.at_ns += self.draw.choice(_PAUSES_NS)
        self.put(1 - end, (missing, self.acknowledged[1 - end]), ACK, 1000, 100)

    def segment(self) -> None:
        end = int(self.draw.random() < 0.4)
        payload = self.draw.choice((0, 0, 1, 2, 10, 100, 100, 500))
        sequence = self.next[end] + self.draw.choice(
            (0, 0, 0, 0, -1, -1, -100, -100, -200, -50, 100, 50, 1, -600)
        )
        is_reset = self.draw.random() < 0.02
        # A reset without an acknowledgement has a zero in its place.
        bits = RST if is_reset else ACK | (FIN if self.draw.random() < 0.02 else 0)
        there = self.whole[1 - end]
        acknowledged = self.draw.choice((*[self.acknowledged[end]] * 3, there, there - 100))
        if not is_reset:
            self.acknowledged[end] = acknowledged
        window = self.draw.choice((1000, 1000, 1000, 1000, 500, 0))
        self.put(end, (sequence, 0 if is_reset else acknowledged), bits, window, payload)
        behind = sequence + payload + (bits & FIN)
        self.next[end] = max(self.next[end], behind)
        if sequence == self.whole[end]:
            self.whole[end] = behind

    def put(self, end: int, numbers: tuple[int, int], bits: int, window: int, payload: int) -> None:
        """Headers from IP's on, and the size of the packet."""
        ports = (self.port, _SERVER_PORT) if end == 0 else (_SERVER_PORT, self.port)
        source, destination = _ADDRESSES if end == 0 else _ADDRESSES[::-1]
        ip = struct.pack(
            ">BBHHHBBH4s4s", 0x45, 0, 40 + payload, 0, 0x4000, 64, 6, 0, source, destination
        )
        sequence, acknowledged = (number % 2**32 for number in numbers)
        tcp = struct.pack(">HHIIBBHHH", *ports, sequence, acknowledged, 5 << 4, bits, window, 0, 0)
        self.made.append((self.at_ns, ip + tcp, 40 + payload))
