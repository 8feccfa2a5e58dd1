"""Conversion of Mahimahi command lines, ``mm-delay 20 mm-link up down``, to experiment files.

Shells are nested; the command runs in the last, innermost one. Each shell is a link on the path
between ``client`` (inside) and ``server`` (outside). *Uplink* is from inside to outside.

Source: mm-link(1), mm-delay(1), mm-loss(1) of Mahimahi 0.98, and the usage message of mm-onoff,
which drops all packets while it is off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from dumbbell.errors import SpecError
from dumbbell.spec.refusal import nearest, one_of
from dumbbell.spec.toml_text import document_text

SHELLS = ("mm-delay", "mm-loss", "mm-onoff", "mm-link")
_DIRECTIONS = {"uplink": "forward", "downlink": "reverse"}
_WITHOUT_EFFECT = (
    "--meter-uplink",
    "--meter-uplink-delay",
    "--meter-downlink",
    "--meter-downlink-delay",
    "--meter-all",
    "--uplink-log",
    "--downlink-log",
)
"""What they show, tables and figures of a run do."""
_QUEUES = ("infinite", "droptail", "codel", "pie")
_ARGUMENTS = {
    "infinite": (),
    "droptail": ("packets", "bytes"),
    "codel": ("packets", "target", "interval"),
    "pie": ("packets", "qdelay_ref", "max_burst"),
}
_MOST_PACKETS = 1_000_000
"""Of a queue without a limit: as many packets of full size as a gigabyte and a half."""


@dataclass
class _Link:
    """A shell: what stands at the link, and in each direction."""

    both: dict[str, Any] = field(default_factory=dict)
    forward: dict[str, Any] = field(default_factory=dict)
    reverse: dict[str, Any] = field(default_factory=dict)

    @property
    def keys(self) -> dict[str, Any]:
        """As a file has them."""
        ends = {"forward": self.forward, "reverse": self.reverse}
        return self.both | {key: end for key, end in ends.items() if end}


def read_command(words: Sequence[str]) -> str:
    """An experiment in TOML for the words of a command line.

    Args:
        words: From the first shell on; the command that runs inside is left out.

    Raises:
        SpecError: A word is no shell's, or what it asks for is not there.
    """
    left, links, notes = list(words), list[_Link](), list[str]()
    while left and left[0].rpartition("/")[2].startswith("mm-"):
        shell = left.pop(0).rpartition("/")[2]
        if shell not in SHELLS:
            raise SpecError("command line", shell, one_of(SHELLS), nearest(shell, SHELLS))
        links.append(_READERS[shell](left, notes))
    if not links:
        raise SpecError("command line", " ".join(words[:1]) or "nothing", one_of(SHELLS))
    if left[:1] == ["--"]:
        left.pop(0)
    if left:
        notes.append(f"The command that ran inside is left out: {' '.join(left)[:200]}")
    comments = (f"# {''.join(c if c.isprintable() else '?' for c in note)}\n" for note in notes)
    return "".join(comments) + document_text(_document(links))


def _take(left: list[str], shell: str, what: str) -> str:
    if not left:
        raise SpecError(shell, "nothing", what)
    return left.pop(0)


def _delay(left: list[str], notes: list[str]) -> _Link:
    text = _take(left, "mm-delay", "a delay in milliseconds, such as 20")
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise SpecError("mm-delay", text, "a whole number of milliseconds, such as 20")
    return _Link(both={"delay": f"{int(text)}ms"})


def _way(left: list[str], shell: str) -> str:
    way = _take(left, shell, "uplink or downlink")
    if way not in _DIRECTIONS:
        raise SpecError(shell, way, one_of(list(_DIRECTIONS)), nearest(way, _DIRECTIONS))
    return way


def _loss(left: list[str], notes: list[str]) -> _Link:
    way = _way(left, "mm-loss")
    text = _take(left, f"mm-loss {way}", "a probability, such as 0.01")
    try:
        loss = float(text)
    except ValueError:
        loss = -1.0
    if not 0 <= loss <= 1:
        raise SpecError(f"mm-loss {way}", text, "a probability from 0 to 1, such as 0.01")
    link = _Link()
    getattr(link, _DIRECTIONS[way])["loss"] = loss
    return link


def _on_off(left: list[str], notes: list[str]) -> _Link:
    way = _way(left, "mm-onoff")
    where = f"mm-onoff {way}"
    on, off = (_mean_time(left, where, what) for what in ("on", "off"))
    link = _Link()
    end = getattr(link, _DIRECTIONS[way])
    if on and off:
        holds = [f"exponential {each}s" for each in (on, off)]
        states = [{"hold": hold, "loss": loss} for loss, hold in enumerate(holds)]
        end["trace"] = {"kind": "markov", "states": states}
    elif not on and not off:
        raise SpecError(where, "0 0", "times of which one is above 0")
    elif off:
        end["loss"] = 1
    return link


def _mean_time(left: list[str], where: str, what: str) -> str:
    """A mean time in seconds, as it was typed; empty if it is 0."""
    text = _take(left, where, f"the mean {what}-time in seconds, such as 1.5")
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII):
        raise SpecError(where, text, f"the mean {what}-time in seconds, such as 1.5")
    return text if float(text) else ""


def _link(left: list[str], notes: list[str]) -> _Link:
    traces, options = list[str](), dict[str, str]()
    while left and (left[0].startswith("-") or len(traces) < 2):
        word = left.pop(0)
        if word == "--":
            break
        if not word.startswith("-"):
            traces.append(word)
            continue
        name, _, value = word.partition("=")
        if name in _WITHOUT_EFFECT:
            if name.endswith("-log") and not value:
                _take(left, f"mm-link {name}", "a file's name")
            continue
        if name == "--once":
            raise SpecError("mm-link", name, "no such option: a trace begins again at its end")
        known = [f"--{way}-{what}" for way in _DIRECTIONS for what in ("queue", "queue-args")]
        if name not in known:
            allowed = [*known, *_WITHOUT_EFFECT]
            raise SpecError("mm-link", name, one_of(allowed), nearest(name, allowed))
        options[name] = value or _take(left, f"mm-link {name}", "a value")
    if len(traces) < 2:
        raise SpecError("mm-link", " ".join(traces) or "nothing", "two traces: uplink, downlink")
    link = _Link()
    for trace, (way, direction) in zip(traces, _DIRECTIONS.items(), strict=True):
        keys = getattr(link, direction)
        keys["trace"] = _beside(trace, notes)
        arguments = options.get(f"--{way}-queue-args", "")
        keys["qdisc"] = _qdisc(way, options.get(f"--{way}-queue", ""), arguments, notes)
    return link


def _beside(trace: str, notes: list[str]) -> str:
    """A trace's name in the folder of the experiment."""
    path = PurePosixPath(trace)
    if not path.is_absolute() and ".." not in path.parts:
        return trace
    note = f"Copy {trace} beside this file: an experiment reads files of its own folder alone."
    if note not in notes:
        notes.append(note)
    return path.name


