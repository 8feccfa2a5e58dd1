"""Hosts that one can log in to: the part of the job for programs (guest/src/login.rs).

Only the command line can ask for logins, never an experiment's file, so the user chooses what runs
there. Programs see the machine's programs, libraries and tables, but no home folders, and only the
experiment's network.

Host names follow GENI's testbed: host ``server`` on link 1, counted from 0, is ``server-link-1``;
``server`` is the address by which the asking host reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.errors import SpecError
from dumbbell.spec.host_links import NET_BITS, Route
from dumbbell.spec.topology import Topology

MOST_HOSTS = 64
"""Limit, since each host has its own processes, terminals and file systems."""

SHOWN = tuple(
    Path(place)
    for place in (
        *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
        *("/etc/alternatives", "/etc/ld.so.cache", "/etc/iproute2"),
        *("/etc/protocols", "/etc/services", "/etc/ethertypes", "/etc/rpc", "/etc/networks"),
        *("/etc/R", "/etc/fonts", "/etc/inputrc", "/etc/magic", "/etc/mime.types"),
        *("/etc/perl", "/etc/ssl/openssl.cnf", "/etc/terminfo", "/etc/wireshark"),
        *("/etc/matplotlibrc",),
    )
)
"""Programs, libraries and tables that every user of the machine may read; they contain no secrets.
"""

HOME_BYTES = 256 * 2**20
"""Size of each host's home and of its /tmp, which are in the guest's memory."""
MOST_FILE_BYTES = 256 * 2**20
"""Largest file that a program may write; beyond it the program gets SIGXFSZ."""


@dataclass(frozen=True, slots=True)
class Login:
    """Settings of hosts that one can log in to.

    Attributes:
        homes: Folder in which homes are saved, one per host, by its name.
        home_bytes: Largest size of a home.
        most_file_bytes: Largest file that a program may write.
        shown: Files and folders of the machine that are visible there.
        starts_others: Whether programs may start other programs; they then share the processor.
    """

    homes: Path
    home_bytes: int = HOME_BYTES
    most_file_bytes: int = MOST_FILE_BYTES
    shown: tuple[Path, ...] = SHOWN
    starts_others: bool = True

    def for_guest(self, topology: Topology) -> dict[str, Any]:
        """The job's section on logins.

        Args:
            topology: Hosts and links.

        Raises:
            SpecError: There are too many hosts.
        """
        if len(topology.hosts) > MOST_HOSTS:
            allowed = f"at most {MOST_HOSTS} hosts where programs run"
            raise SpecError("hosts", len(topology.hosts), allowed)
        return {
            "names": list(topology.hosts),
            "hosts_files": [hosts_file(topology, host) for host in topology.hosts],
            "shown": [str(place) for place in self.shown],
            "homes": str(self.homes),
            "home_bytes": self.home_bytes,
            "most_file_bytes": self.most_file_bytes,
            "starts_others": self.starts_others,
        }


def hosts_file(topology: Topology, host: str) -> str:
    """``/etc/hosts`` of a host: all names of the experiment, with the addresses it reaches them by.

    Args:
        topology: Hosts and links.
        host: Host that gets the file.
    """
    lines = ["127.0.0.1\tlocalhost"]
    for other in topology.hosts:
        interfaces = [each for each in topology.interfaces if each.host == other]
        route = topology.route(host, other)
        reached = topology.interfaces[route[-1]].peer_address if route else None
        if not interfaces and other == host:
            lines.append(f"127.0.1.1\t{host}")
        # The address it is reached by comes first: programs take the first of several.
        interfaces.sort(key=lambda each: each.address != reached)
        for place, interface in enumerate(interfaces):
            names = [f"{other}-link-{interface.queue // 2}"]
            if place == 0 and (reached or other == host):
                names.append(other)
            lines.append(f"{interface.address}\t{' '.join(names)}")
    return "\n".join(lines) + "\n"


def subnet_routes(topology: Topology) -> Iterator[tuple[str, Route]]:
    """For each host, routes to every other network, via its nearer end."""
    interfaces = topology.interfaces
    for host in topology.hosts:
        own = {each.queue // 2 for each in interfaces if each.host == host}
        for near, far in zip(interfaces[::2], interfaces[1::2], strict=True):
            if near.queue // 2 in own:
                continue
            routes = [topology.route(host, end.host) for end in (near, far)]
            ways = [route for route in routes if route]
            if not ways:
                continue
            first = interfaces[min(ways, key=len)[0]]
            network = f"{near.address.rpartition('.')[0]}.0"
            yield host, Route(network, NET_BITS, first.device, first.peer_address)
