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

from dumbbell.errors import SpecError
from dumbbell.spec.experiment import Experiment, canonical_json
from dumbbell.spec.flows import Flow, Ping
from dumbbell.spec.links import Change, Link, LinkEnd, LinkOptions
from dumbbell.spec.notices import PlacedNotice
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
