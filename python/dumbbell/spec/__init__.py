"""The description of an experiment: in Python, in TOML, and resolved for a backend.

>>> from dumbbell.spec import Experiment, Flow, Link, LinkEnd, Poisson
>>> experiment = Experiment(
...     duration="60s",
...     links=[Link(a="sender", b="receiver", forward=LinkEnd(rate="1mbit"))],
...     flows=[
...         Flow(
...             name="stream",
...             from_="sender",
...             to="receiver",
...             source=Poisson(rate="220pps", size="exponential 512B"),
...         )
...     ],
... )
>>> experiment.queue_names
['sender->receiver', 'receiver->sender']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dumbbell.errors import SpecError
from dumbbell.spec.experiment import Experiment, canonical_json
from dumbbell.spec.flows import Flow, Ping
from dumbbell.spec.home import Home
from dumbbell.spec.links import Change, Link, LinkEnd, LinkOptions
from dumbbell.spec.notices import PlacedNotice
from dumbbell.spec.resolved import Resolved
from dumbbell.spec.settings import (
    Setting,
    other_settings,
    separate_settings_applied,
    settings_applied,
    spelled_as,
    spelling_of,
)
from dumbbell.spec.shapes import Chain, Dumbbell, chain, dumbbell
from dumbbell.spec.sources import (
    Arrivals,
    Bursts,
    Cbr,
    ClosedLoop,
    Ditg,
    Greedy,
    Iperf3,
    Poisson,
    Renewal,
    Replay,
    Sized,
)
from dumbbell.spec.tcp import Tcp
from dumbbell.spec.topology import Interface, Topology

if TYPE_CHECKING:
    from dumbbell.spec.programs import (
        CommandProgram,
        CurlProgram,
        DitgProgram,
        Iperf3Program,
        IperfProgram,
        NetperfProgram,
        PingProgram,
        TcpdumpProgram,
        TsharkProgram,
    )
    from dumbbell.spec.render import testbed_lines

_LOADED_WHEN_USED = {
    "CommandProgram": "programs",
    "CurlProgram": "programs",
    "DitgProgram": "programs",
    "Iperf3Program": "programs",
    "IperfProgram": "programs",
    "NetperfProgram": "programs",
    "PingProgram": "programs",
    "TcpdumpProgram": "programs",
    "TsharkProgram": "programs",
    "testbed_lines": "render",
}
"""What few experiments need, to its module."""

__all__ = [
    "Arrivals",
    "Bursts",
    "Cbr",
    "Chain",
    "Change",
    "ClosedLoop",
    "CommandProgram",
    "CurlProgram",
    "Ditg",
    "DitgProgram",
    "Dumbbell",
    "Experiment",
    "Flow",
    "Greedy",
    "Home",
    "Interface",
    "Iperf3",
    "Iperf3Program",
    "IperfProgram",
    "Link",
    "LinkEnd",
    "LinkOptions",
    "NetperfProgram",
    "Ping",
    "PingProgram",
    "PlacedNotice",
    "Poisson",
    "Renewal",
    "Replay",
    "Resolved",
    "Setting",
    "Sized",
    "SpecError",
    "Tcp",
    "TcpdumpProgram",
    "Topology",
    "TsharkProgram",
    "canonical_json",
    "chain",
    "dumbbell",
    "other_settings",
    "separate_settings_applied",
    "settings_applied",
    "spelled_as",
    "spelling_of",
    "testbed_lines",
]


def __getattr__(name: str) -> Any:
    """Import a name of `_LOADED_WHEN_USED` on first use."""
    if name not in _LOADED_WHEN_USED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"dumbbell.spec.{_LOADED_WHEN_USED[name]}"), name)
