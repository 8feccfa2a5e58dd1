"""Uses of a line: a delay-sensitive application, and the competing traffic."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.errors import SpecError
from dumbbell.spec import Experiment
from dumbbell.spec.refusal import nearest, one_of
from dumbbell.twin.line import HOSTS
from dumbbell.twin.scene import Way

PROBE = "interactive"
"""Name of the delay-sensitive flow's probe."""
_START = "1s"


@dataclass(frozen=True, slots=True)
class Use:
    """A use of a line.

    Attributes:
        word: Word on the command line.
        sentence: Description, as a sentence.
        what: The delay-sensitive application, such as ``the call``.
        flows: Tables of flows between ``laptop`` and ``server``, as in a file.
        probe: Table of the probe.
    """

    word: str
    sentence: str
    what: str
    flows: tuple[Mapping[str, Any], ...]
    probe: Mapping[str, Any]

    @property
    def ways(self) -> list[Way]:
        """Return the directions that it fills."""
        filled = set(flow_names(self.flows).values())
        return [way for way in Way if way in filled]


def _greedy(name: str, way: Way, count: int) -> dict[str, Any]:
    return {
        "name": name,
        "count": count,
        "from": HOSTS[way][0],
        "to": HOSTS[way][1],
        "start_jitter": _START,
        "source": {"kind": "greedy"},
    }


def _probe(interval: str, payload: str) -> dict[str, Any]:
    return {
        "name": PROBE,
        "kind": "udp",
        "from": "laptop",
        "to": "server",
        "interval": interval,
        "payload": payload,
        "start_jitter": "20ms",
    }


# G.711 in packets of 20 ms: 160 bytes of audio and 12 of RTP (RFC 3551, RFC 3550).
_CALL, _GAME, _REQUEST = _probe("20ms", "172B"), _probe("33ms", "60B"), _probe("50ms", "100B")
USES: tuple[Use, ...] = (
    Use(
        "call-and-backup",
        "a call while a backup runs",
        "the call",
        (_greedy("backup", Way.UP, 1),),
        _CALL,
    ),
    Use(
        "game-and-downloads",
        "a game while downloads run",
        "the game",
        (_greedy("download", Way.DOWN, 4),),
        _GAME,
    ),
    Use(
        "browsing-and-upload",
        "browsing while an upload runs",
        "requests",
        (_greedy("upload", Way.UP, 2), _greedy("download", Way.DOWN, 1)),
        _REQUEST,
    ),
)
"""The named uses."""


def use_of(asked: str) -> Use:
    """Return the use of a given word or sentence, or of a user's file.

    A file ends in ``.toml`` and has ``[[flows]]`` and one ``[[probes]]`` between the hosts
    ``laptop`` and ``server``, as in an experiment.

    Raises:
        SpecError: There is no such use, or the file has none.
        OSError: The file cannot be read.
    """
    if asked.endswith(".toml"):
        return _of_file(Path(asked))
    plain = re.sub(r"[^a-z]+", " ", asked.lower()).strip()
    for use in USES:
        if plain in (use.word.replace("-", " "), use.sentence):
            return use
    known = [use.word for use in USES]
    hint = nearest(asked, [*known, *(use.sentence for use in USES)])
    raise SpecError(
        "--for", asked, f"{one_of(known)}, or a file of your own, such as mine.toml", hint
    )


def _of_file(path: Path) -> Use:
    from dumbbell.spec.toml_file import load

    document, _ = load(path)
    flows, probes = document.get("flows"), document.get("probes")
    allowed = "[[flows]] and one of [[probes]] between laptop and server, and nothing else"
    if not isinstance(flows, list) or not isinstance(probes, list) or len(probes) != 1 or not flows:
        raise SpecError(f"--for {path.name}", ", ".join(map(str, document)) or "nothing", allowed)
    link = {"a": "laptop", "b": "server"}
    # Checked like an experiment, in a separate network.
    checked = Experiment.model_validate(
        {"name": "use", "duration": "10s", "links": [link], "flows": flows, "probes": probes}
    )
    probe = {**probes[0], "name": PROBE}
    return Use(path.stem, path.stem, checked.probes[0].name, tuple(flows), probe)


def flow_names(flows: Sequence[Mapping[str, Any]]) -> dict[str, Way]:
    """Return the names of the flows that run, each with its direction."""
    found: dict[str, Way] = {}
    for flow in flows:
        way = next(way for way, (sender, _) in HOSTS.items() if sender == flow["from"])
        count = flow.get("count")
        names = [flow["name"]]
        if count is not None:
            names = [f"{flow['name']}-{number}" for number in range(1, count + 1)]
        found |= dict.fromkeys(names, way)
    return found
