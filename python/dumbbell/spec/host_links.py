"""Links, addresses, neighbours and routes of hosts: values with their line of ``ip``.

On a testbed people type the lines. The guest of the kernel in virtual time gets the values and
sends the same requests over route netlink (guest/src/host_links.rs), because starting a program
costs it more than all of them.

Sources: ip-link(8), ip-address(8), ip-neighbour(8), ip-route(8).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

NET_BITS = 24
"""Bits of the network that every link has for itself."""
HOST_BITS = 32
"""Bits of a network that is one address."""


@dataclass(frozen=True, slots=True)
class VethEnd:
    """An end of a pair of virtual devices.

    Attributes:
        host: Index of its host, whose network namespace is called ``hN`` in lines.
        device: Its name there.
        mac: Its Ethernet address.
        mtu_bytes: Its MTU.
    """

    host: int
    device: str
    mac: str
    mtu_bytes: int

    @property
    def words(self) -> str:
        """What a line of ``ip link add`` says of it."""
        return f"{self.device} netns h{self.host} address {self.mac} mtu {self.mtu_bytes}"


@dataclass(frozen=True, slots=True)
class VethPair:
    """A pair of virtual devices in two hosts."""

    near: VethEnd
    far: VethEnd

    @property
    def line(self) -> str:
        """Arguments of ``ip`` that create it."""
        return f"link add name {self.near.words} type veth peer name {self.far.words}"

    def for_guest(self) -> dict[str, Any]:
        """The value as the job of a guest has it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Setting:
    """Something that ``ip`` does in one host."""

    KIND: ClassVar[str]

    def for_guest(self) -> dict[str, Any]:
        """The value as the job of a guest has it, without what is not set."""
        given = {key: value for key, value in asdict(self).items() if value is not None}
        return {"kind": self.KIND, **given}


@dataclass(frozen=True, slots=True)
class NewDevice(_Setting):
    """A device of a type that needs no other parameter."""

    KIND: ClassVar = "new_device"
    device: str
    type: Literal["dummy", "ifb"]

    @property
    def line(self) -> str:
        """Arguments of ``ip``."""
        return f"link add {self.device} type {self.type}"


@dataclass(frozen=True, slots=True)
class DeviceUp(_Setting):
    """A device is switched on.

    Attributes:
        device: Its name.
        mtu_bytes: Its MTU from now on; as it is if None.
        gso_max_segs: Most segments of an sk_buff that it sends; as it is if None.
    """

    KIND: ClassVar = "device_up"
    device: str
    mtu_bytes: int | None = None
    gso_max_segs: int | None = None

    @property
    def line(self) -> str:
        """Arguments of ``ip``."""
        numbers = {"mtu": self.mtu_bytes, "gso_max_segs": self.gso_max_segs}
        return f"link set dev {self.device}{_given(numbers)} up"


@dataclass(frozen=True, slots=True)
class DeviceAddress(_Setting):
    """An IPv4 address of a device, in a network of so many bits."""

    KIND: ClassVar = "address"
    device: str
    address: str
    prefix_bits: int

    @property
    def line(self) -> str:
        """Arguments of ``ip``."""
        return f"addr add {self.address}/{self.prefix_bits} dev {self.device}"


@dataclass(frozen=True, slots=True)
class Neighbour(_Setting):
    """The Ethernet address of a neighbour, for which nobody has to ask."""

    KIND: ClassVar = "neighbour"
    device: str
    address: str
    mac: str

    @property
    def line(self) -> str:
        """Arguments of ``ip``."""
        return f"neigh replace {self.address} lladdr {self.mac} dev {self.device} nud permanent"


@dataclass(frozen=True, slots=True)
class RouteOptions:
    """What TCP is told by a route; the kernel's own value where None.

    Attributes:
        initial_window_pkts: Initial congestion window, segments.
        min_rto_ms: Least retransmission timeout, ms.
        quick_ack: Whether every segment is acknowledged at once.
        mtu_bytes: MTU of the path.
    """

    initial_window_pkts: int | None = None
    min_rto_ms: int | None = None
    quick_ack: bool | None = None
    mtu_bytes: int | None = None

    @property
    def words(self) -> str:
        """What a line of ``ip route`` says of them, each after a blank."""
        return _given(
            {
                "initcwnd": self.initial_window_pkts,
                "rto_min": None if self.min_rto_ms is None else f"{self.min_rto_ms}ms",
                "quickack": None if self.quick_ack is None else int(self.quick_ack),
                "mtu": self.mtu_bytes,
            }
        )


NO_OPTIONS = RouteOptions()


@dataclass(frozen=True, slots=True)
class Route(_Setting):
    """A route to an IPv4 network; another one to it is replaced.

    Attributes:
        network: First address of the network.
        prefix_bits: Number of its bits that are the same.
        device: The device that leads there.
        via: Address of the next host; None if the destination is the next host.
        options: What TCP is told.
    """

    KIND: ClassVar = "route"
    network: str
    prefix_bits: int
    device: str
    via: str | None = None
    options: RouteOptions = NO_OPTIONS

    @property
    def line(self) -> str:
        """Arguments of ``ip``."""
        via = "" if self.via is None else f"via {self.via} "
        to = f"{self.network}/{self.prefix_bits}"
        return f"route replace {to} {via}dev {self.device}{self.options.words}"


HostLink = NewDevice | DeviceUp | DeviceAddress | Neighbour | Route
"""Something that ``ip`` does in one host; the order of several matters."""


def _given(words: Mapping[str, str | int | None]) -> str:
    return "".join(f" {name} {value}" for name, value in words.items() if value is not None)
