"""Statements in a data file about its network: the title, ``tc`` on hosts, a sysctl.

Nothing is guessed from numbers. A title is interpreted conservatively: contradictory or ambiguous
words are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.errors import SpecError
from dumbbell.formats.flent.file import FlentFile, shown
from dumbbell.spec.links import Link

_NUMBER = r"(\d{1,6}(?:\.\d{1,3})?)"
# Units of bytes per second (MB/s, MBps) are excluded: in "bps" and "b/s" the b is in lower case.
_UNIT = r"([kKmMgG])(?:[bB][iI][tT](?:[sS]?/[sS])?|bps|b/s)"
_PAIR = re.compile(rf"(?<![\w.]){_NUMBER}\s?(?:{_UNIT})?\s?/\s?{_NUMBER}\s?{_UNIT}(?![\w/])")
_RATE = re.compile(rf"(?<![\w./]){_NUMBER}\s?{_UNIT}(?![\w/])")
_RTT = re.compile(
    rf"\brtt\s?[:=]?\s?{_NUMBER}\s?(ms|us)(?!\w)|(?<![\w.]){_NUMBER}\s?(ms|us)[ _-]?rtt(?!\w)", re.I
)
_KEYED_QDISC = re.compile(r"\b(?:qdisc|aqm)\s?[:=]\s?([a-z][a-z0-9_]*)", re.I)
_KEYED_CONTROLLER = re.compile(
    r"\b(?:cc|congestion_control|tcp_cong_control)\s?[:=]\s?([a-z][a-z0-9_-]*)", re.I
)
_ONE_WAY = re.compile(r"\b(?:up|down|upload|download|uplink|downlink|ul|dl)\b", re.I)
_BETWEEN_WORDS = re.compile(r"[\s,;:=()\[\]|+/]+")
_QDISCS = frozenset(
    [
        "bfifo",
        "cake",
        "cobalt",
        "codel",
        "dualpi2",
        "fq",
        "fq_codel",
        "fq_pie",
        "pfifo",
        "pfifo_fast",
        "pie",
        "sfb",
        "sfq",
    ]
)
"""Disciplines that a title can name; not ``red`` and ``choke``, which are English words."""
_CONTROLLERS = frozenset(
    [
        "bbr",
        "bbr2",
        "bbr3",
        "bic",
        "cubic",
        "dctcp",
        "htcp",
        "hybla",
        "prague",
        "reno",
        "veno",
        "westwood",
    ]
)
"""Controllers that a title can name; not ``vegas``, ``yeah``, ``scalable`` and the like."""
_LOOKED_AT = 300
"""Number of characters of a title that are examined."""
_MOST_HOSTS = 64
_NO_PARAMETERS = ("refcnt",)


@dataclass(frozen=True, slots=True)
class TitleFacts:
    """The statements of a title; empty where it makes none, or contradictory ones.

    Attributes:
        rates: One rate, or two for both directions, in the title's order: ``10mbit``.
        qdisc: Name of a queue discipline, possibly unknown to the simulator.
        congestion_control: Name of a controller, possibly unknown to the simulator.
        rtt: A round-trip time: ``10ms``.
    """

    rates: tuple[str, ...] = ()
    qdisc: str = ""
    congestion_control: str = ""
    rtt: str = ""


@dataclass(frozen=True, slots=True)
class StatedQueue:
    """A token bucket filter and its inner queue, from the output of ``tc`` on a host.

    Attributes:
        host: The interface's host, printable.
        is_upload: Whether it sends towards the server; otherwise towards the client.
        rate: Rate of the token bucket filter: ``10mbit``.
        qdisc: The inner queue in tc's syntax; only its name if the simulator does not accept its
            parameters; empty without one.
    """

    host: str
    is_upload: bool
    rate: str
    qdisc: str


def said_by_title(title: str) -> TitleFacts:
    """Parse a title.

    Args:
        title: Such as ``qdisc:codel rate:10Mbit/1Mbit cc:bbr`` or ``fq_codel, 10 Mbit, cubic``.
    """
    title = title[:_LOOKED_AT]
    words = [word.lower() for word in _BETWEEN_WORDS.split(title)]
    rtts = {
        f"{float(a or b):g}{(unit or other).lower()}" for a, unit, b, other in _RTT.findall(title)
    }
    return TitleFacts(
        _rates(title),
        _only(_KEYED_QDISC.findall(title)) or _only(w for w in words if w in _QDISCS),
        _only(_KEYED_CONTROLLER.findall(title)) or _only(w for w in words if w in _CONTROLLERS),
        _only(rtts),
    )


def _only(found: Any) -> str:
    """The value, if it is the only one."""
    different = {each.lower() for each in found}
    return different.pop() if len(different) == 1 else ""


def _rates(title: str) -> tuple[str, ...]:
    def rate(number: str, prefix: str) -> str:
        return f"{float(number):g}{prefix.lower()}bit"

    pairs = [
        (rate(first, unit or other), rate(second, other))
        for first, unit, second, other in _PAIR.findall(title)
    ]
    found = {(a,) if a == b else (a, b) for a, b in pairs}
    found |= {(rate(*each),) for each in _RATE.findall(_PAIR.sub(" ", title))}
    found = {each for each in found if all(float(one[:-4]) > 0 for one in each)}
    if len(found) != 1:
        return ()
    (only,) = found
    # "10 Mbit down" does not state the other direction.
    return () if len(only) == 1 and not pairs and _ONE_WAY.search(title) else only


def said_by_tc(file: FlentFile) -> list[StatedQueue]:
    """The slowest token bucket filter of each direction on the test's hosts.

    Flent stores the output of ``tc qdisc show`` for the client's interface towards the server, and
    for both interfaces of the hosts in ``--remote-metadata``.
    """
    slowest: dict[bool, StatedQueue] = {}
    for host, is_upload, qdiscs in _interfaces(file):
        root = next((each for each in qdiscs if _is_named(each, "tbf")), None)
        text = str(_parameters(root).get("rate")) if root else ""
        rate = _rates(text) if _RATE.fullmatch(text) else ()
        if not root or len(rate) != 1:
            continue
        inside = [q for q in qdiscs if str(q.get("parent")).startswith(str(root.get("id")))]
        qdisc = _as_typed(inside[0]) if inside else ""
        found = StatedQueue(host, is_upload, rate[0], qdisc)
        before = slowest.get(is_upload)
        if before is None or _bps(found.rate) < _bps(before.rate):
            slowest[is_upload] = found
    return [slowest[way] for way in (True, False) if way in slowest]


def _bps(rate: str) -> float:
    return float(rate[:-4]) * {"k": 1e3, "m": 1e6, "g": 1e9}[rate[-4]]


def _interfaces(file: FlentFile) -> Iterator[tuple[str, bool, list[Mapping[str, Any]]]]:
    """(host, whether towards the server, its qdiscs) of every interface in a file."""
    remote = file.metadata.get("REMOTE_METADATA")
    others = list(remote.items())[:_MOST_HOSTS] if isinstance(remote, Mapping) else []
    for host, said in [("the client", file.metadata), *others]:
        for key, is_upload in (("EGRESS_INFO", True), ("INGRESS_INFO", False)):
            info = said.get(key) if isinstance(said, Mapping) else None
            qdiscs = info.get("qdiscs") if isinstance(info, Mapping) else None
            if isinstance(qdiscs, list):
                yield shown(host)[:60], is_upload, [q for q in qdiscs if isinstance(q, Mapping)]


def _is_named(qdisc: Mapping[str, Any], name: str) -> bool:
    return qdisc.get("name") == name


def _parameters(qdisc: Mapping[str, Any]) -> Mapping[str, Any]:
    found = qdisc.get("params")
    return found if isinstance(found, Mapping) else {}


def _as_typed(qdisc: Mapping[str, Any]) -> str:
    """``codel limit 1000 target 5.0ms``; only its name if the simulator does not accept it."""
    name = qdisc.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name):
        return ""
    words = [name]
    for key, value in _parameters(qdisc).items():
        if key not in _NO_PARAMETERS:
            # tc prints "1000p" and takes "1000".
            words += [str(key), re.sub(r"^(\d+)p$", r"\1", str(value))]
    typed = " ".join(filter(None, words))
    return typed if is_qdisc(typed) else name


def is_qdisc(text: str) -> bool:
    """Whether the simulator has such a queue."""
    try:
        Link(a="a", b="b", qdisc=text)
    except SpecError:
        return False
    return True


def said_by_sysctl(file: FlentFile) -> str:
    """The controller that the client used if the test named none; empty if unknown."""
    found = file.metadata.get("SYSCTLS")
    name = found.get("net.ipv4.tcp_congestion_control") if isinstance(found, Mapping) else None
    return name if isinstance(name, str) and re.fullmatch(r"[a-z][a-z0-9_-]{0,30}", name) else ""
