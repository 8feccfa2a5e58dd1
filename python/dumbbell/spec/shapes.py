"""Common network topologies."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from dumbbell.spec.base import Kind
from dumbbell.spec.fields import whole
from dumbbell.spec.links import USUAL_LINK, Link, LinkOptions, link_between

MOST_PAIRS = 1000
MOST_HOPS = 64
"""Maximum number of links, because of the default IPv4 TTL of 64."""

_Pairs = Annotated[
    int,
    BeforeValidator(whole(1, MOST_PAIRS)),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MOST_PAIRS, "x-unit": ""}),
]
_Hops = Annotated[
    int,
    BeforeValidator(whole(1, MOST_HOPS)),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MOST_HOPS, "x-unit": ""}),
]


class Dumbbell(Kind):
    """Pairs of hosts that share one link between two routers.

    Hosts: ``sender-1`` to ``sender-N``, ``router-1``, ``router-2``, ``receiver-1`` to
    ``receiver-N``. The first link is the bottleneck, from ``router-1`` to ``router-2``; then
    come the senders' links and the receivers' links.
    """

    kind: Literal["dumbbell"] = Field(default="dumbbell", description="Pairs share one link.")
    pairs: _Pairs = Field(description="How many senders, and as many receivers.", examples=[2])
    bottleneck: LinkOptions = Field(
        description="The shared link, forward from `router-1` to `router-2`; keys of a link "
        "without `a` and `b`."
    )
    access: LinkOptions = Field(
        default=USUAL_LINK,
        description="Each sender's and receiver's own link, forward from the sender towards the "
        "receiver; keys of a link without `a` and `b`.",
    )

    def hosts(self) -> list[str]:
        """Names of the hosts, from left to right."""
        numbers = range(1, self.pairs + 1)
        senders = [f"sender-{number}" for number in numbers]
        receivers = [f"receiver-{number}" for number in numbers]
        return [*senders, "router-1", "router-2", *receivers]

    def links(self) -> list[Link]:
        """The links, the bottleneck first."""
        numbers = range(1, self.pairs + 1)
        left = [link_between(f"sender-{n}", "router-1", self.access) for n in numbers]
        right = [link_between("router-2", f"receiver-{n}", self.access) for n in numbers]
        return [link_between("router-1", "router-2", self.bottleneck), *left, *right]


class Chain(Kind):
    """Hosts in a row: ``sender``, ``router-1`` and so on, ``receiver``."""

    kind: Literal["chain"] = Field(default="chain", description="Hosts in a row.")
    hops: _Hops = Field(description="How many links, one more than routers.", examples=[3])
    link: LinkOptions = Field(
        default=USUAL_LINK,
        description="Each link, forward from sender to receiver; keys of a link without `a` "
        "and `b`.",
    )

    def hosts(self) -> list[str]:
        """Names of the hosts, from left to right."""
        routers = [f"router-{number}" for number in range(1, self.hops)]
        return ["sender", *routers, "receiver"]

    def links(self) -> list[Link]:
        """The links, from left to right."""
        hosts = self.hosts()
        return [link_between(a, b, self.link) for a, b in pairwise(hosts)]


Shape = Annotated[Dumbbell | Chain, Field(discriminator="kind")]


def dumbbell(pairs: int, *, bottleneck: LinkOptions, access: LinkOptions | None = None) -> Dumbbell:
    """Pairs of hosts that share one link; see `Dumbbell`."""
    return Dumbbell(pairs=pairs, bottleneck=bottleneck, access=access or USUAL_LINK)


def chain(hops: int, *, link: LinkOptions | None = None) -> Chain:
    """Hosts in a row; see `Chain`."""
    return Chain(hops=hops, link=link or USUAL_LINK)