def _qdisc(way: str, queue: str, text: str, notes: list[str]) -> str:
    queue, where = queue or "infinite", f"mm-link --{way}-queue"
    if queue == "drophead":
        allowed = "droptail: no discipline here drops at the head of a full queue"
        raise SpecError(where, queue, allowed, "droptail")
    if queue not in _QUEUES:
        raise SpecError(where, queue, one_of(_QUEUES), nearest(queue, _QUEUES))
    given = _arguments(f"{where}-args", queue, text)
    limit = given.get("packets", _MOST_PACKETS)
    if queue in ("infinite", "droptail"):
        if queue == "droptail" and len(given) != 1:
            raise SpecError(f"{where}-args", text or "nothing", "either packets=N or bytes=N")
        return f"bfifo limit {given['bytes']}b" if "bytes" in given else f"pfifo limit {limit}"
    if "packets" not in given:
        raise SpecError(f"{where}-args", text or "nothing", "packets=N among them")
    if queue == "codel":
        words = {"target": given.get("target"), "interval": given.get("interval")}
    else:
        words = {"target": given.get("qdelay_ref")}
        if "max_burst" in given:
            notes.append(
                f"max_burst={given['max_burst']} of {way}'s pie: tc's pie has 150 ms always."
            )
    said = [f"{word} {value}ms" for word, value in words.items() if value is not None]
    return " ".join([queue, f"limit {limit}", *said])


def _arguments(where: str, queue: str, text: str) -> Mapping[str, int]:
    """``packets=100, target=50`` as numbers."""
    found = dict[str, int]()
    for part in (part.strip(" \"'") for part in text.split(",") if part.strip(" \"'")):
        name, _, value = part.partition("=")
        allowed = _ARGUMENTS[queue]
        if name not in allowed:
            raise SpecError(
                where, name, one_of(allowed) if allowed else "none for an infinite queue"
            )
        if not (value.isascii() and value.isdecimal() and 0 < len(value) <= 9 and int(value)):
            raise SpecError(where, part, f"{name}=N, a whole number above 0")
        found[name] = int(value)
    return found


_READERS: Mapping[str, Callable[[list[str], list[str]], _Link]] = {
    "mm-delay": _delay,
    "mm-loss": _loss,
    "mm-onoff": _on_off,
    "mm-link": _link,
}


def _document(links: Sequence[_Link]) -> dict[str, Any]:
    # The innermost shell is nearest to the client.
    hosts = ["client", *(f"shell-{number}" for number in range(1, len(links))), "server"]
    return {
        "name": "mahimahi",
        "duration": "60s",
        "warm_up": "5s",
        "sample_interval": "100ms",
        "links": [
            {"a": a, "b": b, **link.keys}
            for (a, b), link in zip(pairwise(hosts), reversed(links), strict=True)
        ],
        "flows": [
            {
                "name": "download",
                "from": "server",
                "to": "client",
                "source": {"kind": "greedy"},
            }
        ],
        "probes": [{"name": "ping", "from": "client", "to": "server", "interval": "200ms"}],
    }
