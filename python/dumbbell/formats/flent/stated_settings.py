"""What a data file says of the network it was measured in: its title, ``tc`` on hosts, a sysctl.

Nothing here is a guess from numbers. A title is read conservatively: what it says twice and
differently, or in words that mean other things too, it does not say.
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
# Bytes a second (MB/s, MBps) are no bits: of "bps" and "b/s" the b is a small one.
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
        "sfq",
    ]
)
"""That a word of a title names; ``red`` and ``choke`` are English too."""
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
"""``vegas``, ``yeah``, ``scalable`` and the like are English, or a town."""
_LOOKED_AT = 300
"""Characters of a title."""
_MOST_HOSTS = 64
_NO_PARAMETERS = ("refcnt",)


@dataclass(frozen=True, slots=True)
class TitleFacts:
    """What the title of a file says; empty where it says nothing, or two things.

    Attributes:
        rates: One rate, or two for the two directions, in the order of the title: ``10mbit``.
        qdisc: Name of a queue discipline, of the simulator or not.
        congestion_control: Name of a controller, of the simulator or not.
        rtt: A round trip: ``10ms``.
    """

    rates: tuple[str, ...] = ()
    qdisc: str = ""
    congestion_control: str = ""
    rtt: str = ""


@dataclass(frozen=True, slots=True)
class StatedQueue:
    """What ``tc`` said on a host: a token bucket filter, and the queue in it.

    Attributes:
        host: Whose interface it was, as it can be shown.
        is_upload: Towards the server, or towards the client.
        rate: Of the token bucket filter: ``10mbit``.
        qdisc: The queue in it as one types it; only its name where the simulator does not take
            its parameters; empty where there is none.
    """

    host: str
    is_upload: bool
    rate: str
    qdisc: str


def said_by_title(title: str) -> TitleFacts:
    """What a title says.

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
    """What is said, when nothing else is."""
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
    # "10 Mbit down" says nothing of the other direction.
    return () if len(only) == 1 and not pairs and _ONE_WAY.search(title) else only


def said_by_tc(file: FlentFile) -> list[StatedQueue]:
    """The slowest token bucket filter of each direction, of those that hosts of the test had.

    Flent keeps what ``tc qdisc show`` printed of the client's interface towards the server, and of
    the hosts named by ``--remote-metadata`` that of both interfaces.
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
    """(host, whether towards the server, its qdiscs) of every interface that a file tells of."""
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
    """``codel limit 1000 target 5.0ms``; its name alone where that is no queue of ours."""
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
    """The controller that the client used where the test named none; empty if nothing says it."""
    found = file.metadata.get("SYSCTLS")
    name = found.get("net.ipv4.tcp_congestion_control") if isinstance(found, Mapping) else None
    return name if isinstance(name, str) and re.fullmatch(r"[a-z][a-z0-9_-]{0,30}", name) else ""
