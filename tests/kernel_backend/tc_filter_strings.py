"""Random filters for ``tc``: right ones, nearly right ones, and several of one priority."""

from __future__ import annotations

import random

MOST_LINES = 3
"""Of a case."""
_NUMBERS = ("0", "1", "6", "17", "80", "443", "0x50", "010", "255", "256", "65535", "65536", "-1")
_MASKS = ("0xff", "ff", "0xffff", "0xfc", "0x0f", "0", "0xfff0", "255", "0xffffffff", "0x100")
_ADDRESSES = (
    *("10.10.1.0/24", "10.10.1.1", "10.10.1.1/32", "10.0.0.0/8", "0.0.0.0/0", "any", "10.10/16"),
    *("192.168.1.7/255.255.255.0", "10.10.1.1/33", "10.10.1.300", "10.10.1.1/0", "1.2.3.4.5", "x"),
)
_PRIOS = ("", "", "prio 1", "prio 2", "pref 49152", "prio 40000", "prio 32768")
_OFFSETS = ("0", "1", "2", "8", "9", "12", "14", "16", "20", "22", "24", "-14", "3")
_PORTS = ("80", "22", "5001", "10000", "0", "40000", "61000", "65535", "65536", "http", "1000-2000")


def filter_cases(count: int, seed: int) -> list[list[str]]:
    """What follows ``filter add dev X`` in each line of each case; the same for the same seed."""
    draw = random.Random(seed)
    cases: dict[tuple[str, ...], None] = {}
    while len(cases) < count:
        lines = draw.choice((1, 1, 1, 2, MOST_LINES))
        # Few priorities, so that lines meet in one.
        prios = draw.sample(
            ("", "", "prio 1", "prio 2", "pref 49152", "prio 40000", "prio 32768"), 2
        )
        heading = draw.choice(("protocol ip", "protocol ip", "protocol all", ""))
        kinds = draw.sample((_u32, _u32, _u32, _flower, _flower, _matchall, _fw), 2)
        cases[
            tuple(
                " ".join(
                    _line(
                        draw,
                        heading if draw.random() < 0.9 else "protocol ip",
                        draw.choice(prios),
                        kinds[draw.random() < 0.2](draw),
                    ).split()
                )
                for _ in range(lines)
            )
        ] = None
    return [list(case) for case in cases]


def _line(draw: random.Random, heading: str, prio: str, words: tuple[str, str]) -> str:
    handle, matched = words
    minor = draw.choice(("1", "2", "3", "4", "9", "0", "f"))
    flow = draw.choice(("flowid 1:{}", "flowid 1:{}", "classid 1:{}", "flowid :{}", "flowid {}"))
    to = flow.format(minor)
    if draw.random() < 0.02:
        to = draw.choice(("", "flowid", "flowid 1:g", "flowid 1:10000", "flowid 1:2:3"))
    parent = draw.choice(("parent 1:", "parent 1:0"))
    return f"{parent} {heading} {prio} {handle} {matched} {to}"


def _u32(draw: random.Random) -> tuple[str, str]:
    matches = [_match(draw) for _ in range(draw.choice((1, 1, 1, 2, 3)))]
    return "", "u32 " + " ".join(matches)


def _match(draw: random.Random) -> str:
    field = draw.choice(
        (
            *("src", "dst", "src", "dst", "sport", "dport", "dport", "protocol", "protocol", "tos"),
            *("dsfield", "precedence", "ihl", "icmp_type", "icmp_code", "nofrag", "raw", "raw"),
            *(["nosuch"] if draw.random() < 0.2 else []),
        )
    )
    if field in ("src", "dst"):
        return f"match ip {field} {draw.choice(_ADDRESSES)}"
    if field == "raw":
        size = draw.choice(("u8", "u16", "u32"))
        offset = draw.choice(
            ("0", "1", "2", "8", "9", "12", "14", "16", "20", "22", "24", "-14", "3")
        )
        at = draw.choice((f"at {offset}", f"at {offset}", "at nexthdr+0", ""))
        return f"match {size} {draw.choice(_NUMBERS)} {draw.choice(_MASKS)} {at}"
    if field == "nofrag":
        return "match ip nofrag"
    if field in ("sport", "dport"):
        return f"match ip {field} {draw.choice(_PORTS)} {draw.choice(('0xffff', 'ffff', '0xff00'))}"
    if draw.random() < 0.1:
        return f"match ip {field} {draw.choice(_NUMBERS)} {draw.choice(_MASKS)}"
    masks = ("0xff", "0xfc", "0x1e", "ff", "10", "0")
    return f"match ip {field} {draw.choice((*_NUMBERS[:8], '0xb8'))} {draw.choice(masks)}"


def _flower(draw: random.Random) -> tuple[str, str]:
    words = []
    if draw.random() < 0.7:
        words.append(f"ip_proto {draw.choice(('tcp', 'udp', 'udp', 'icmp', '6', '0x11', '300'))}")
    for word in draw.sample(("src_ip", "dst_ip", "src_port", "dst_port", "dst_port", "ip_tos"), 2):
        if word.endswith("_ip"):
            words.append(f"{word} {draw.choice(_ADDRESSES)}")
        elif word == "ip_tos":
            tos = ("0x10", "10", "b8", "0xb8/0xfc", "10/f0", "8/8", "100", "0x100")
            words.append(f"{word} {draw.choice(tos)}")
        elif (words and "ip_proto" in words[0]) or draw.random() < 0.1:
            words.append(f"{word} {draw.choice((*_PORTS, '5-5', '9-3', '0-9', '010'))}")
    if draw.random() < 0.03:
        words.append(draw.choice(("ip_ttl 64", "nosuch 1", "tcp_flags 0x2")))
    return "", "flower " + " ".join(words)


def _matchall(draw: random.Random) -> tuple[str, str]:
    return "", "matchall" if draw.random() < 0.97 else "matchall nosuch"


def _fw(draw: random.Random) -> tuple[str, str]:
    handles = ("handle 1", "handle 0x10", "handle 6/0xff", "handle 010", "handle 0", "", "handle x")
    return draw.choice(handles), "fw"
