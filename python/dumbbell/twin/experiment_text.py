"""A twin as an experiment file for ``dumbbell run``."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.printable import printable
from dumbbell.spec.toml_text import document_text
from dumbbell.twin.line import HOSTS
from dumbbell.twin.result import Twin
from dumbbell.twin.scene import Scene, Way


def twin_text(twin: Twin, scenes: Sequence[Scene]) -> str:
    """Return the line with the flows that measured it, and a ping.

    Args:
        twin: The twin.
        scenes: Measured scenes; without any, there is one flow in each direction.
    """
    flows = []
    for way in twin.ways:
        count = max((scene.count(way) for scene in scenes), default=1) or 1
        flows.append(
            {
                "name": "upload" if way is Way.UP else "download",
                "count": count,
                "from": HOSTS[way][0],
                "to": HOSTS[way][1],
                "start": "5s",
                "start_jitter": "50ms",
                "source": {"kind": "greedy"},
            }
        )
    document = {
        "name": "twin",
        "seed": twin.seed,
        "duration": "60s",
        "sample_interval": "200ms",
        "links": twin.line.links(),
        "flows": flows,
        "probes": [{"name": "ping", "from": "laptop", "to": "server", "interval": "200ms"}],
    }
    sources = ", ".join(printable(each) for each in twin.sources)
    head = [
        f"# The twin of a line, from {sources}: it {twin.trust.value}."
        if twin.predicted
        else f"# The twin of a line, from {sources}: not validated on held-out data.",
        "# Forward of the link between isp and modem is down, to the home.",
        "",
    ]
    return "\n".join(head) + document_text(document)
